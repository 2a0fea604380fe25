"""What workers are due, what they were paid, and the ledger of both.

Due is what a worker's answers earned, less what was paid out; nobody is paid more than that. How
they are paid is somebody else's affair: a payout records that it was done, under a reference by
which the same payment is known again. Who came from a crowd platform that has not confirmed who they are
is not paid until it has.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import IO

from django.db.models import Exists, OuterRef

from annotation.audit import record
from annotation.common import database
from annotation.common.spreadsheets import escape_formula
from annotation.models import Account, Assignment, Campaign, Identity, Payout, Visit, Worker
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.work import MICROS
from annotation.selectors.campaign.cost import hourly, money, paid
from annotation.selectors.campaign.sums import earned

#: Lines of the ledger read at once.
LEDGER_LINES_PER_QUERY = 2_000
_COLUMNS = ("at", "worker", "entry", "kind", "role", "seconds", "amount", "currency", "reference", "settings")


class PaymentError(ValueError):
    """A payment that cannot be; one line with the remedy."""


@dataclass(slots=True)
class KindDue:
    """A worker's answers of one kind: how many, in how many seconds, and what they earned."""

    answers: int = 0
    seconds: float = 0.0
    earned: int = 0

    @property
    def hourly(self) -> int | None:
        """What an hour of this work earned, in millionths; None where no time was taken."""
        return hourly(self.earned, self.seconds)


@dataclass(slots=True)
class Due:
    """A worker's account in a campaign, in millionths of its currency. Seconds are idle-trimmed.

    `held`: the crowd platform has not confirmed who they are, so that they are not paid.
    """

    worker: int
    pseudonym: str
    paid: int = 0
    held: bool = False
    kinds: dict[str, KindDue] = field(default_factory=dict)

    @property
    def answers(self) -> int:
        """How many answers are paid, of all kinds."""
        return sum(kind.answers for kind in self.kinds.values())

    @property
    def seconds(self) -> float:
        """The seconds that all answers took."""
        return sum(kind.seconds for kind in self.kinds.values())

    @property
    def earned(self) -> int:
        """What all answers earned, in millionths."""
        return sum(kind.earned for kind in self.kinds.values())

    @property
    def due(self) -> int:
        """What was earned and is not paid yet, in millionths; below 0 where more was paid."""
        return self.earned - self.paid

    @property
    def hourly(self) -> int | None:
        """What an hour of work earned; None where no time was counted."""
        return hourly(self.earned, self.seconds)


def currency_of(campaign: Campaign) -> str:
    """The currency in which a campaign pays."""
    return settings_of(campaign.settings).pay.currency


def due_accounts(*, campaign: Campaign, worker: int | None = None) -> list[Due]:
    """The account of one worker, or of all who answered anything, in the order in which they came."""
    found: dict[int, Due] = {}
    lines = earned(campaign, worker=worker)
    names = dict(Worker.objects.filter(pk__in={line.worker for line in lines}).values_list("pk", "pseudonym"))
    for line in lines:
        account = found.setdefault(line.worker, Due(line.worker, names[line.worker]))
        kind = account.kinds.setdefault(line.kind, KindDue())
        kind.answers += line.answers
        kind.seconds += line.seconds
        kind.earned += line.pay
    for payee, amount in paid(campaign, worker=worker).items():
        found[payee].paid = amount
    for unsure in unconfirmed(found):
        found[unsure].held = True
    return list(found.values())


def unconfirmed(workers: Iterable[int]) -> set[int]:
    """Those of these workers who came from a crowd platform that has not confirmed who they are, or that
    says that they are somebody else."""
    claims = Visit.objects.filter(identity=OuterRef("pk"), verification__in=(Visit.WAITING, Visit.REFUSED))
    unsure = Identity.objects.filter(Exists(claims), external_id="", worker__in=list(workers))
    return set(unsure.values_list("worker", flat=True))


def unpaid(*, worker: int) -> list[tuple[Campaign, int]]:
    """The campaigns that owe this worker something, with the amounts; none yet where they are `held`."""
    campaigns = Campaign.objects.filter(standings__worker=worker).distinct()
    found = [(campaign, due_accounts(campaign=campaign, worker=worker)) for campaign in campaigns]
    return [
        (campaign, accounts[0].due)
        for campaign, accounts in found
        if accounts and accounts[0].due and not accounts[0].held
    ]


