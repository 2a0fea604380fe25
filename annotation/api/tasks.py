"""A worker's tasks: the list, the next, an answer, a return, a sign of life."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation import instructions
from annotation.api.contents import done_today, json_second, offer, task_or_nothing
from annotation.api.problems import Problem
from annotation.api.requests import (
    field_number,
    for_workers,
    holding_in,
    not_yours,
    seconds_in,
    switch_in,
    word_in,
)
from annotation.common import database
from annotation.models import Assignment, Campaign, Worker
from annotation.moderation.reopening import CannotReopen, change_answer
from annotation.protocol.kinds import all_kinds
from annotation.protocol.questions import Answer
from annotation.protocol.trust import Refusal
from annotation.quality import qualification
from annotation.queue import leases, submission
from annotation.queue.available_tasks import available_tasks, kinds_of, no_consent, today
from annotation.queue.dispatch import NoTask
from annotation.selectors.scopes import campaigns_to_work_on
from annotation.selectors.workers.recent_answers import recent_answers
from annotation.task_types.base import TASK_TYPES, answer_in


@for_workers("GET")
def tasks_endpoint(request: HttpRequest, worker: int, data: dict[str, Any]) -> dict[str, Any]:
    """What there is for me."""
    return {"tasks": [offer(each) for each in available_tasks(worker=Worker.objects.get(pk=worker))]}


@for_workers("POST")
def next_task_endpoint(request: HttpRequest, worker: int, data: dict[str, Any]) -> dict[str, Any]:
    """A task of a campaign and kind, or why there is none."""
    campaign, kind, holding = (
        _campaign(worker, word_in(data, "campaign")),
        word_in(data, "kind"),
        holding_in(data),
    )
    kind = _kind(campaign, kind)
    found = no_consent(worker=worker, campaign=campaign) or leases.take_lease(
        worker=worker, campaign=campaign, kind=kind, holding=holding
    )
    return task_or_nothing(request, found)


@for_workers("POST")
def test_endpoint(request: HttpRequest, worker: int, data: dict[str, Any]) -> dict[str, Any]:
    """Begin the qualification test of a kind, or go on with it; its items come like other tasks."""
    campaign, kind = _campaign(worker, word_in(data, "campaign")), word_in(data, "kind")
    kind = _kind(campaign, kind)
    if (unagreed := no_consent(worker=worker, campaign=campaign)) is not None:
        return task_or_nothing(request, unagreed)
    begun = qualification.begin_qualification(worker=worker, campaign=campaign, kind=kind)
    if isinstance(begun, Refusal):
        return task_or_nothing(request, NoTask(begun.code, begun.text))
    return {"asked": begun.asked, "answered": begun.answered}


@for_workers("GET", "POST")
def consent_endpoint(request: HttpRequest, worker: int, data: dict[str, Any], name: str) -> dict[str, Any]:
    """What workers of a campaign agree to, and whether this one has to; POST agrees to a version."""
    campaign = _campaign(worker, name)
    if request.method == "POST":
        try:
            instructions.record_consent(
                worker=worker, campaign=campaign, version=field_number(data, "version")
            )
        except instructions.StaleText as error:
            raise Problem(HTTPStatus.CONFLICT, "stale_text", str(error)) from error
    text = instructions.current_text(campaign=campaign, kind=instructions.CONSENT)
    needed = instructions.needs_consent(worker=worker, campaign=campaign)
    return {"version": text.version, "text": text.text, "needed": needed}


@for_workers("POST")
def answer_endpoint(
    request: HttpRequest, worker: int, data: dict[str, Any], assignment: int
) -> dict[str, Any]:
    """Store an answer; the next task comes along unless `next` is false."""
    given, schema = _given(data)
    receipt = submission.submit(
        worker=worker,
        assignment=_real(assignment),
        answer=given,
        token=word_in(data, "token"),
        seconds=seconds_in(data),
        holding=holding_in(data),
        then=switch_in(data, "next", True),
        schema=schema,
    )
    return {
        "repeated": receipt.repeated,
        "today": _today(worker, assignment) if receipt.repeated else None,
        "next": task_or_nothing(request, receipt.next) if receipt.next else None,
    }


@for_workers("POST")
def recent_answers_endpoint(request: HttpRequest, worker: int, data: dict[str, Any]) -> dict[str, Any]:
    """The worker's last answers of a kind, which they may come back to."""
    campaign = _campaign(worker, word_in(data, "campaign"))
    kind = _kind(campaign, word_in(data, "kind"))
    found = recent_answers(worker=worker, campaign=campaign.pk, kind=kind)
    return {
        "answers": [
            {
                "id": each.assignment,
                "answer": each.answer.answer or None,
                "flag": each.answer.flag or None,
                "at": json_second(each.at),
            }
            for each in found
        ]
    }


