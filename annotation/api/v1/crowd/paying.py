"""A campaign's payments by API: what is due, recording and voiding payments, bonuses, lists for platforms."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from io import StringIO
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.problems import Problem
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import missing
from annotation.api.rest.fields import CallFields, MoneyField, TextField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import RUNS_CAMPAIGN, WorkerNames, workers_named
from annotation.models import Bonus, Campaign, Payout
from annotation.moderation.discarding import CannotDo
from annotation.protocol.money import amount_text
from annotation.workers import approvals, bonuses, payments
from annotation.workers.payments import Due, PaymentError
from annotation.workers.platform_visits import PROVIDERS

_TAG = "payments"
_PATH = "campaigns/<slug:name>"
_CSV = "text/csv"


class DueShown(serializers.Serializer[Any]):
    """What a worker is due: what their answers earned and their bonuses, less what was paid."""

    worker = serializers.CharField()
    answers = serializers.IntegerField()
    seconds = serializers.FloatField()
    earned = MoneyField()
    bonuses = MoneyField()
    paid = MoneyField()
    due = MoneyField()
    hourly = MoneyField(allow_null=True)
    unconfirmed = serializers.BooleanField(
        help_text="Their platform has not confirmed who they are: they are not paid until it has."
    )


class PaymentShown(serializers.Serializer[Any]):
    """A payment that was recorded; `voided_at` says that it was not made after all."""

    number = serializers.IntegerField()
    worker = serializers.CharField()
    amount = MoneyField()
    reference = serializers.CharField()
    paid_at = serializers.DateTimeField()
    paid_by = serializers.CharField(allow_null=True)
    voided_at = serializers.DateTimeField(allow_null=True)
    void_reason = serializers.CharField()


class PaymentsMade(serializers.Serializer[Any]):
    """The payments that were recorded now."""

    payments = PaymentShown(many=True)


class BonusShown(serializers.Serializer[Any]):
    """A bonus, which is due with everything else until it is paid."""

    number = serializers.IntegerField()
    worker = serializers.CharField()
    amount = MoneyField()
    reason = serializers.CharField()
    given_at = serializers.DateTimeField()
    given_by = serializers.CharField(allow_null=True)
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    withdrawn_reason = serializers.CharField()


class BonusesGiven(serializers.Serializer[Any]):
    """The bonuses that were given now."""

    bonuses = BonusShown(many=True)


class PaymentWanted(CallFields):
    """Who was paid: these workers, or everybody, all that they are due; with an amount, one worker that much.

    Under the same reference everybody is paid once.
    """

    reference = TextField(max_length=payments.LONGEST_REFERENCE)
    workers = WorkerNames(required=False)
    amount = TextField(max_length=20, required=False, help_text="A decimal number, as 12.50.")


class BonusWanted(CallFields):
    """Who gets a bonus: how much each, and what for; they read it."""

    workers = WorkerNames()
    amount = TextField(max_length=20, help_text="A decimal number, as 1.50.")
    reason = TextField()


class ReasonGiven(CallFields):
    """Why; it stays in the history."""

    reason = TextField()


class PlatformList(CallFields):
    """Which list of ids, of which platform."""

    platform = serializers.ChoiceField(PROVIDERS)
    list = serializers.ChoiceField(approvals.LISTS)


@serves(
    ApiRoute(
        route="dues",
        method=GET,
        path=f"{_PATH}/dues",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        answers=DueShown,
        listed=True,
    )
)
def dues_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List what each worker of a campaign is due, by pseudonym."""
    accounts = payments.due_accounts(campaign=campaign)
    return call.rows.of_values(
        accounts,
        lambda account: account.pseudonym,
        partial(_due_plain, currency=payments.currency_of(campaign)),
    )


@serves(
    ApiRoute(
        route="payments",
        method=GET,
        path=f"{_PATH}/payments",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        answers=PaymentShown,
        listed=True,
    )
)
def payments_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List a campaign's payments, the newest first."""
    rows = Payout.objects.filter(campaign=campaign).select_related("worker", "paid_by")
    return call.rows.of_rows(rows, "-pk", partial(_payment_plain, currency=payments.currency_of(campaign)))


@serves(
    ApiRoute(
        route="payments",
        method=POST,
        confirms=True,
        path=f"{_PATH}/payments",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=PaymentWanted,
        answers=PaymentsMade,
        refuses=(PaymentError, CannotDo),
        example={"reference": "2027-03", "workers": ["calm-otter-17"]},
    )
)
def payments_record_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Record that workers were paid. This moves no money."""
    data, names = call.data, call.data.get("workers")
    currency = payments.currency_of(campaign)
    workers = list(workers_named(campaign, names).values()) if names is not None else None
    if "amount" not in data:
        made = payments.pay_all_due(
            campaign=campaign, reference=data["reference"], workers=workers, actor=call.account
        )
    elif workers is None or len(workers) != 1:
        raise Problem(
            HTTPStatus.BAD_REQUEST, "bad_request", _("An amount goes with one worker."), field="amount"
        )
    else:
        amount = payments.micros_of(data["amount"], currency)
        one = payments.pay(
            worker=workers[0],
            campaign=campaign,
            amount=amount,
            reference=data["reference"],
            actor=call.account,
        )
        made = [one]
    rows = Payout.objects.filter(pk__in=[each.pk for each in made]).select_related("worker", "paid_by")
    return {"payments": [_payment_plain(row, currency) for row in rows.order_by("pk")]}


@serves(
    ApiRoute(
        route="payment_void",
        method=POST,
        confirms=True,
        path=f"{_PATH}/payments/<int:payment>/void",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=ReasonGiven,
        answers=PaymentShown,
        refuses=(PaymentError,),
        example={"reason": "The bank sent it back."},
    )
)
def payment_void_call(call: ApiCall, campaign: Campaign, payment: int) -> dict[str, Any]:
    """Void a payment that was not made after all: it is due again, and its reference is free."""
    if not Payout.objects.filter(campaign=campaign, pk=payment).exists():
        raise missing(_("There is no such thing here."))
    reason = call.data["reason"]
    return _payment_plain(
        payments.void_payout(campaign=campaign, payout=payment, reason=reason, actor=call.account),
        payments.currency_of(campaign),
    )


@serves(
    ApiRoute(
        route="bonuses",
        method=GET,
        path=f"{_PATH}/bonuses",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        answers=BonusShown,
        listed=True,
    )
)
def bonuses_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List a campaign's bonuses, the newest first."""
    rows = Bonus.objects.filter(campaign=campaign).select_related("worker", "given_by")
    return call.rows.of_rows(rows, "-pk", partial(_bonus_plain, currency=payments.currency_of(campaign)))


