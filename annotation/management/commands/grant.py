"""`manage.py grant USER ROLE [--corpus C | --campaign C] [--revoke]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.common.registry import UnknownName
from annotation.common.roles import ROLES
from annotation.management.base import ReportCommand
from annotation.protocol.campaign_settings import CampaignError
from annotation.selectors.corpora import corpus_named
from annotation.workers.accounts.granting import GrantError, account_named, grant, revoke_role


class Command(ReportCommand):
    help = (
        "Grant an account a role, or revoke it: for a corpus and all that belongs to it, for one campaign, "
        "or, with neither, for the whole server. docs/roles.md says what each role may do."
    )
    refusals = (GrantError, UnknownName, CampaignError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("user", help="The account's name")
        parser.add_argument("role", choices=ROLES)
        scope = parser.add_mutually_exclusive_group()
        scope.add_argument("--corpus", help="For this corpus, its campaigns, runs, batches and reports")
        scope.add_argument("--campaign", help="For this campaign")
        parser.add_argument("--revoke", action="store_true", help="Revoke the role")

    def report(self, **options: Any) -> dict[str, Any]:
        account = account_named(options["user"])
        corpus = corpus_named(options["corpus"]) if options["corpus"] else None
        campaign = campaign_named(options["campaign"]) if options["campaign"] else None
        act = revoke_role if options["revoke"] else grant
        changed = act(account=account, role=options["role"], corpus=corpus, campaign=campaign)
        return {
            "user": account.get_username(),
            "role": options["role"],
            "corpus": options["corpus"],
            "campaign": options["campaign"],
            "revoked": options["revoke"],
            "changed": changed,
        }

    def show(self, report: dict[str, Any]) -> str:
        scope = (
            f"for corpus {report['corpus']}"
            if report["corpus"]
            else f"for campaign {report['campaign']}"
            if report["campaign"]
            else "for the whole server"
        )
        is_now = "is no longer" if report["revoked"] else "is now"
        if not report["changed"]:
            is_now = "was not" if report["revoked"] else "is already"
        return f"{report['user']} {is_now} {report['role']} {scope}"
