"""`manage.py delete_campaign CAMPAIGN`: take away a campaign that nobody has come to."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation import campaigns
from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand


class Command(ReportCommand):
    help = (
        "Delete a campaign to which nobody has come: no task was handed out, nobody came by an invitation. "
        "Its questions, texts and known items go; its lines in the audit stay."
    )
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        campaigns.delete(campaign=campaign)
        return {"campaign": options["campaign"], "deleted": True}

    def show(self, report: dict[str, Any]) -> str:
        return f"campaign {report['campaign']!r} is deleted"