@serves(
    ApiRoute(
        route="bonuses",
        method=POST,
        confirms=True,
        path=f"{_PATH}/bonuses",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=BonusWanted,
        answers=BonusesGiven,
        refuses=(PaymentError, CannotDo),
        example={"workers": ["calm-otter-17"], "amount": "1.50", "reason": "Patience with the pilot"},
    )
)
def bonus_give_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Give workers a bonus: it is due from now on."""
    currency = payments.currency_of(campaign)
    given = bonuses.give_bonus(
        campaign=campaign,
        workers=list(workers_named(campaign, call.data["workers"]).values()),
        amount=payments.micros_of(call.data["amount"], currency),
        reason=call.data["reason"],
        actor=call.account,
    )
    rows = Bonus.objects.filter(pk__in=[each.pk for each in given]).select_related("worker", "given_by")
    return {"bonuses": [_bonus_plain(row, currency) for row in rows.order_by("pk")]}


@serves(
    ApiRoute(
        route="bonus_withdraw",
        method=POST,
        confirms=True,
        path=f"{_PATH}/bonuses/<int:bonus>/withdraw",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=ReasonGiven,
        answers=BonusShown,
        refuses=(PaymentError,),
        example={"reason": "Given to the wrong worker."},
    )
)
def bonus_withdraw_call(call: ApiCall, campaign: Campaign, bonus: int) -> dict[str, Any]:
    """Withdraw a bonus that has not been paid."""
    if not Bonus.objects.filter(campaign=campaign, pk=bonus).exists():
        raise missing(_("There is no such thing here."))
    reason = call.data["reason"]
    return _bonus_plain(
        bonuses.withdraw_bonus(campaign=campaign, bonus=bonus, reason=reason, actor=call.account),
        payments.currency_of(campaign),
    )


@serves(
    ApiRoute(route="ledger", method=GET, path=f"{_PATH}/ledger.csv", tag=_TAG, opens=RUNS_CAMPAIGN, file=_CSV)
)
def ledger_download_call(call: ApiCall, campaign: Campaign) -> StreamingHttpResponse:
    """Download every answer, bonus and payment as CSV; a worker's amounts add up to what they are due."""
    return StreamingHttpResponse(payments.ledger_csv(campaign), content_type=_CSV)


@serves(
    ApiRoute(
        route="platform_list",
        method=POST,
        path=f"{_PATH}/platform-list",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=PlatformList,
        file=_CSV,
        refuses=(PaymentError,),
        example={"platform": "prolific", "list": "submissions"},
    )
)
def platform_list_call(call: ApiCall, campaign: Campaign) -> HttpResponse:
    """Download a crowd platform's ids of submissions to approve, or of people with what they are due, as its
    pages take them.

    The ids identify people, so the audit notes it, and a token for reading is refused.
    """
    file = StringIO(newline="")
    approvals.write_approvals(
        campaign=campaign,
        provider=call.data["platform"],
        what=call.data["list"],
        file=file,
        actor=call.account,
    )
    return HttpResponse(file.getvalue(), content_type=_CSV)


def _due_plain(account: Due, currency: str) -> dict[str, Any]:
    return {
        "worker": account.pseudonym,
        "answers": account.answers,
        "seconds": account.seconds,
        "earned": amount_text(account.earned, currency),
        "bonuses": amount_text(account.bonuses, currency),
        "paid": amount_text(account.paid, currency),
        "due": amount_text(account.due, currency),
        "hourly": amount_text(account.hourly, currency) if account.hourly is not None else None,
        "unconfirmed": account.held,
    }


def _payment_plain(row: Payout, currency: str) -> dict[str, Any]:
    return {
        "number": row.pk,
        "worker": row.worker.pseudonym,
        "amount": amount_text(row.amount, currency),
        "reference": row.reference,
        "paid_at": json_time(row.paid_at),
        "paid_by": row.paid_by.get_username() if row.paid_by is not None else None,
        "voided_at": json_time(row.voided_at),
        "void_reason": row.void_reason,
    }


def _bonus_plain(row: Bonus, currency: str) -> dict[str, Any]:
    return {
        "number": row.pk,
        "worker": row.worker.pseudonym,
        "amount": amount_text(row.amount, currency),
        "reason": row.reason,
        "given_at": json_time(row.given_at),
        "given_by": row.given_by.get_username() if row.given_by is not None else None,
        "withdrawn_at": json_time(row.withdrawn_at),
        "withdrawn_reason": row.withdrawn_reason,
    }
