"""`manage.py import_proposals CAMPAIGN MACHINE FILE`: boxes that a machine would draw, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError, campaign_named, machines
from annotation.common.locks import Busy
from annotation.formats.base import FormatError
from annotation.formats.proposals import OutOfPicture, read_proposals
from annotation.management.base import ReportCommand
from annotation.queue import machine_turns, submission
from annotation.selectors.machines.proposals import picture_sizes


class Command(ReportCommand):
    help = (
        "Give a machine its boxes from a file: JSON, an image in each line, as "
        '{"image": KEY, "boxes": {MENTION: [[xmin, ymin, xmax, ymax, chance], ...]}}; then let it answer. '
        "It does not learn by itself from then on; teach_machine replaces these boxes."
    )
    refusals = (Busy, CampaignError, FormatError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("machine")
        parser.add_argument("file", type=Path, metavar="FILE.jsonl")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        machine = machines.machine_named(campaign, options["machine"])
        machines.refuse_busy(machine)
        sizes, out = picture_sizes(campaign), OutOfPicture()
        with machines.lesson(machine) as (version, _folder):
            found = read_proposals(options["file"], size_of=lambda image: sizes.get(image, (0, 0)), out=out)
            images = machines.store_proposals(machine, found, version=version)
            if not images:
                raise CampaignError(f"{options['file']} has no image; the machine is what it was")
            source = f"file {options['file'].name}"
            machines.machine_learnt(machine, images=None, source=source, from_file=True)
        answers = machine_turns.take_turns(campaign, submission.submit)
        return {
            "campaign": campaign.name,
            "machine": machine.name,
            "version": version,
            "images": images,
            "answers": answers,
            "clipped": out.clipped,
            "outside": out.outside,
        }

    def show(self, report: dict[str, Any]) -> str:
        of_file = (
            f"; {report['clipped']} boxes reached out of their picture and were cut, {report['outside']} lay "
            "wholly outside and were left out"
            if report["clipped"] or report["outside"]
            else ""
        )
        return (
            f"machine {report['machine']}, version {report['version']}: boxes for {report['images']} images; "
            f"{report['answers']} questions answered at once{of_file}"
        )
