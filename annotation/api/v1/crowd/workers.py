"""A campaign's workers by API: the table, one of them, suspending, withdrawing answers and their way back."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import jobs
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import missing
from annotation.api.rest.fields import CallFields, MoneyField, NameField, TextField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import RUNS_CAMPAIGN
from annotation.models import Campaign, Job
from annotation.moderation import discarding
from annotation.moderation.discarding import CannotDo
from annotation.protocol import questions as q
from annotation.protocol.money import amount_text
from annotation.selectors.campaign import WorkerRow
from annotation.selectors.campaign import workers as worker_rows
from annotation.selectors.workers.worker_table import SORTS, WORKER_STATES, WorkerTableRequest, worker_page
from annotation.workers.payments import currency_of

_TAG = "workers"
_PATH = "campaigns/<slug:name>/workers"
_ONE = f"{_PATH}/<str:pseudonym>"


class WorkerKindShown(serializers.Serializer[Any]):
    """A worker at one kind of question. `accuracy` is over the newest checked answers."""

    kind = serializers.CharField()
    state = serializers.CharField()
    blocked = serializers.BooleanField(help_text="Suspended by a researcher.")
    reason = serializers.CharField()
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    answers = serializers.IntegerField()
    checked = serializers.IntegerField()
    right = serializers.IntegerField()
    accuracy = serializers.FloatField(allow_null=True)
    median_seconds = serializers.FloatField(allow_null=True)


class WorkerShown(serializers.Serializer[Any]):
    """A worker of a campaign, under a pseudonym."""

    pseudonym = serializers.CharField()
    erased = serializers.BooleanField()
    answers = serializers.IntegerField()
    seconds = serializers.FloatField()
    earned = MoneyField()
    bonuses = MoneyField()
    paid = MoneyField()
    due = MoneyField()
    hourly = MoneyField(allow_null=True)
    kinds = WorkerKindShown(many=True)


class KindsChanged(serializers.Serializer[Any]):
    """The kinds of question for which something changed."""

    kinds = serializers.ListField(child=serializers.CharField())


class WorkerFilter(CallFields):
    """Which workers, and in which order."""

    sort = serializers.ChoiceField(SORTS, required=False)
    up = serializers.BooleanField(required=False, help_text="The least first.")
    kind = NameField(required=False)
    state = serializers.ChoiceField(WORKER_STATES, required=False)
    find = TextField(required=False, help_text="A part of the pseudonym.")


class OfKind(CallFields):
    """One kind of question; all of them without it."""

    kind = NameField(required=False, allow_null=True)


class OfKindReasoned(OfKind):
    """One kind of question, or all, and why; the worker reads it."""

    reason = TextField(required=False, allow_blank=True)


@serves(
    ApiRoute(
        route="workers",
        method=GET,
        path=_PATH,
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        asked=WorkerFilter,
        answers=WorkerShown,
        listed=True,
        refuses=(CannotDo,),
    )
)
def workers_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List a campaign's workers, with what they did, how right, and what they are due."""
    rows, asked = call.rows, call.asked
    kind = asked.get("kind", "")
    if kind and kind not in campaign.kinds:
        raise _no_kind(campaign, kind)
    wanted = WorkerTableRequest(
        sort=asked.get("sort", "answers"),
        up=asked.get("up", False),
        kind=kind,
        state=asked.get("state", ""),
        find=asked.get("find", ""),
        after=rows.mark or 0,
    )
    page = worker_page(campaign, wanted, size=rows.limit)
    currency = currency_of(campaign)
    return rows.page((worker_plain(row, currency) for row, _figures in page.rows), page.after)


@serves(ApiRoute(route="worker", method=GET, path=_ONE, tag=_TAG, opens=RUNS_CAMPAIGN, answers=WorkerShown))
def worker_show_call(call: ApiCall, campaign: Campaign, pseudonym: str) -> dict[str, Any]:
    """Show one worker of a campaign, by kind of question."""
    row = worker_rows(campaign, only=[_worker(campaign, pseudonym)])[0]
    return worker_plain(row, currency_of(campaign))


