"""A worker's tasks: the list, the next, an answer, a return, a sign of life."""

from http import HTTPStatus

from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation import instructions
from annotation.api.contents import done_today, json_second, nothing_told, offer, task_or_nothing
from annotation.api.problems import Problem
from annotation.api.requests import not_yours, worker_call
from annotation.api.worker_shapes import (
    AnswerChanged,
    AnswerSaid,
    AnswerSent,
    ConsentGiven,
    KindAsked,
    NothingAsked,
    RecentAnswers,
    TaskAsked,
    TaskRenewed,
    TaskReturned,
    WorkerConsent,
    WorkerNothing,
    WorkerOffers,
    WorkerReceipt,
    WorkerTask,
    WorkerTest,
    WorkerToday,
    answer_request,
)
from annotation.common import database
from annotation.common.operations import invalid
from annotation.models import Assignment, Campaign, Worker
from annotation.moderation.reopening import CannotReopen, change_answer
from annotation.protocol.kinds import all_kinds, names
from annotation.protocol.questions import Answer
from annotation.protocol.trust import Refusal
from annotation.quality import qualification
from annotation.queue import leases, submission
from annotation.queue.available_tasks import available_tasks, kinds_of, no_consent, today
from annotation.queue.dispatch import NoTask
from annotation.selectors.scopes import campaigns_to_work_on
from annotation.selectors.workers.recent_answers import recent_answers
from annotation.task_types.base import TASK_TYPES, answer_in

_EXAMPLE = {"campaign": "quay", "kind": next(iter(names()))}


@worker_call("worker_tasks", "List what there is to work on", method="GET")
def list_tasks(request: HttpRequest, worker: int, asked: NothingAsked) -> WorkerOffers:
    """What there is for me."""
    return {"tasks": [offer(each) for each in available_tasks(worker=Worker.objects.get(pk=worker))]}


@worker_call(
    "worker_next",
    "Take a task of a campaign and kind",
    asks=lambda: TaskAsked,
    errors=(400, 404),
    example=_EXAMPLE,
)
def take_task(request: HttpRequest, worker: int, asked: TaskAsked) -> WorkerTask | WorkerNothing:
    """A task of a campaign and kind, or why there is none."""
    campaign = _campaign(worker, asked.campaign)
    kind = _kind(campaign, asked.kind)
    found = no_consent(worker=worker, campaign=campaign) or leases.take_lease(
        worker=worker, campaign=campaign, kind=kind, holding=asked.holding
    )
    return task_or_nothing(request, found)


@worker_call(
    "worker_test",
    "Begin the qualification test of a kind, or go on with it",
    asks=lambda: KindAsked,
    errors=(400, 404),
    example=_EXAMPLE,
)
def begin_worker_test(request: HttpRequest, worker: int, asked: KindAsked) -> WorkerTest | WorkerNothing:
    """Begin the qualification test of a kind, or go on with it; its items come like other tasks."""
    campaign = _campaign(worker, asked.campaign)
    kind = _kind(campaign, asked.kind)
    if (unagreed := no_consent(worker=worker, campaign=campaign)) is not None:
        return nothing_told(unagreed)
    begun = qualification.begin_qualification(worker=worker, campaign=campaign, kind=kind)
    if isinstance(begun, Refusal):
        return nothing_told(NoTask(begun.code, begun.text))
    return {"asked": begun.asked, "answered": begun.answered}


@worker_call("worker_consent", "Show what workers of a campaign agree to", method="GET")
def show_consent(request: HttpRequest, worker: int, asked: NothingAsked, name: str) -> WorkerConsent:
    """What workers of a campaign agree to, and whether this one has to."""
    return _consent(worker, _campaign(worker, name))


@worker_call(
    "worker_agree",
    "Agree to a version of the consent text",
    asks=lambda: ConsentGiven,
    errors=(400, 409),
    example={"version": 1},
)
def agree(request: HttpRequest, worker: int, asked: ConsentGiven, name: str) -> WorkerConsent:
    """Keep that the worker agrees to a version."""
    campaign = _campaign(worker, name)
    try:
        instructions.record_consent(worker=worker, campaign=campaign, version=asked.version)
    except instructions.StaleText as error:
        raise Problem(HTTPStatus.CONFLICT, "stale_text", str(error)) from error
    return _consent(worker, campaign)


