"""A worker's earnings by campaign: amount due, payments, and bonuses."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Sum

from annotation.common.operations import Listing, OperationContext
from annotation.common.roles import WHOLE_SERVER, Scope
from annotation.models import AnswerReview, Assignment, Bonus, Payout, Worker
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import amount_text
from annotation.selectors.campaign.cost import TEST_ROLE
from annotation.selectors.corpora import campaigns_in
from annotation.selectors.workers.own_data import worker_behind


@dataclass(frozen=True, slots=True)
class PaidLine:
    """A payment: time, amount (in millionths), and reference."""

    at: datetime
    amount: int
    reference: str


@dataclass(frozen=True, slots=True)
class BonusLine:
    """A bonus: time, amount (in millionths), and reason."""

    at: datetime
    amount: int
    reason: str


@dataclass(slots=True)
class Earnings:
    """A worker's account in one campaign, in millionths of its currency. Items of tests are no answers;
    `withheld` was the pay of rejected answers that are not paid."""

    campaign: str
    currency: str
    answers: int = 0
    seconds: float = 0.0
    earned: int = 0
    withheld: int = 0
    bonuses: list[BonusLine] = field(default_factory=list)
    payments: list[PaidLine] = field(default_factory=list)

    @property
    def bonus_total(self) -> int:
        """Sum of all bonuses."""
        return sum(bonus.amount for bonus in self.bonuses)

    @property
    def paid(self) -> int:
        """Sum of all payments."""
        return sum(payment.amount for payment in self.payments)

    @property
    def due(self) -> int:
        """What was earned or granted and is not paid yet."""
        return self.earned + self.bonus_total - self.paid

    @property
    def is_paid_work(self) -> bool:
        """Whether any money is involved."""
        return bool(self.earned or self.withheld or self.bonuses or self.payments)


def earnings_of(worker: Worker, *, scope: Scope = WHOLE_SERVER) -> list[Earnings]:
    """Return a worker's accounts within `scope`, by the names of their campaigns; five queries.

    Voided payments and withdrawn bonuses are excluded.
    """
    sums = Assignment.objects.filter(worker=worker, state=Assignment.SUBMITTED).order_by()
    rows = list(sums.values("campaign", "role").annotate(n=Count("pk"), s=Sum("seconds"), p=Sum("pay")))
    bonuses, payments = defaultdict[int, list[BonusLine]](list), defaultdict[int, list[PaidLine]](list)
    for bonus in Bonus.objects.filter(worker=worker, withdrawn_at__isnull=True).order_by("-pk"):
        bonuses[bonus.campaign_id].append(BonusLine(bonus.given_at, bonus.amount, bonus.reason))
    for payout in Payout.objects.filter(worker=worker, voided_at__isnull=True).order_by("-pk"):
        payments[payout.campaign_id].append(PaidLine(payout.paid_at, payout.amount, payout.reference))
    concerned = {row["campaign"] for row in rows} | set(bonuses) | set(payments)
    earnings = {
        campaign.pk: Earnings(
            campaign.name,
            settings_of(campaign.settings).pay.currency,
            bonuses=bonuses[campaign.pk],
            payments=payments[campaign.pk],
        )
        for campaign in campaigns_in(scope).filter(pk__in=concerned).order_by("name")
    }
    for row in rows:
        of_campaign = earnings.get(row["campaign"])
        if of_campaign is None:
            continue
        of_campaign.earned += row["p"]
        of_campaign.seconds += row["s"]
        of_campaign.answers += row["n"] if row["role"] != TEST_ROLE else 0
    withheld = AnswerReview.objects.filter(judgment__worker=worker, withheld__gt=0)
    for campaign, amount in withheld.values_list("judgment__campaign").annotate(Sum("withheld")):
        if campaign in earnings:
            earnings[campaign].withheld = amount
    return list(earnings.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class EarningsRequest:
    """What you earned, what is due and what was paid, by campaign; with a token for a corpus or a campaign,
    only there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedBonus:
    """A bonus for you, and its reason."""

    at: datetime
    amount: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedPayment:
    """A payment to you."""

    at: datetime
    amount: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEarnings:
    """Your account in one campaign; amounts are decimal numbers of its currency. `withheld` was the pay of
    rejected answers that are not paid."""

    campaign: str
    currency: str
    answers: int
    seconds: float
    earned: str
    withheld: str
    bonuses: tuple[ReceivedBonus, ...]
    payments: tuple[ReceivedPayment, ...]
    paid: str
    due: str


def list_earnings(request: EarningsRequest, context: OperationContext) -> Listing:
    """Return the accounts of the caller."""
    worker = worker_behind(context.actor)
    rows = earnings_of(worker, scope=context.actor.limit) if worker is not None else []
    return Listing(rows, lambda row: row.campaign, _in_texts)


def _in_texts(row: Earnings) -> CampaignEarnings:
    def text(amount: int) -> str:
        return amount_text(amount, row.currency)

    return CampaignEarnings(
        campaign=row.campaign,
        currency=row.currency,
        answers=row.answers,
        seconds=row.seconds,
        earned=text(row.earned),
        withheld=text(row.withheld),
        bonuses=tuple(
            ReceivedBonus(at=line.at, amount=text(line.amount), reason=line.reason) for line in row.bonuses
        ),
        payments=tuple(
            ReceivedPayment(at=line.at, amount=text(line.amount), reference=line.reference)
            for line in row.payments
        ),
        paid=text(row.paid),
        due=text(row.due),
    )
