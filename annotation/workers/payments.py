"""Amounts due to workers, payments to them, and the ledger of both.

Due is what a worker's answers earned plus bonuses, minus what was paid; nobody is paid more than that.
Payments are made elsewhere: a payout records that one was made, under a reference that identifies it; one
that was recorded by mistake is voided, and stays in the ledger. People from a crowd platform are not paid
until it has confirmed who they are. Simulated answers are never paid.
"""

import csv
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import IO

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import invalid
from annotation.models import Account, Assignment, Bonus, Campaign, Identity, Payout, Visit, Worker
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import amount_text, currency_digits, payable_amount, smallest_amount
from annotation.protocol.work import MICROS
from annotation.selectors.campaign.cost import bonuses, hourly, money, paid, units
from annotation.selectors.campaign.sums import earned
from phrasebox.errors import PhraseboxError
from phrasebox.spreadsheets import escape_formula
from phrasebox.text_files import decimal_number

#: Number of lines of the ledger read at once.
LEDGER_LINES_PER_QUERY = 2_000
#: The maximum lengths of a reference and of a reason.
LONGEST_REFERENCE, LONGEST_PAYMENT_REASON = 100, 200
#: The largest accepted amount, in millionths: no payment is that large, and all are stored exactly.
LARGEST_AMOUNT = 10**18
_COLUMNS = ("at", "worker", "entry", "kind", "role", "seconds", "amount", "currency", "reference", "settings")


@dataclass(slots=True)
class KindDue:
    """A worker's answers of one kind: their number, their seconds, and their earnings."""

    answers: int = 0
    seconds: float = 0.0
    earned: int = 0

    @property
    def hourly(self) -> int | None:
        """The earnings per hour of this work, in millionths; None without any time."""
        return hourly(self.earned, self.seconds)


@dataclass(slots=True)
class Due:
    """A worker's account in a campaign, in millionths of its currency. Seconds exclude idle time.

    `held`: the crowd platform has not confirmed who they are, so they are not paid.
    """

    worker: int
    pseudonym: str
    paid: int = 0
    held: bool = False
    bonuses: int = 0
    kinds: dict[str, KindDue] = field(default_factory=dict)

    @property
    def answers(self) -> int:
        """The number of paid answers, of all kinds."""
        return sum(kind.answers for kind in self.kinds.values())

    @property
    def seconds(self) -> float:
        """The seconds of all answers."""
        return sum(kind.seconds for kind in self.kinds.values())

    @property
    def earned(self) -> int:
        """The earnings of all answers, in millionths."""
        return sum(kind.earned for kind in self.kinds.values())

    @property
    def due(self) -> int:
        """The earnings and bonuses not yet paid, in millionths; below 0 if more was paid."""
        return self.earned + self.bonuses - self.paid

    @property
    def hourly(self) -> int | None:
        """The earnings per hour of work; None without any time."""
        return hourly(self.earned, self.seconds)


def currency_of(campaign: Campaign) -> str:
    """Return the currency in which a campaign pays."""
    return settings_of(campaign.settings).pay.currency


def usual_reference(campaign: Campaign) -> str:
    """Return the default reference of a payment made today."""
    return f"{campaign.name}-{database.now():%Y-%m-%d}"[:LONGEST_REFERENCE]


def due_accounts(*, campaign: Campaign, worker: int | None = None) -> list[Due]:
    """Return the account of one worker, or of all with an answer or a bonus, in order of arrival."""
    lines, lines_of_bonuses = earned(campaign, worker=worker), bonuses(campaign, worker=worker)
    concerned = sorted({line.worker for line in lines} | set(lines_of_bonuses))
    names = dict(Worker.objects.filter(pk__in=concerned).values_list("pk", "pseudonym"))
    due = {payee: Due(payee, names[payee], bonuses=lines_of_bonuses.get(payee, 0)) for payee in concerned}
    for line in lines:
        account = due[line.worker]
        kind = account.kinds.setdefault(line.kind, KindDue())
        kind.answers += line.answers
        kind.seconds += line.seconds
        kind.earned += line.pay
    for payee, amount in paid(campaign, worker=worker).items():
        due[payee].paid = amount
    for unsure in unconfirmed(due):
        due[unsure].held = True
    return list(due.values())


def unconfirmed(workers: Iterable[int]) -> set[int]:
    """Return these workers whom their crowd platform has not confirmed, or has identified as others."""
    claims = Visit.objects.filter(identity=OuterRef("pk"), verification__in=(Visit.WAITING, Visit.REFUSED))
    unsure = Identity.objects.filter(Exists(claims), external_id="", worker__in=list(workers))
    return set(unsure.values_list("worker", flat=True))


