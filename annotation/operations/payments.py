"""Operations on payments: amounts due, payments, bonuses, lists for crowd platforms."""

from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Listing, Rest, register
from annotation.common.plain_text import text_table
from annotation.common.roles import RESEARCHER
from annotation.workers import approvals, bonuses
from annotation.workers.bonuses import NewBonuses
from annotation.workers.requests import paying
from annotation.workers.requests.paying import PaidWorkers, Payment, WorkerDue

_HEADS = ["worker", "answers", "minutes", "earned", "bonuses", "paid", "due", "an hour", ""]


def dues_text(listing: Listing) -> str:
    """Return each worker's amount due, and the total."""
    dues: list[WorkerDue] = [listing.result(row) for row in listing.rows]
    if not dues:
        return "no answers yet"
    currency = dues[0].currency
    rows = [
        [
            *(due.worker, due.answers, f"{due.seconds / 60:.1f}", due.earned, due.bonuses, due.paid, due.due),
            *(due.hourly or "-", "not confirmed" if due.unconfirmed else ""),
        ]
        for due in dues
    ]
    held = [Decimal(due.due) for due in dues if due.unconfirmed]
    lines = [text_table(_HEADS, rows)]
    lines.append(f"due in all: {sum(Decimal(due.due) for due in dues) - sum(held)} {currency}")
    if held:
        lines.append(
            f"left out: {len(held)} whom their platform has not confirmed, with {sum(held)} {currency}"
        )
    return "\n".join(lines)


def paid_text(result: PaidWorkers) -> str:
    """Return who was paid, and how much."""
    lines = [f"paid {payment.amount} {payment.currency} to {payment.worker}" for payment in result.payments]
    return "\n".join([*lines, f"{result.amount} {result.currency} to {len(lines)} workers"])


def paid_message(result: PaidWorkers) -> str:
    """Return the recorded payments, in a sentence."""
    if not result.payments:
        return gettext("Nothing was due to them, or it was recorded under this reference before.")
    message = ngettext(
        "Recorded: %(amount)s paid to %(n)d worker.",
        "Recorded: %(amount)s paid to %(n)d workers.",
        len(result.payments),
    )
    return message % {"amount": _money(result.amount, result.currency), "n": len(result.payments)}


def voided_message(result: Payment) -> str:
    """Return the message that a payment is due again."""
    amount = _money(result.amount, result.currency)
    return gettext("Payment of %(amount)s voided: it is due again.") % {"amount": amount}


def bonus_message(result: NewBonuses) -> str:
    """Return who got a bonus."""
    bonuses = result.bonuses
    message = ngettext(
        "Bonus of %(amount)s given to %(n)d worker: it is due from now on.",
        "Bonus of %(amount)s given to each of %(n)d workers: it is due from now on.",
        len(bonuses),
    )
    amount = _money(bonuses[0].amount, bonuses[0].currency) if bonuses else ""
    return message % {"amount": amount, "n": len(bonuses)}


def _money(amount: str, currency: str) -> str:
    return f"{number_format(amount)} {currency}"


_ON_CAMPAIGN = Has((RESEARCHER,), on="campaign")
_TAG = "payments"
_PATH = "campaigns/<slug:campaign>"

register(
    title=_("List the amounts due to workers"),
    result=paying.WorkerDue,
    permission=_ON_CAMPAIGN,
    run=paying.list_dues,
    rest=Rest("GET", f"{_PATH}/dues", _TAG),
    command=CommandLine(text=dues_text),
)
register(
    title=_("List payments"),
    result=paying.Payment,
    permission=_ON_CAMPAIGN,
    run=paying.list_payments,
    rest=Rest("GET", f"{_PATH}/payments", _TAG, route="payments"),
)
register(
    title=_("Record that workers were paid"),
    permission=_ON_CAMPAIGN,
    run=paying.pay_workers,
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/payments",
        _TAG,
        route="payments",
        example={"reference": "2027-03", "workers": ["calm-otter-17"]},
    ),
    command=CommandLine(text=paid_text),
    page=FormPage(done=paid_message),
)
register(
    title=_("Record that a worker was paid"),
    permission=_ON_CAMPAIGN,
    run=paying.pay_worker,
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/workers/<str:worker>/payments",
        _TAG,
        example={"reference": "2027-03", "amount": "12.50"},
    ),
    command=CommandLine(text=paid_text),
    page=FormPage(done=paid_message),
)
register(
    title=_("Void a payment"),
    permission=_ON_CAMPAIGN,
    run=paying.void_payment,
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/payments/<int:payment>/void",
        _TAG,
        example={"reason": "The bank sent it back."},
    ),
    page=FormPage(done=voided_message),
)
register(
    title=_("List bonuses"),
    result=bonuses.BonusSummary,
    permission=_ON_CAMPAIGN,
    run=bonuses.list_bonuses,
    rest=Rest("GET", f"{_PATH}/bonuses", _TAG, route="bonuses"),
)
register(
    name="give_bonus",
    title=_("Give workers a bonus"),
    permission=_ON_CAMPAIGN,
    run=bonuses.give_bonuses,
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/bonuses",
        _TAG,
        route="bonuses",
        example={"workers": ["calm-otter-17"], "amount": "1.50", "reason": "Patience with the pilot"},
    ),
    page=FormPage(done=bonus_message),
)
register(
    name="withdraw_bonus",
    title=_("Withdraw a bonus"),
    permission=_ON_CAMPAIGN,
    run=bonuses.take_bonus_back,
    confirms=True,
    rest=Rest(
        "POST",
        f"{_PATH}/bonuses/<int:bonus>/withdraw",
        _TAG,
        example={"reason": "Given to the wrong worker."},
    ),
    page=FormPage(done=_("Bonus withdrawn.")),
)
register(
    title=_("Export the ledger"),
    result=File("text/csv", replaces=True),
    permission=_ON_CAMPAIGN,
    run=paying.export_ledger,
    rest=Rest("GET", f"{_PATH}/ledger.csv", _TAG, route="ledger"),
    page=FormPage(),
)
register(
    title=_("Export a list for a crowd platform"),
    result=File("text/csv"),
    permission=_ON_CAMPAIGN,
    run=approvals.export_platform_list,
    rest=Rest(
        "POST",
        f"{_PATH}/platform-list",
        _TAG,
        example={"platform": "prolific", "list": "submissions"},
    ),
    command=CommandLine(positional=("campaign", "platform", "list")),
    page=FormPage(),
)
