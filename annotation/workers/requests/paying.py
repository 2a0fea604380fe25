"""Operations on payments: amounts due, recording and voiding payments, the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Listing, NewFile, OperationContext, invalid
from annotation.models import Campaign, Payout
from annotation.protocol.money import amount_text
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.workers.choosing import (
    ChosenWorkers,
    Pseudonym,
    RowNumber,
    chosen_workers,
    worker_id,
)
from annotation.workers import payments
from annotation.workers.payments import Due

Reference = Annotated[
    str,
    Field(min_length=1, max_length=payments.LONGEST_REFERENCE),
    Help(_("Reference of the payment"), _("It identifies the payment: recording it again does no harm")),
]
Reason = Annotated[str, Field(min_length=1, max_length=payments.LONGEST_PAYMENT_REASON)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DuesRequest(CampaignRequest):
    """The amount due to each worker of a campaign: earnings of answers and bonuses, minus payments."""

    worker: Annotated[Pseudonym | None, Help(_("Worker"), _("Only this one"))] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindEarned:
    """The earnings of a worker's answers of one kind, in total and per hour."""

    kind: str
    answers: int
    seconds: float
    earned: str
    hourly: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDue:
    """The amount due to a worker. Amounts are decimal numbers of the currency. `unconfirmed`: their platform
    has not confirmed who they are, and they are not paid until it has."""

    worker: str
    answers: int
    seconds: float
    earned: str
    bonuses: str
    paid: str
    due: str
    hourly: str | None
    unconfirmed: bool
    currency: str
    kinds: tuple[KindEarned, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """A recorded payment; `voided_at` is set if it was not made after all."""

    number: int
    worker: str
    amount: str
    currency: str
    reference: str
    paid_at: datetime
    paid_by: str | None
    voided_at: datetime | None
    void_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsRequest(CampaignRequest):
    """Payments, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayRequest(ChosenWorkers):
    """All amounts due to the workers are recorded as paid, in whole units of the currency's digits. This
    moves no money. Under the same reference everybody is paid once."""

    reference: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class PayWorkerRequest(CampaignRequest):
    """A worker's amount due, or a part of it, is recorded as paid. This moves no money. The same reference
    again is the same payment."""

    worker: Annotated[Pseudonym, Help(_("Worker"), _("Their pseudonym"))]
    amount: Annotated[str, Field(max_length=20), Help(_("Amount"), _("A decimal number, as 12.50"))]
    reference: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidWorkers:
    """The payments that were recorded now, and their sum."""

    payments: tuple[Payment, ...]
    amount: str
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VoidPaymentRequest(CampaignRequest):
    """A payment was not made after all: it is due again, and its reference is free."""

    payment: Annotated[RowNumber, Help(_("Payment"), _("Its number"))]
    reason: Annotated[Reason, Help(_("Why it was not paid"), _("It stays in the history"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRequest(CampaignRequest):
    """All answers, bonuses and payments as CSV; a worker's amounts add up to the amount due."""


def list_dues(request: DuesRequest, context: OperationContext) -> Listing:
    """Return the accounts of workers, by pseudonym."""
    campaign = request.row()
    only = worker_id(request.worker, campaign) if request.worker is not None else None
    accounts = payments.due_accounts(campaign=campaign, worker=only)
    currency = payments.currency_of(campaign)
    return Listing(accounts, lambda account: account.pseudonym, partial(_worker_due, currency=currency))


def list_payments(request: PaymentsRequest, context: OperationContext) -> Listing:
    """Return the payments of a campaign."""
    campaign = request.row()
    rows = Payout.objects.filter(campaign=campaign).select_related("worker", "paid_by")
    return Listing(rows, "-pk", partial(_payment, currency=payments.currency_of(campaign)))


def pay_workers(request: PayRequest, context: OperationContext) -> PaidWorkers:
    """Record payments. Raises PaymentError."""
    campaign = request.row()
    payouts = payments.pay_all_due(
        campaign=campaign,
        reference=request.reference.strip(),
        workers=set(chosen_workers(request, campaign).values()),
        actor=context.actor,
    )
    return _paid(campaign, payouts)


def pay_worker(request: PayWorkerRequest, context: OperationContext) -> PaidWorkers:
    """Record a payment. Raises PhraseboxError, and Invalid for an invalid amount."""
    campaign = request.row()
    payout = payments.pay(
        worker=worker_id(request.worker, campaign),
        campaign=campaign,
        amount=payments.micros_of(request.amount, payments.currency_of(campaign)),
        reference=request.reference.strip(),
        actor=context.actor,
    )
    return _paid(campaign, [payout])


def void_payment(request: VoidPaymentRequest, context: OperationContext) -> Payment:
    """Void a payment. Raises Invalid if the campaign has no such payment, and PaymentError."""
    campaign = request.row()
    if not Payout.objects.filter(campaign=campaign, pk=request.payment).exists():
        raise invalid("payment", "unknown", kind=_("payment"), value=request.payment)
    row = payments.void_payout(
        campaign=campaign, payout=request.payment, reason=request.reason, actor=context.actor
    )
    return _payment(row, payments.currency_of(campaign))


def export_ledger(request: LedgerRequest, context: OperationContext) -> NewFile:
    """Return the ledger of a campaign."""
    campaign = request.row()

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            payments.write_ledger(campaign, file)

    return NewFile(f"{campaign.name}-ledger.csv", write)


def _worker_due(account: Due, currency: str) -> WorkerDue:
    text = partial(amount_text, currency=currency)
    return WorkerDue(
        worker=account.pseudonym,
        answers=account.answers,
        seconds=account.seconds,
        earned=text(account.earned),
        bonuses=text(account.bonuses),
        paid=text(account.paid),
        due=text(account.due),
        hourly=text(account.hourly) if account.hourly is not None else None,
        unconfirmed=account.held,
        currency=currency,
        kinds=tuple(
            KindEarned(
                kind=kind,
                answers=of.answers,
                seconds=of.seconds,
                earned=text(of.earned),
                hourly=text(of.hourly) if of.hourly is not None else None,
            )
            for kind, of in account.kinds.items()
        ),
    )


def _payment(row: Payout, currency: str) -> Payment:
    return Payment(
        number=row.pk,
        worker=row.worker.pseudonym,
        amount=amount_text(row.amount, currency),
        currency=currency,
        reference=row.reference,
        paid_at=row.paid_at,
        paid_by=row.paid_by.get_username() if row.paid_by is not None else None,
        voided_at=row.voided_at,
        void_reason=row.void_reason,
    )


def _paid(campaign: Campaign, payouts: Sequence[Payout]) -> PaidWorkers:
    currency = payments.currency_of(campaign)
    rows = Payout.objects.filter(pk__in=[payout.pk for payout in payouts]).select_related("worker", "paid_by")
    return PaidWorkers(
        payments=tuple(_payment(row, currency) for row in rows.order_by("pk")),
        amount=amount_text(sum(payout.amount for payout in payouts), currency),
        currency=currency,
    )