def _consent(worker: int, campaign: Campaign) -> WorkerConsent:
    text = instructions.current_text(campaign=campaign, kind=instructions.CONSENT)
    needed = instructions.needs_consent(worker=worker, campaign=campaign)
    return {"version": text.version, "text": text.text, "needed": needed}


@worker_call(
    "worker_answer",
    "Answer a task; the next one comes along",
    asks=lambda: answer_request(AnswerSent),
    errors=(400, 409, 410, 422),
    example={"answer": "yes", "token": "f3a1", "seconds": 4.2},
)
def answer_task(request: HttpRequest, worker: int, asked: AnswerSent, assignment: int) -> WorkerReceipt:
    """Store an answer; the next task comes along unless `next` is false."""
    given, schema = _given(asked)
    receipt = submission.submit(
        worker=worker,
        assignment=_real(assignment),
        answer=given,
        token=asked.token,
        seconds=asked.seconds,
        holding=asked.holding,
        then=asked.next,
        schema=schema,
    )
    return {
        "repeated": receipt.repeated,
        "today": _today(worker, assignment) if receipt.repeated else None,
        "next": task_or_nothing(request, receipt.next) if receipt.next else None,
    }


@worker_call(
    "worker_recent_answers",
    "List your last answers of a kind, which you may change",
    asks=lambda: KindAsked,
    errors=(400, 404),
    example=_EXAMPLE,
)
def list_recent_answers(request: HttpRequest, worker: int, asked: KindAsked) -> RecentAnswers:
    """The worker's last answers of a kind, which they may come back to."""
    campaign = _campaign(worker, asked.campaign)
    kind = _kind(campaign, asked.kind)
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


@worker_call(
    "worker_change",
    "Change one of your last answers, where nobody has built on it",
    asks=lambda: answer_request(AnswerSaid),
    errors=(400, 409, 410, 422),
    example={"answer": "no"},
)
def change_own_answer(request: HttpRequest, worker: int, asked: AnswerSaid, assignment: int) -> AnswerChanged:
    """Change an answer that nobody has built on."""
    given, schema = _given(asked)
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


@worker_call("worker_return", "Return a task unanswered", errors=(400, 410))
def give_back(request: HttpRequest, worker: int, asked: NothingAsked, assignment: int) -> TaskReturned:
    """Return a task unanswered."""
    return {"returned": leases.return_lease(worker=worker, assignment=_real(assignment))}


@worker_call("worker_heartbeat", "Keep a task: its time starts again", errors=(400, 410))
def keep_task(request: HttpRequest, worker: int, asked: NothingAsked, assignment: int) -> TaskRenewed:
    """A sign of life: the lease lasts from now on."""
    expires = leases.renew_lease(worker=worker, assignment=_real(assignment))
    if expires is None:
        raise not_yours(_("This task is no longer assigned to you."))
    return {"expires_at": json_second(expires)}


def _today(worker: int, assignment: int) -> WorkerToday:
    """What the worker has done today of the assignment's kind, in its campaign."""
    campaign, kind = Assignment.objects.values_list("campaign", "kind").get(pk=assignment)
    return done_today(today(worker=worker, campaign=campaign, kind=kind))


def _given(asked: AnswerSaid) -> tuple[Answer, int]:
    """The answer, and the version of its form; it is said outright, or by a page's `form` of a `kind`."""
    if asked.form is None:
        given = answer_in(vars(asked))
        # An answer that is more than a word is read by its kind; no two kinds share such a word.
        with_more = next((kind.key for kind in all_kinds() if given.answer in kind.with_content), "")
        return (TASK_TYPES.get(with_more).parse(vars(asked)) if with_more else given), 1
    if asked.kind is None:
        raise invalid("kind", "missing")
    if asked.kind not in TASK_TYPES:
        raise _unknown(_("There is no task “%(kind)s”.") % {"kind": asked.kind})
    type = TASK_TYPES.get(asked.kind)
    return type.parse(type.from_form(asked.form)), type.schema_version


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