def unpaid(*, worker: int) -> list[tuple[Campaign, int]]:
    """Return the campaigns that owe this worker a payable amount, with it; none while they are `held`."""
    campaigns = Campaign.objects.filter(trust_states__worker=worker, simulated=False).distinct()
    unpaid_campaigns = [(campaign, due_accounts(campaign=campaign, worker=worker)) for campaign in campaigns]
    return [
        (campaign, accounts[0].due)
        for campaign, accounts in unpaid_campaigns
        if accounts and payable_amount(accounts[0].due, currency_of(campaign)) and not accounts[0].held
    ]


def pay(
    *, worker: int, campaign: Campaign, amount: int, reference: str = "", actor: Account | None = None
) -> Payout:
    """Record that `amount` (millionths) was paid. Repeating it with the same `reference` is the same payment.

    Raises PhraseboxError for more than is due, a used reference, and simulated answers.
    """
    _check_reference(reference)
    with database.writing():
        # Serialised: of two who pay the same worker, the second finds it paid.
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        check_real(row)
        currency = currency_of(campaign)
        before = payouts_in_force(campaign).filter(worker=worker, reference=reference).first()
        if reference and before is not None:
            if before.amount != amount:
                raise PhraseboxError(
                    _(
                        "reference “%(reference)s” is already used for %(before)s paid before, not "
                        "%(amount)s; use another reference"
                    )
                    % {
                        "reference": reference,
                        "before": money(before.amount, currency),
                        "amount": money(amount, currency),
                    }
                )
            return before
        accounts = due_accounts(campaign=campaign, worker=worker)
        if accounts and accounts[0].held:
            raise PhraseboxError(
                _(
                    "worker “%(name)s” cannot be paid: the platform that they came from has not confirmed "
                    "who they are"
                )
                % {"name": accounts[0].pseudonym}
            )
        owed = accounts[0].due if accounts else 0
        if not 0 < amount <= owed:
            raise PhraseboxError(
                _("%(amount)s cannot be paid: %(due)s is due to this worker in campaign “%(campaign)s”")
                % {
                    "amount": money(amount, currency),
                    "due": money(owed, currency),
                    "campaign": campaign.name,
                }
            )
        return _paid_out(
            Payout(campaign=campaign, worker_id=worker, amount=amount, reference=reference, paid_by=actor),
            accounts[0].pseudonym,
        )


def _paid_out(payout: Payout, pseudonym: str) -> Payout:
    """Store a checked payout and its audit entry, which names the worker's `pseudonym`."""
    payout.save()
    record(
        actor=payout.paid_by,
        act="pay_worker",
        campaign=payout.campaign,
        worker=pseudonym,
        amount=payout.amount,
        reference=payout.reference,
    )
    return payout


def pay_all_due(
    *,
    campaign: Campaign,
    reference: str,
    workers: Collection[int] | None = None,
    actor: Account | None = None,
) -> list[Payout]:
    """Record that all workers, or these `workers`, were paid what is due to them, all or none.

    Amounts below the currency's last digit stay due. Workers paid under this `reference` before are skipped,
    so that it may be repeated; so are unconfirmed ones (`Due.held`).
    """
    if not reference:
        raise PhraseboxError(_("Paying several workers needs a reference that identifies the payment."))
    _check_reference(reference)
    with database.writing():
        check_real(Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk))
        currency = currency_of(campaign)
        before = set(payouts_in_force(campaign).filter(reference=reference).values_list("worker", flat=True))
        return [
            _paid_out(
                Payout(
                    campaign=campaign,
                    worker_id=account.worker,
                    amount=payable_amount(account.due, currency),
                    reference=reference,
                    paid_by=actor,
                ),
                account.pseudonym,
            )
            for account in due_accounts(campaign=campaign)
            if payable_amount(account.due, currency)
            and not account.held
            and account.worker not in before
            and (workers is None or account.worker in workers)
        ]


def payouts_in_force(campaign: Campaign) -> QuerySet[Payout]:
    """Return the payouts of a campaign that were not voided."""
    return Payout.objects.filter(campaign=campaign, voided_at__isnull=True)


def void_payout(*, campaign: Campaign, payout: int, reason: str, actor: Account | None = None) -> Payout:
    """Record that a payout was not made: its amount is due again, and its reference is free.

    Voiding it again changes nothing. Raises PhraseboxError without a reason, and if the campaign has no
    such payout.
    """
    reason = checked_reason(reason)
    with database.writing():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        payout_row = Payout.objects.filter(campaign=campaign, pk=payout).select_related("worker").first()
        if payout_row is None:
            raise PhraseboxError(
                _("Campaign “%(name)s” has no payment %(number)d.")
                % {"name": campaign.name, "number": payout}
            )
        if payout_row.voided_at is None:
            payout_row.voided_at, payout_row.voided_by, payout_row.void_reason = database.now(), actor, reason
            payout_row.save(update_fields=["voided_at", "voided_by", "void_reason"])
            record(
                actor=actor,
                act="void_payment",
                campaign=campaign,
                worker=payout_row.worker.pseudonym,
                amount=payout_row.amount,
                reference=payout_row.reference,
                reason=reason,
            )
    return payout_row


