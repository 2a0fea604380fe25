"""`manage.py invite CAMPAIGN`: make a link that invites, list those there are, or take one back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.urls import reverse

from annotation.campaigns import CampaignError, campaign_named
from annotation.common import database
from annotation.common.plain_text import plain_table
from annotation.management.base import ReportCommand
from annotation.models import Invitation
from annotation.workers import invitations
from annotation.workers.invitations import InvitationError


class Command(ReportCommand):
    help = (
        "Create a link by which people become workers of a campaign: whoever opens it agrees to the consent "
        "text and gets an account with a pseudonym. With --list, print the existing links; with --revoke "
        "NUMBER, revoke one."
    )
    refusals = (CampaignError, InvitationError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--label", default="", help="For whom it is; they do not see it")
        parser.add_argument("--uses", type=int, help="How many people may use it (default: any number)")
        parser.add_argument("--days", type=float, help="Days until it expires (default: never)")
        parser.add_argument(
            "--language", default="", help="Language of the pages, e.g. de (default: the browser's)"
        )
        parser.add_argument(
            "--site", default="", help="Start of the addresses, e.g. https://phrasebox.example"
        )
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--list", action="store_true", help="Print the existing links")
        act.add_argument("--revoke", type=int, metavar="NUMBER", help="Revoke this one")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        site = options["site"].rstrip("/")
        if options["revoke"] is not None:
            found = campaign.invitations.filter(pk=options["revoke"]).first()
            if found is None:
                raise InvitationError(
                    f"campaign {campaign.name!r} has no invitation {options['revoke']}; see --list"
                )
            invitations.revoke_invitation(invitation=found)
            found.refresh_from_db()
            made = [found]
        elif options["list"]:
            made = list(campaign.invitations.order_by("pk"))
        else:
            days = options["days"]
            made = [
                invitations.make_invitation(
                    campaign=campaign,
                    label=options["label"],
                    uses=options["uses"],
                    expires_at=database.now() + timedelta(days=days) if days is not None else None,
                    language=options["language"],
                )
            ]
        return {"campaign": campaign.name, "invitations": [_told(row, site) for row in made]}

    def show(self, report: dict[str, Any]) -> str:
        rows = [
            [
                one["number"],
                one["label"] or "-",
                one["came"],
                one["at_most"] or "any",
                one["over"] or one["link"],
            ]
            for one in report["invitations"]
        ]
        return (
            plain_table(["no.", "for", "came", "at most", "link"], rows)
            if rows
            else f"campaign {report['campaign']!r} has no invitations"
        )


def _told(row: Invitation, site: str) -> dict[str, Any]:
    return {
        "number": row.pk,
        "label": row.label,
        "came": row.used,
        "at_most": row.uses,
        "expires": row.expires_at.isoformat() if row.expires_at else None,
        "language": row.language,
        "over": invitations.why_over(row),
        "link": site + reverse("invite", args=[invitations.invitation_token(row)]),
    }
