"""Several workers of a campaign at once by API: suspending, reinstating, withdrawing answers, messages."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.translation import get_language
from rest_framework import serializers

from annotation import jobs
from annotation.api.rest.fields import CallFields, TextField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import RUNS_CAMPAIGN, WorkerNames, workers_named
from annotation.common import database
from annotation.jobs import emails
from annotation.models import Campaign, Job
from annotation.moderation import bulk
from annotation.moderation.discarding import CannotDo
from annotation.workers import messages
from annotation.workers.messages import MessageError

_TAG = "workers"
_PATH = "campaigns/<slug:name>/several-workers"


class WorkerRefused(serializers.Serializer[Any]):
    """A worker for whom nothing was done, and why."""

    worker = serializers.CharField()
    detail = serializers.CharField()


class SeveralDone(serializers.Serializer[Any]):
    """For how many workers something changed, and how many were so already."""

    changed = serializers.IntegerField()
    same = serializers.IntegerField()
    refused = WorkerRefused(many=True)


class MessagesSent(serializers.Serializer[Any]):
    """To how many workers a message was sent, and to how many of them by e-mail too."""

    sent = serializers.IntegerField()
    mailed = serializers.IntegerField()


class SeveralAct(CallFields):
    """What is done to which workers, for all kinds of questions; suspended ones read the reason."""

    act = serializers.ChoiceField(["suspend", "reinstate"])
    workers = WorkerNames()
    reason = TextField(required=False, allow_blank=True)


class SeveralDiscarded(CallFields):
    """Whose answers are withdrawn, and why; they read it."""

    workers = WorkerNames()
    reason = TextField(required=False, allow_blank=True)


class MessageWanted(CallFields):
    """What is told to which workers: on their next page, and by e-mail to those who asked for that."""

    workers = WorkerNames()
    text = TextField(max_length=messages.LONGEST_MESSAGE)


@serves(
    ApiRoute(
        route="several_workers",
        method=POST,
        path=_PATH,
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=SeveralAct,
        answers=SeveralDone,
        refuses=(CannotDo,),
        example={"act": "suspend", "workers": ["calm-otter-17"], "reason": "Boxes are too large."},
    )
)
def several_workers_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Suspend or reinstate several workers, each by itself."""
    known = workers_named(campaign, call.data["workers"])
    workers, reason = list(known.values()), call.data.get("reason", "")
    if call.data["act"] == "suspend":
        done = bulk.suspend_workers(campaign=campaign, workers=workers, reason=reason, actor=call.account)
    else:
        done = bulk.reinstate_workers(campaign=campaign, workers=workers, actor=call.account)
    refused = [
        {"worker": name, "detail": done.refused[worker]}
        for name, worker in known.items()
        if worker in done.refused
    ]
    return {"changed": done.changed, "same": done.same, "refused": refused}


@serves(
    ApiRoute(
        route="several_workers_discard",
        method=POST,
        path=f"{_PATH}/discard",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=SeveralDiscarded,
        job=True,
        refuses=(CannotDo,),
        example={"workers": ["calm-otter-17"], "reason": "Answers at random."},
    )
)
def several_workers_discard_call(call: ApiCall, campaign: Campaign) -> Job:
    """Withdraw the answers of several workers, as a job: images are computed anew without them."""
    workers = list(workers_named(campaign, call.data["workers"]).values())
    arguments = {"workers": workers, "reason": call.data.get("reason", "")}
    return jobs.enqueue(kind="discard_several", arguments=arguments, campaign=campaign, actor=call.account)


@serves(
    ApiRoute(
        route="messages",
        method=POST,
        path="campaigns/<slug:name>/messages",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=MessageWanted,
        answers=MessagesSent,
        refuses=(CannotDo, MessageError),
        example={"workers": ["calm-otter-17"], "text": "Please draw boxes tighter: see the new examples."},
    )
)
def messages_send_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Send workers a message."""
    workers = list(workers_named(campaign, call.data["workers"]).values())
    # All or none: a message that is stored is never left without its e-mail.
    with database.writing():
        sent = messages.send_messages(
            campaign=campaign, workers=workers, text=call.data["text"], actor=call.account
        )
        mailed = emails.ask_for_messages(
            messages=sent,
            domain=call.request.get_host(),
            secure=call.request.is_secure(),
            language=get_language() or settings.LANGUAGE_CODE,
        )
    return {"sent": len(sent), "mailed": mailed}
