"""`manage.py delete_campaign CAMPAIGN`: take away a campaign that nobody has come to."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation import campaigns
from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand


class Command(ReportCommand):
    help = (
        "Delete a campaign that nobody has joined: no task was assigned, and nobody used an invitation. Its "
        "questions, texts and control items are deleted; its entries in the audit log stay."
    )
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        campaigns.delete_campaign(campaign=campaign)
        return {"campaign": options["campaign"], "deleted": True}

    def show(self, report: dict[str, Any]) -> str:
        return f"campaign {report['campaign']!r} is deleted"
