"""Bonuses: amounts due to a worker in addition to the pay for answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, Listing, OperationContext, invalid
from annotation.models import Account, Bonus, Campaign, Worker
from annotation.protocol.money import amount_text
from annotation.selectors.campaign.cost import money
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.workers.choosing import ChosenWorkers, RowNumber, chosen_workers
from annotation.workers.payments import check_real, checked_reason, currency_of, due_accounts, micros_of
from annotation.workers.requests.paying import Reason
from phrasebox.errors import PhraseboxError

#: The highest bonus, in millionths: a larger amount was mistyped.
HIGHEST_BONUS = 100_000 * 1_000_000
#: Within this time, an identical bonus is a form that was submitted twice.
_DUPLICATE_WITHIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusesRequest(CampaignRequest):
    """Bonuses, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusRequest(ChosenWorkers):
    """Each of the workers gets a bonus: it is due from now on, and they see the reason."""

    amount: Annotated[
        str, Field(max_length=20), Help(gettext_lazy("Amount"), gettext_lazy("For each, as 1.50"))
    ]
    reason: Annotated[Reason, Help(gettext_lazy("What for"), gettext_lazy("The worker sees it"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawBonusRequest(CampaignRequest):
    """An unpaid bonus is no longer due."""

    bonus: Annotated[RowNumber, Help(gettext_lazy("Bonus"), gettext_lazy("Its number"))]
    reason: Annotated[Reason, Help(gettext_lazy("Why"), gettext_lazy("It stays in the history"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusSummary:
    """A bonus, which is due with everything else until it is paid."""

    number: int
    worker: str
    amount: str
    currency: str
    reason: str
    given_at: datetime
    given_by: str | None
    withdrawn_at: datetime | None
    withdrawn_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBonuses:
    """The bonuses that were given now."""

    bonuses: tuple[BonusSummary, ...]


def list_bonuses(request: BonusesRequest, context: OperationContext) -> Listing:
    """Return the bonuses of a campaign."""
    campaign = request.row()
    rows = Bonus.objects.filter(campaign=campaign).select_related("worker", "given_by")
    return Listing(rows, "-pk", partial(_bonus_summary, currency=currency_of(campaign)))


def give_bonuses(request: BonusRequest, context: OperationContext) -> NewBonuses:
    """Give bonuses. Raises PhraseboxError, and Invalid for an invalid amount."""
    campaign = request.row()
    workers, currency = chosen_workers(request, campaign), currency_of(campaign)
    bonuses = give_bonus(
        campaign=campaign,
        workers=list(workers.values()),
        amount=micros_of(request.amount, currency),
        reason=request.reason,
        actor=context.actor,
    )
    rows = Bonus.objects.filter(pk__in=[bonus.pk for bonus in bonuses]).select_related("worker", "given_by")
    return NewBonuses(bonuses=tuple(_bonus_summary(row, currency) for row in rows.order_by("pk")))


def take_bonus_back(request: WithdrawBonusRequest, context: OperationContext) -> BonusSummary:
    """Withdraw a bonus. Raises Invalid if the campaign has no such bonus, and PaymentError."""
    campaign = request.row()
    if not Bonus.objects.filter(campaign=campaign, pk=request.bonus).exists():
        raise invalid("bonus", "unknown", kind=_("bonus"), value=request.bonus)
    row = withdraw_bonus(campaign=campaign, bonus=request.bonus, reason=request.reason, actor=context.actor)
    return _bonus_summary(row, currency_of(campaign))


def _bonus_summary(row: Bonus, currency: str) -> BonusSummary:
    return BonusSummary(
        number=row.pk,
        worker=row.worker.pseudonym,
        amount=amount_text(row.amount, currency),
        currency=currency,
        reason=row.reason,
        given_at=row.given_at,
        given_by=row.given_by.get_username() if row.given_by is not None else None,
        withdrawn_at=row.withdrawn_at,
        withdrawn_reason=row.withdrawn_reason,
    )


def give_bonus(
    *, campaign: Campaign, workers: Sequence[int], amount: int, reason: str, actor: Account | None = None
) -> list[Bonus]:
    """Give each of these workers a bonus of `amount` millionths, all or none, due from now on.

    Raises PhraseboxError for an invalid amount, without a reason, for model annotators, if answers are
    simulated, and if the actor gave one of them the same a moment ago.
    """
    reason = checked_reason(reason)
    currency = currency_of(campaign)
    if not 0 < amount <= HIGHEST_BONUS:
        raise PhraseboxError(
            _("%(amount)s is no bonus: expected more than 0, and %(most)s at most.")
            % {"amount": money(amount, currency), "most": money(HIGHEST_BONUS, currency)}
        )
    with database.writing():
        check_real(Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk))
        # Erasing a worker waits for the campaign, too: nothing can be due to an erased worker.
        rows = Worker.objects.filter(
            pk__in=workers, trust_states__campaign=campaign, erased_at=None
        ).distinct()
        rows_of = {row.pk: row for row in rows}
        for worker in workers:
            if worker not in rows_of or rows_of[worker].kind == Worker.MODEL:
                raise PhraseboxError(_("Bonuses are for people who work on this campaign."))
        recent_bonuses = Bonus.objects.filter(campaign=campaign, worker__in=workers, withdrawn_at=None)
        recent_bonuses = recent_bonuses.filter(
            given_by=actor, given_at__gt=database.now() - _DUPLICATE_WITHIN
        )
        if recent_bonuses.filter(amount=amount, reason=reason).exists():
            raise PhraseboxError(
                _(
                    "You gave this bonus a moment ago: it is in the list. Give another reason for a second "
                    "one."
                )
            )
        bonuses = [
            Bonus.objects.create(
                campaign=campaign, worker_id=worker, amount=amount, reason=reason, given_by=actor
            )
            for worker in workers
        ]
        for bonus in bonuses:
            record(
                actor=actor,
                act="give_bonus",
                campaign=campaign,
                worker=rows_of[bonus.worker_id].pseudonym,
                amount=amount,
                reason=reason,
            )
    return bonuses


def withdraw_bonus(*, campaign: Campaign, bonus: int, reason: str, actor: Account | None = None) -> Bonus:
    """Withdraw an unpaid bonus, by its number. Withdrawing it again changes nothing.

    Raises PhraseboxError if it has been paid, without a reason, and if the campaign has no such bonus.
    """
    reason = checked_reason(reason)
    with database.writing():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        bonus_row = Bonus.objects.filter(campaign=campaign, pk=bonus).select_related("worker").first()
        if bonus_row is None:
            raise PhraseboxError(
                _("Campaign “%(name)s” has no bonus %(number)d.") % {"name": campaign.name, "number": bonus}
            )
        if bonus_row.withdrawn_at is not None:
            return bonus_row
        (account,) = due_accounts(campaign=campaign, worker=bonus_row.worker_id)
        if account.due < bonus_row.amount:
            raise PhraseboxError(_("This bonus has been paid: void the payment first, if it was not made."))
        bonus_row.withdrawn_at, bonus_row.withdrawn_by = database.now(), actor
        bonus_row.withdrawn_reason = reason
        bonus_row.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
        record(
            actor=actor,
            act="withdraw_bonus",
            campaign=campaign,
            worker=bonus_row.worker.pseudonym,
            amount=bonus_row.amount,
            reason=reason,
        )
    return bonus_row
