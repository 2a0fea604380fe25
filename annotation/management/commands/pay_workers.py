"""`manage.py pay_workers CAMPAIGN [--worker W [--amount A]] [--record --reference R] [--csv FILE]`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand, plain_table
from annotation.models import Campaign, Payout
from annotation.protocol.money import payable_amount
from annotation.selectors.campaign.cost import money
from annotation.workers import payments, pseudonyms
from annotation.workers.payments import PaymentError, micros_of
from annotation.workers.pseudonyms import CannotErase

HEADS = ["worker", "answers", "minutes", "earned", "paid", "due", "an hour"]


class Command(ReportCommand):
    help = (
        "Print what workers are due. With --record, note that they were paid: this moves no money. With "
        "--csv, write the ledger of every answer and payout."
    )
    refusals = (CampaignError, PaymentError, CannotErase, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--worker", metavar="W", help="One worker, by pseudonym or account")
        parser.add_argument("--record", action="store_true", help="Note that they were paid")
        parser.add_argument("--amount", metavar="A", help="With --worker and --record: part of what is due")
        parser.add_argument(
            "--reference", default="", help="Reference of the payment; recording it again changes nothing"
        )
        parser.add_argument("--csv", type=Path, metavar="FILE", help="Write the ledger")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        worker = pseudonyms.worker_called(options["worker"]).pk if options["worker"] else None
        if options["amount"] and not (worker and options["record"]):
            raise PaymentError("--amount goes with --worker and --record")
        made = _record(campaign, worker, options) if options["record"] else []
        lines = _write(campaign, options["csv"]) if options["csv"] else None
        return {
            "campaign": campaign.name,
            "currency": payments.currency_of(campaign),
            "payouts": [
                {"worker": payout.worker.pseudonym, "amount": payout.amount, "reference": payout.reference}
                for payout in made
            ],
            "workers": [
                {
                    "worker": account.pseudonym,
                    "answers": account.answers,
                    "seconds": account.seconds,
                    "earned": account.earned,
                    "paid": account.paid,
                    "due": account.due,
                    "hourly": account.hourly,
                    "unconfirmed": account.held,
                    "kinds": {
                        kind: {
                            "answers": of.answers,
                            "seconds": of.seconds,
                            "earned": of.earned,
                            "hourly": of.hourly,
                        }
                        for kind, of in account.kinds.items()
                    },
                }
                for account in payments.due_accounts(campaign=campaign, worker=worker)
            ],
            "ledger": str(options["csv"]) if options["csv"] else None,
            "ledger_lines": lines,
        }

    def show(self, report: dict[str, Any]) -> str:
        currency = report["currency"]
        unsure = any(row["unconfirmed"] for row in report["workers"])
        rows = [
            [
                row["worker"],
                row["answers"],
                f"{row['seconds'] / 60:.1f}",
                money(row["earned"], currency),
                money(row["paid"], currency),
                money(row["due"], currency),
                money(row["hourly"], currency) if row["hourly"] is not None else "-",
                *(["not confirmed" if row["unconfirmed"] else ""] if unsure else []),
            ]
            for row in report["workers"]
        ]
        lines = [plain_table([*HEADS, *([""] if unsure else [])], rows) if rows else "no answers yet"]
        lines += [
            f"paid {money(made['amount'], currency)} to {made['worker']}"
            + (f", reference {made['reference']}" if made["reference"] else "")
            for made in report["payouts"]
        ]
        if report["ledger"]:
            lines.append(f"{report['ledger_lines']} lines of the ledger written to {report['ledger']}")
        due = sum(row["due"] for row in report["workers"] if not row["unconfirmed"])
        lines.append(f"due in all: {money(due, currency)}")
        if held := [row for row in report["workers"] if row["unconfirmed"]]:
            amount = money(sum(row["due"] for row in held), currency)
            lines.append(
                f"left out: {len(held)} whom their platform has not confirmed, with {amount}; see study "
                f"{report['campaign']} --visits"
            )
        return "\n".join(lines)


def _record(campaign: Campaign, worker: int | None, options: dict[str, Any]) -> list[Payout]:
    """Payouts of what is due, or of the amount named."""
    reference, currency = options["reference"], payments.currency_of(campaign)
    if worker is None:
        return payments.pay_everybody(campaign=campaign, reference=reference)
    if options["amount"]:
        amount = micros_of(options["amount"], currency)
    else:
        before = Payout.objects.filter(campaign=campaign, worker=worker, reference=reference)
        repeated = before.first() if reference else None
        accounts = payments.due_accounts(campaign=campaign, worker=worker)
        amount = repeated.amount if repeated else payable_amount(accounts[0].due, currency) if accounts else 0
    return [payments.pay(worker=worker, campaign=campaign, amount=amount, reference=reference)]


def _write(campaign: Campaign, path: Path) -> int:
    """The ledger in a file that is there whole or not at all; how many lines it has."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", dir=path.parent, delete=False
    ) as file:
        try:
            lines = payments.write_ledger(campaign, file)
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
    return lines
