"""`manage.py deactivate_account USER [--reactivate]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from annotation.workers.accounts.activation import AccountRefused, deactivate_account, reactivate_account
from annotation.workers.accounts.granting import GrantError, account_named


class Command(ReportCommand):
    help = (
        "Let nobody sign in as an account any more: its sessions end at once and its tokens are void; roles, "
        "answers and pay stay. With --reactivate, let it sign in again."
    )
    refusals = (AccountRefused, GrantError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("user", help="The account's name")
        parser.add_argument("--reactivate", action="store_true", help="Let it sign in again")

    def report(self, **options: Any) -> dict[str, Any]:
        account = account_named(options["user"])
        act = reactivate_account if options["reactivate"] else deactivate_account
        return {
            "user": account.get_username(),
            "active": options["reactivate"],
            "changed": act(account=account),
        }

    def show(self, report: dict[str, Any]) -> str:
        stands = "active" if report["active"] else "deactivated"
        return f"{report['user']} is {'now' if report['changed'] else 'already'} {stands}"