@for_workers("POST")
def change_endpoint(
    request: HttpRequest, worker: int, data: dict[str, Any], assignment: int
) -> dict[str, Any]:
    """Change an answer that nobody has built on."""
    given, schema = _given(data)
    try:
        changed = change_answer(
            worker=worker,
            assignment=_real(assignment),
            answer=given,
            schema=schema,
        )
    except CannotReopen as error:
        raise Problem(HTTPStatus.CONFLICT, "stands", str(error)) from error
    return {"changed": changed}


@for_workers("POST")
def give_back_endpoint(
    request: HttpRequest, worker: int, data: dict[str, Any], assignment: int
) -> dict[str, Any]:
    """Return a task unanswered."""
    return {"returned": leases.return_lease(worker=worker, assignment=_real(assignment))}


@for_workers("POST")
def heartbeat_endpoint(
    request: HttpRequest, worker: int, data: dict[str, Any], assignment: int
) -> dict[str, Any]:
    """A sign of life: the lease lasts from now on."""
    expires = leases.renew_lease(worker=worker, assignment=_real(assignment))
    if expires is None:
        raise not_yours(_("This task is no longer assigned to you."))
    return {"expires_at": json_second(expires)}


def _today(worker: int, assignment: int) -> dict[str, Any]:
    """What the worker has done today of the assignment's kind, in its campaign."""
    campaign, kind = Assignment.objects.values_list("campaign", "kind").get(pk=assignment)
    return done_today(today(worker=worker, campaign=campaign, kind=kind))


def _given(data: dict[str, Any]) -> tuple[Answer, int]:
    """The answer, and the version of its form; it is said outright, or by a page's `form` of a `kind`."""
    form = data.get("form")
    if form is None:
        given = answer_in(data)
        # An answer that is more than a word is read by its kind; no two kinds share such a word.
        with_more = next((kind.key for kind in all_kinds() if given.answer in kind.with_content), "")
        return (TASK_TYPES.get(with_more).parse(data) if with_more else given), 1
    kind = word_in(data, "kind")
    if kind not in TASK_TYPES:
        raise _unknown(_("There is no task “%(kind)s”.") % {"kind": kind})
    if not isinstance(form, dict) or not all(isinstance(value, str) for value in form.values()):
        detail = _("“form” must be an object with text values.")
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", detail, field="form")
    type = TASK_TYPES.get(kind)
    return type.parse(type.from_form(form)), type.schema_version


def _real(assignment: int) -> int:
    """`assignment`, if a row can have it as its id."""
    if assignment > database.LARGEST_ID:
        raise not_yours(_("No such task is assigned to you."))
    return assignment


def _campaign(worker: int, name: str) -> Campaign:
    """The campaign, where it has begun and this worker may work on it."""
    found = campaigns_to_work_on(worker).filter(name=name).exclude(state=Campaign.DRAFT).first()
    if found is None:
        raise _unknown(_("There is no campaign “%(name)s”.") % {"name": name})
    return found


def _kind(campaign: Campaign, kind: str) -> str:
    known = kinds_of(campaign)
    if kind not in known:
        raise _unknown(
            _("Campaign “%(name)s” has no task “%(kind)s”; it has %(known)s.")
            % {"name": campaign.name, "kind": kind, "known": ", ".join(known)}
        )
    return kind


def _unknown(detail: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "unknown", detail)
