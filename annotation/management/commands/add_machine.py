"""`manage.py add_machine CAMPAIGN NAME`: a machine that draws boxes, under people's verdicts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError, campaign_named, machines
from annotation.management.base import ReportCommand
from annotation.protocol.campaign_settings import settings_of


class Command(ReportCommand):
    help = (
        "Make a machine of a campaign: a worker that nobody signs in as. It proposes boxes on the share of "
        "images that the campaign sets (machine.share), once it has learnt; people accept or refuse them."
    )
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("name", help="At most 30 letters, digits, hyphens or underscores")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        machine = machines.machine_add(campaign=campaign, name=options["name"])
        return {
            "campaign": campaign.name,
            "machine": machine.name,
            "worker": machine.worker.pseudonym,
            "share": settings_of(campaign.settings).machine.share,
        }

    def show(self, report: dict[str, Any]) -> str:
        said = f"machine {report['machine']} of campaign {report['campaign']} works as {report['worker']}"
        if not report["share"]:
            return (
                f"{said}; it proposes nothing yet: change_settings {report['campaign']} "
                "--set machine.share=1.0"
            )
        return f"{said}, on {report['share']:.0%} of the images, once it has learnt"
