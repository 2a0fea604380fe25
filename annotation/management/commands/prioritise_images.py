"""`manage.py prioritise_images CAMPAIGN --images FILE|NAME ... [--priority N]`: which images come first."""

from __future__ import annotations

from os.path import isfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation import campaigns
from annotation.campaigns import CampaignError, campaign_named, ordering
from annotation.formats.base import FormatError
from annotation.formats.files.text import lines
from annotation.management.base import ReportCommand
from annotation.models import Campaign
from annotation.selectors.image_order import has_image, prioritised


class Command(ReportCommand):
    help = (
        "Ask about some images of a campaign before the others: their tasks are handed out by falling "
        "priority, and in the order of the corpus among equals. Without --images, tell what has a priority."
    )
    refusals = (CampaignError, FormatError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument(
            "--images",
            nargs="+",
            metavar="FILE|NAME",
            help="Images by key or file name, or a text file that names one in each line",
        )
        parser.add_argument(
            "--priority",
            type=int,
            metavar="N",
            help=f"Higher comes first; 0 is the usual turn, below comes last (default {ordering.FIRST})",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        given, priority = options["images"], options["priority"]
        if given is None and priority is not None:
            raise CampaignError("--priority goes with --images: name the images that it is for")
        priority = ordering.FIRST if priority is None else priority
        done = 0
        if given is not None:
            names = [name for each in given for name in _names_in(campaign, each)]
            done = campaigns.prioritise_images(campaign=campaign, images=names, priority=priority)
        return {
            "campaign": campaign.name,
            "changed": done,
            "priority": priority if done else None,
            "priorities": [
                {"priority": each.priority, "images": each.images, "incomplete": each.incomplete}
                for each in prioritised(campaign)
            ],
        }

    def show(self, report: dict[str, Any]) -> str:
        said = []
        if report["changed"]:
            said.append(f"priority {report['priority']} given to images: {report['changed']}")
        said += [
            f"priority {each['priority']}: {each['images']} image{'s'[: each['images'] != 1]}, "
            f"{each['incomplete']} not complete"
            for each in report["priorities"]
        ]
        return "\n".join(said if report["priorities"] else [*said, "all images come in their usual turn"])


def _names_in(campaign: Campaign, given: str) -> list[str]:
    """The names that an argument means: itself where an image is called so, else the lines of a file."""
    if has_image(campaign, given) or not isfile(given):
        return [given]
    return [line for _, line in lines(Path(given))]
