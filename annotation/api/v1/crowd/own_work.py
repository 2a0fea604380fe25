"""What a caller who works here has earned, and what researchers told them, by API."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import SignedIn, missing
from annotation.api.rest.fields import MoneyField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.common.roles import WHOLE_SERVER
from annotation.models import WorkerMessage
from annotation.protocol.money import amount_text
from annotation.selectors.scopes import campaigns_in
from annotation.selectors.workers.earnings import Earnings, earnings_of
from annotation.selectors.workers.own_data import worker_behind
from annotation.workers import messages

_TAG = "account"


class EarnedPayment(serializers.Serializer[Any]):
    """A payment to you."""

    at = serializers.DateTimeField()
    amount = MoneyField()
    reference = serializers.CharField()


class EarnedBonus(serializers.Serializer[Any]):
    """A bonus for you, and what for."""

    at = serializers.DateTimeField()
    amount = MoneyField()
    reason = serializers.CharField()


class EarningsShown(serializers.Serializer[Any]):
    """Your account in one campaign."""

    campaign = serializers.CharField()
    currency = serializers.CharField()
    answers = serializers.IntegerField()
    seconds = serializers.FloatField()
    earned = MoneyField()
    bonuses = EarnedBonus(many=True)
    payments = EarnedPayment(many=True)
    paid = MoneyField()
    due = MoneyField()


class MessageShown(serializers.Serializer[Any]):
    """What a researcher told you; `read_at` is null until you say that you have read it."""

    number = serializers.IntegerField()
    campaign = serializers.CharField()
    text = serializers.CharField()
    sent_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)


@serves(
    ApiRoute(
        route="earnings",
        method=GET,
        path="me/earnings",
        tag=_TAG,
        opens=SignedIn(),
        answers=EarningsShown,
        listed=True,
    )
)
def earnings_list_call(call: ApiCall) -> CursorPage:
    """List what you earned, what is due and what was paid, campaign by campaign; by a token for a corpus or a
    campaign, there alone."""
    worker = worker_behind(call.account)
    found = earnings_of(worker, scope=call.scope) if worker is not None else []
    return call.rows.of_values(found, lambda one: one.campaign, _earnings_plain)


@serves(
    ApiRoute(
        route="own_messages",
        method=GET,
        path="me/messages",
        tag=_TAG,
        opens=SignedIn(),
        answers=MessageShown,
        listed=True,
    )
)
def own_messages_list_call(call: ApiCall) -> CursorPage:
    """List what researchers told you, the newest first; by a token for a corpus or a campaign, there
    alone."""
    rows = _own_messages(call)
    return call.rows.of_rows(rows.select_related("campaign"), "-pk", _message_plain)


@serves(
    ApiRoute(
        route="own_message_read",
        method=POST,
        path="me/messages/<int:number>/read",
        tag=_TAG,
        opens=SignedIn(),
    )
)
def own_message_read_call(call: ApiCall, number: int) -> None:
    """Say that you have read a message: it is no longer on your pages."""
    worker = worker_behind(call.account)
    known = _own_messages(call).filter(pk=number).exists()
    if not known or worker is None or not messages.mark_read(worker=worker, message=number):
        raise missing(_("You have no message %(number)d.") % {"number": number})


def _own_messages(call: ApiCall) -> QuerySet[WorkerMessage]:
    """The messages that a call may know of."""
    own = WorkerMessage.objects.filter(worker__identity__account_id=call.account.pk)
    return own.filter(campaign__in=campaigns_in(call.scope)) if call.scope != WHOLE_SERVER else own


def _earnings_plain(one: Earnings) -> dict[str, Any]:
    return {
        "campaign": one.campaign,
        "currency": one.currency,
        "answers": one.answers,
        "seconds": one.seconds,
        "earned": amount_text(one.earned, one.currency),
        "bonuses": [
            {
                "at": json_time(each.at),
                "amount": amount_text(each.amount, one.currency),
                "reason": each.reason,
            }
            for each in one.bonuses
        ],
        "payments": [
            {
                "at": json_time(each.at),
                "amount": amount_text(each.amount, one.currency),
                "reference": each.reference,
            }
            for each in one.payments
        ],
        "paid": amount_text(one.paid, one.currency),
        "due": amount_text(one.due, one.currency),
    }


def _message_plain(row: WorkerMessage) -> dict[str, Any]:
    return {
        "number": row.pk,
        "campaign": row.campaign.name,
        "text": row.text,
        "sent_at": json_time(row.sent_at),
        "read_at": json_time(row.read_at),
    }