@serves(
    ApiRoute(
        route="worker_suspend",
        method=POST,
        path=f"{_ONE}/suspend",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=OfKindReasoned,
        answers=KindsChanged,
        refuses=(CannotDo,),
        example={"reason": "Boxes are too large."},
    )
)
def worker_suspend_call(call: ApiCall, campaign: Campaign, pseudonym: str) -> dict[str, Any]:
    """Suspend a worker. What they have in hand still counts."""
    changed = discarding.suspend_worker(
        campaign=campaign,
        worker=_worker(campaign, pseudonym),
        kind=_kind(call, campaign),
        reason=call.data.get("reason", ""),
        actor=call.account,
    )
    return {"kinds": list(changed)}


@serves(
    ApiRoute(
        route="worker_reinstate",
        method=POST,
        path=f"{_ONE}/reinstate",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=OfKind,
        answers=KindsChanged,
        refuses=(CannotDo,),
        example={"kind": q.QUESTIONS[0]},
    )
)
def worker_reinstate_call(call: ApiCall, campaign: Campaign, pseudonym: str) -> dict[str, Any]:
    """Reinstate a worker who was suspended."""
    changed = discarding.reinstate_worker(
        campaign=campaign, worker=_worker(campaign, pseudonym), kind=_kind(call, campaign), actor=call.account
    )
    return {"kinds": list(changed)}


@serves(
    ApiRoute(
        route="worker_discard",
        method=POST,
        path=f"{_ONE}/discard",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=OfKindReasoned,
        job=True,
        refuses=(CannotDo,),
        example={"reason": "Answers at random."},
    )
)
def worker_discard_call(call: ApiCall, campaign: Campaign, pseudonym: str) -> Job:
    """Withdraw a worker's answers, as a job: images are computed anew without them."""
    arguments = {
        "worker": _worker(campaign, pseudonym),
        "kind": _kind(call, campaign),
        "reason": call.data.get("reason", ""),
    }
    return jobs.enqueue(kind="discard", arguments=arguments, campaign=campaign, actor=call.account)


@serves(
    ApiRoute(
        route="worker_restore",
        method=POST,
        path=f"{_ONE}/restore",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=OfKind,
        job=True,
        refuses=(CannotDo,),
        example={"kind": q.QUESTIONS[0]},
    )
)
def worker_restore_call(call: ApiCall, campaign: Campaign, pseudonym: str) -> Job:
    """Let a worker's withdrawn answers count again, as a job."""
    arguments = {"worker": _worker(campaign, pseudonym), "kind": _kind(call, campaign)}
    return jobs.enqueue(kind="restore", arguments=arguments, campaign=campaign, actor=call.account)


def worker_plain(row: WorkerRow, currency: str) -> dict[str, Any]:
    """A worker as plain data, with amounts in `currency`."""
    return {
        "pseudonym": row.pseudonym,
        "erased": row.erased,
        "answers": row.answers,
        "seconds": row.seconds,
        "earned": amount_text(row.earned, currency),
        "bonuses": amount_text(row.bonuses, currency),
        "paid": amount_text(row.paid, currency),
        "due": amount_text(row.due, currency),
        "hourly": amount_text(row.hourly, currency) if row.hourly is not None else None,
        "kinds": [
            {
                "kind": each.kind,
                "state": each.state,
                "blocked": each.blocked,
                "reason": each.reason,
                "withdrawn_at": json_time(each.withdrawn_at),
                "answers": each.answers,
                "checked": each.known,
                "right": each.right,
                "accuracy": each.accuracy,
                "median_seconds": each.median_seconds,
            }
            for each in row.kinds
        ],
    }


def _worker(campaign: Campaign, pseudonym: str) -> int:
    try:
        return discarding.worker_named(pseudonym, campaign)
    except CannotDo:
        raise missing(
            _("Campaign “%(campaign)s” has no worker “%(name)s”.")
            % {"campaign": campaign.name, "name": pseudonym}
        ) from None


def _kind(call: ApiCall, campaign: Campaign) -> str | None:
    kind: str | None = call.data.get("kind")
    if kind is not None and kind not in campaign.kinds:
        raise _no_kind(campaign, kind)
    return kind


def _no_kind(campaign: Campaign, kind: str) -> CannotDo:
    return CannotDo(
        _("Campaign “%(name)s” has no task “%(kind)s”; it has %(known)s.")
        % {"name": campaign.name, "kind": kind, "known": ", ".join(campaign.kinds)}
    )
