"""What commands print of payments, and what pages say of them."""

from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.common.operations import Listing
from annotation.common.plain_text import text_table
from annotation.workers.bonuses import NewBonuses
from annotation.workers.requests.paying import PaidWorkers, Payment, WorkerDue

_HEADS = ["worker", "answers", "minutes", "earned", "bonuses", "paid", "due", "an hour", ""]


def dues_text(listing: Listing) -> str:
    """What each worker is due, and all of them."""
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
    """Who was paid, and how much."""
    lines = [f"paid {payment.amount} {payment.currency} to {payment.worker}" for payment in result.payments]
    return "\n".join([*lines, f"{result.amount} {result.currency} to {len(lines)} workers"])


def paid_message(result: PaidWorkers) -> str:
    """What was recorded, in a sentence."""
    if not result.payments:
        return _("Nothing was due to them, or it was recorded under this reference before.")
    message = ngettext(
        "Recorded: %(amount)s paid to %(n)d worker.",
        "Recorded: %(amount)s paid to %(n)d workers.",
        len(result.payments),
    )
    return message % {"amount": _money(result.amount, result.currency), "n": len(result.payments)}


def voided_message(result: Payment) -> str:
    """That a payment is due again."""
    amount = _money(result.amount, result.currency)
    return _("Payment of %(amount)s voided: it is due again.") % {"amount": amount}


def bonus_message(result: NewBonuses) -> str:
    """Who was given a bonus."""
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
