"""`manage.py export_proposals CAMPAIGN MACHINE FILE`: the boxes that a machine would draw, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError, campaign_named, machines
from annotation.formats.proposals import write_proposals
from annotation.management.base import ReportCommand
from annotation.selectors.machines.proposals import stored_proposals


class Command(ReportCommand):
    help = (
        "Write the boxes that a machine would draw to a file, as import_proposals and study_cost take them."
    )
    refusals = (CampaignError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("machine")
        parser.add_argument("file", type=Path, metavar="FILE.jsonl")

    def report(self, **options: Any) -> dict[str, Any]:
        machine = machines.machine_named(campaign_named(options["campaign"]), options["machine"])
        images = write_proposals(options["file"], stored_proposals(machine))
        return {"machine": machine.name, "version": machine.version, "images": images}

    def show(self, report: dict[str, Any]) -> str:
        return f"boxes of machine {report['machine']} for {report['images']} images written"
