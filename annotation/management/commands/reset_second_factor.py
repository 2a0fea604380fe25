"""`manage.py reset_second_factor USER`: for somebody who lost their phone and their recovery codes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from annotation.workers.accounts.granting import GrantError, account_named
from annotation.workers.accounts.second_factor import (
    FactorRefused,
    must_have_second_factor,
    reset_second_factor,
)


class Command(ReportCommand):
    help = (
        "Forget the second factor and the recovery codes of an account: it is signed out everywhere, its "
        "tokens are void, and it signs in by its password. The way back in for an admin whom nobody else "
        "can help."
    )
    refusals = (FactorRefused, GrantError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("user", help="The account's name")

    def report(self, **options: Any) -> dict[str, Any]:
        account = account_named(options["user"])
        reset_second_factor(account=account)
        return {"user": account.get_username(), "must_set_up": must_have_second_factor(account)}

    def show(self, report: dict[str, Any]) -> str:
        then = ", and sets another one up then" if report["must_set_up"] else ""
        return f"{report['user']} has no second factor now: it signs in by its password{then}"
