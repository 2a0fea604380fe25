"""Cost of a campaign: what answers earned, what was paid, and what is still to come.

A submitted assignment is a line of the ledger: its seconds exclude idle time, and its pay was computed when
the answer arrived. Amounts are millionths of the campaign's currency, as integers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet, Sum
from django.utils.formats import number_format

from annotation.models import Bonus, Campaign, ModelAnnotator, Payout
from annotation.protocol.money import amount_text, rounded_amount
from annotation.protocol.questions import CONTROL, DOUBLE_CHECK
from annotation.protocol.work import MICROS, PaySettings
from annotation.selectors.campaign.sums import Earned, earned, leases_in_hand
from annotation.selectors.campaigns import settings_by_version

#: The role of a test's items, which are not paid.
TEST_ROLE = "qualification"


@dataclass(slots=True)
class KindCost:
    """Answers of one kind by their role; `answers` is the number of people's, `seconds` and `pay` are theirs.

    `model_answers` are the answers of model annotators, which take no time and earn nothing.
    """

    answers: int = 0
    controls: int = 0
    double_checks: int = 0
    tests: int = 0
    model_answers: int = 0
    seconds: float = 0.0
    pay: int = 0


@dataclass(frozen=True, slots=True)
class CampaignCost:
    """Cost so far: earned by people's answers, bonuses, payments, and leases; `hourly` is the pay of an hour
    of answers. Answers of model annotators are only in `KindCost.model_answers`."""

    currency: str
    answers: int
    seconds: float
    earned: int
    paid: int
    in_hand: int
    hourly: int | None
    kinds: dict[str, KindCost] = field(default_factory=dict)
    bonuses: int = 0

    @property
    def due(self) -> int:
        """What was earned or granted and not paid yet, in millionths."""
        return self.earned + self.bonuses - self.paid


def money(micros: int, currency: str) -> str:
    """Return an amount in the format of the language: "12.50 USD", with more digits only if needed."""
    return f"{number_format(amount_text(micros, currency))} {currency}"


def cents(micros: int, currency: str) -> str:
    """Return an amount in the digits of its currency, for tables; the ledger has all digits."""
    return money(rounded_amount(micros, currency), currency)


def units(micros: int) -> str:
    """Return an amount in units of the currency with all its decimals, for files."""
    return f"{Decimal(micros) / MICROS:f}"


def paid(campaign: Campaign, *, worker: int | None = None) -> dict[int, int]:
    """Return payments by worker, without voided ones."""
    return _by_worker(Payout.objects.filter(campaign=campaign, voided_at__isnull=True), worker)


def bonuses(campaign: Campaign, *, worker: int | None = None) -> dict[int, int]:
    """Return bonuses by worker in millionths, without withdrawn ones."""
    return _by_worker(Bonus.objects.filter(campaign=campaign, withdrawn_at__isnull=True), worker)


def _by_worker(rows: QuerySet[Any], worker: int | None) -> dict[int, int]:
    if worker is not None:
        rows = rows.filter(worker=worker)
    return dict(rows.values("worker").annotate(sum=Sum("amount")).values_list("worker", "sum"))


def in_hand(campaign: Campaign, pay: PaySettings, lines: Iterable[Earned] = ()) -> int:
    """Return what leased tasks will earn, each under the version of the settings that it was leased with.

    By the hour, for the average time of their kind. `pay` is the current settings'.
    """
    leases = leases_in_hand(campaign)
    if not leases:
        return 0
    older = any(version != campaign.settings_version for _, _, version in leases)
    pays = (
        {number: settings.pay for number, settings in settings_by_version(campaign).items()} if older else {}
    )
    answers: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for line in lines:
        answers[line.kind] = answers.get(line.kind, 0) + line.answers
        seconds[line.kind] = seconds.get(line.kind, 0.0) + line.seconds
    total = 0
    for (kind, role, version), count in leases.items():
        if role != TEST_ROLE:
            under = pays.get(version, pay)
            took = seconds[kind] / answers[kind] if answers.get(kind) else under.idle_after
            total += count * under.amount(kind, took)
    return total


def spent(campaign: Campaign, pay: PaySettings) -> int:
    """Return the sum of what is earned, granted as bonuses and leased, as of now."""
    lines, _ = _of_people(campaign)
    bonus_total = sum(bonuses(campaign).values())
    return sum(line.pay for line in lines) + bonus_total + in_hand(campaign, pay, lines)


def costs(campaign: Campaign, pay: PaySettings) -> CampaignCost:
    """Return the cost so far, in total and by kind."""
    lines, of_models = _of_people(campaign)
    kinds: dict[str, KindCost] = {}
    for line in lines:
        of = kinds.setdefault(line.kind, KindCost())
        of.answers += line.answers
        of.controls += line.answers if line.role == CONTROL else 0
        of.double_checks += line.answers if line.role == DOUBLE_CHECK else 0
        of.tests += line.answers if line.role == TEST_ROLE else 0
        of.seconds += line.seconds
        of.pay += line.pay
    for line in of_models:
        kinds.setdefault(line.kind, KindCost()).model_answers += line.answers
    total, seconds = sum(line.pay for line in lines), sum(line.seconds for line in lines)
    return CampaignCost(
        currency=pay.currency,
        answers=sum(line.answers for line in lines),
        seconds=seconds,
        earned=total,
        paid=sum(paid(campaign).values()),
        in_hand=in_hand(campaign, pay, lines),
        hourly=hourly(total, seconds),
        kinds=kinds,
        bonuses=sum(bonuses(campaign).values()),
    )


def _of_people(campaign: Campaign) -> tuple[list[Earned], list[Earned]]:
    """Return the lines of people's earnings until now, and those of model annotators, which earn nothing and
    take no time."""
    lines = earned(campaign)
    model_annotators = set(ModelAnnotator.objects.filter(campaign=campaign).values_list("worker", flat=True))
    return [line for line in lines if line.worker not in model_annotators], [
        line for line in lines if line.worker in model_annotators
    ]


def hourly(pay: int, seconds: float) -> int | None:
    """Return the pay of an hour of work; None if no time was measured."""
    return round(pay * 3600 / seconds) if seconds > 0 else None