def checked_reason(reason: str) -> str:
    """Return a reason without surrounding spaces; raises PhraseboxError if it is empty or too long."""
    reason = " ".join(reason.split())
    if not reason:
        raise PhraseboxError(_("Give a reason: it stays in the history."))
    if len(reason) > LONGEST_PAYMENT_REASON:
        raise PhraseboxError(
            _("A reason has %(most)d characters at most.") % {"most": LONGEST_PAYMENT_REASON}
        )
    return reason


def check_real(campaign: Campaign) -> None:
    """Raise PhraseboxError if a campaign's answers are simulated, since these are not paid."""
    if campaign.simulated:
        raise PhraseboxError(
            _("The answers of campaign “%(name)s” are simulated: nobody is paid for them.")
            % {"name": campaign.name}
        )


def _check_reference(reference: str) -> None:
    if len(reference) > LONGEST_REFERENCE:
        raise PhraseboxError(_("A reference has %(most)d characters at most.") % {"most": LONGEST_REFERENCE})


def micros_of(text: str, currency: str) -> int:
    """Return an amount such as "12.50" in millionths. Raises Invalid, also for too many digits."""
    smallest = smallest_amount(currency)
    try:
        # Decimal accepts 1_000 and digits of other scripts, too.
        exact = Decimal(text if decimal_number(text) is not None else "nan") * MICROS
        if exact.is_finite() and abs(exact) <= LARGEST_AMOUNT and exact % smallest == 0:
            return int(exact)
    except ArithmeticError:
        pass  # not a number, or too large for a decimal
    example = amount_text(12 * MICROS, currency)
    digits = currency_digits(currency)
    raise invalid("amount", "decimal", currency=currency, digits=digits, example=example)


def ledger(campaign: Campaign) -> Iterator[tuple[object, ...]]:
    """Yield every line of the ledger, in the order of COLUMNS: answers by lease, bonuses, payouts.

    Read page by page. Amounts are in units of the currency; payouts are negative, so that a worker's amounts
    add up to what is due. What was voided or withdrawn has a second line that cancels the first.
    """
    currency = currency_of(campaign)
    names = dict(Worker.objects.filter(trust_states__campaign=campaign).values_list("pk", "pseudonym"))
    lines = Assignment.objects.filter(campaign=campaign, state=Assignment.SUBMITTED).order_by("pk")
    after = 0
    while page := list(
        lines.filter(pk__gt=after).values_list(
            "pk", "ended_at", "worker", "kind", "role", "seconds", "pay", "settings_version"
        )[:LEDGER_LINES_PER_QUERY]
    ):
        after = page[-1][0]
        for _number, at, worker, kind, role, seconds, amount, version in page:
            yield (
                _at(at),
                names[worker],
                "answer",
                kind,
                role,
                round(seconds, 3),
                units(amount),
                currency,
                "",
                version,
            )
    bonus_rows = Bonus.objects.filter(campaign=campaign).order_by("pk").select_related("worker")
    for bonus in bonus_rows.iterator(LEDGER_LINES_PER_QUERY):
        who = bonus.worker.pseudonym
        yield _line(bonus.given_at, who, "bonus", bonus.amount, currency, bonus.reason)
        if bonus.withdrawn_at is not None:
            about = bonus.withdrawn_reason
            yield _line(bonus.withdrawn_at, who, "bonus withdrawn", -bonus.amount, currency, about)
    payouts = Payout.objects.filter(campaign=campaign).order_by("pk").select_related("worker")
    for paid_out in payouts.iterator(LEDGER_LINES_PER_QUERY):
        who, reference = paid_out.worker.pseudonym, paid_out.reference
        yield _line(paid_out.paid_at, who, "payout", -paid_out.amount, currency, reference)
        if paid_out.voided_at is not None:
            yield _line(paid_out.voided_at, who, "payout voided", paid_out.amount, currency, reference)


def _line(
    at: datetime, who: str, entry: str, amount: int, currency: str, reference: str
) -> tuple[object, ...]:
    """Return a line that is no answer."""
    return _at(at), who, entry, "", "", "", units(amount), currency, reference, ""


def write_ledger(campaign: Campaign, file: IO[str]) -> int:
    """Write the ledger as CSV for a spreadsheet; return the number of lines without the header."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    count = 0
    for line in ledger(campaign):
        writer.writerow(map(escape_formula, line))
        count += 1
    return count


def _at(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""