def pay(
    *, worker: int, campaign: Campaign, amount: int, reference: str = "", actor: Account | None = None
) -> Payout:
    """Record that `amount` (millionths) was paid. The same `reference` again is the same payment.

    Raises PaymentError on more than is due, and on a reference that stands for another amount.
    """
    with database.writing():
        # One at a time: of two who pay the same worker, the second finds it paid.
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        currency = currency_of(campaign)
        before = Payout.objects.filter(campaign=campaign, worker=worker, reference=reference).first()
        if reference and before is not None:
            if before.amount != amount:
                raise PaymentError(
                    f"reference {reference!r} is already used for {money(before.amount, currency)} paid "
                    f"before, not "
                    f"{money(amount, currency)}; use another reference"
                )
            return before
        accounts = due_accounts(campaign=campaign, worker=worker)
        if accounts and accounts[0].held:
            raise PaymentError(
                f"worker {accounts[0].pseudonym!r} cannot be paid: the platform that they came from has not "
                f"confirmed who they are; see study {campaign.name} --visits"
            )
        owed = accounts[0].due if accounts else 0
        if not 0 < amount <= owed:
            raise PaymentError(
                f"{money(amount, currency)} cannot be paid: {money(owed, currency)} is due to this worker in "
                f"campaign {campaign.name!r}"
            )
        payout = Payout.objects.create(
            campaign=campaign, worker_id=worker, amount=amount, reference=reference, paid_by=actor
        )
        record(
            actor=actor,
            act="pay_worker",
            campaign=campaign,
            worker=worker,
            amount=amount,
            reference=reference,
        )
    return payout


def pay_everybody(*, campaign: Campaign, reference: str, actor: Account | None = None) -> list[Payout]:
    """Record that everybody was paid what they were due, all or none.

    Whoever was paid under this `reference` before is passed over, so that it may be done again; so is who is
    not confirmed (`Due.held`).
    """
    if not reference:
        raise PaymentError("paying everybody needs a reference that identifies the payment")
    with database.writing():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        before = set(
            Payout.objects.filter(campaign=campaign, reference=reference).values_list("worker", flat=True)
        )
        return [
            pay(
                worker=account.worker, campaign=campaign, amount=account.due, reference=reference, actor=actor
            )
            for account in due_accounts(campaign=campaign)
            if account.due and not account.held and account.worker not in before
        ]


def micros_of(text: str) -> int:
    """An amount as people write it, in millionths: "12.50". Raises PaymentError."""
    try:
        exact = Decimal(text) * MICROS
        if exact.is_finite() and exact == exact.to_integral_value():
            return int(exact)
    except InvalidOperation:
        pass
    raise PaymentError(f"amount {text!r}: expected a number with at most six decimals, e.g. 12.50")


def ledger(campaign: Campaign) -> Iterator[tuple[object, ...]]:
    """Every line of the ledger, as COLUMNS: answers in the order of their leases, then payouts.

    Read page by page. Amounts are in units of the currency; payouts are negative, so that the
    amounts of a worker add up to what is due.
    """
    currency = currency_of(campaign)
    names = dict(Worker.objects.filter(standings__campaign=campaign).values_list("pk", "pseudonym"))
    lines = Assignment.objects.filter(campaign=campaign, state=Assignment.SUBMITTED).order_by("pk")
    after = 0
    while page := list(
        lines.filter(pk__gt=after).values_list(
            "pk", "ended_at", "worker", "kind", "role", "seconds", "pay", "settings_version"
        )[:LEDGER_LINES_PER_QUERY]
    ):
        after = page[-1][0]
        for _, at, worker, kind, role, seconds, amount, version in page:
            yield (
                _at(at),
                names[worker],
                "answer",
                kind,
                role,
                round(seconds, 3),
                _units(amount),
                currency,
                "",
                version,
            )
    payouts = Payout.objects.filter(campaign=campaign).order_by("pk").select_related("worker")
    for paid_out in payouts.iterator(LEDGER_LINES_PER_QUERY):
        who, sum_paid = paid_out.worker.pseudonym, _units(-paid_out.amount)
        yield _at(paid_out.paid_at), who, "payout", "", "", "", sum_paid, currency, paid_out.reference, ""


def write_ledger(campaign: Campaign, file: IO[str]) -> int:
    """Write the ledger as CSV for a spreadsheet; how many lines there are below the heads."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    count = 0
    for line in ledger(campaign):
        writer.writerow(map(escape_formula, line))
        count += 1
    return count


def _at(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""


def _units(micros: int) -> str:
    return f"{Decimal(micros) / MICROS:f}"
