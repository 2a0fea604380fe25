"""`manage.py learn_links CAMPAIGN [--corpus C] [--layer L]`: ask about likely links first."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation import campaigns
from annotation.campaigns import CampaignError, campaign_named
from annotation.campaigns.savings import learn_links
from annotation.common.registry import UnknownName
from annotation.management.base import ReportCommand


class Command(ReportCommand):
    help = (
        "Count from a campaign's finished images, or from a layer with chains, how likely two phrases refer "
        "to the same thing, and compare a phrase with likely chains first: the settings order and "
        "saving.link_chances. Once somebody has worked, this holds for images that are not open yet."
    )
    refusals = (CampaignError, UnknownName)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--corpus", help="Learn from a layer of this corpus instead")
        parser.add_argument("--layer", help="Learn from this layer (default with --corpus: gold, or import)")
        parser.add_argument(
            "--if-version", type=int, metavar="N", help="Only if version N of the settings is in force"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        learnt = learn_links(
            campaign=campaign, corpus=options["corpus"], layer=options["layer"], seen=options["if_version"]
        )
        return {
            "campaign": campaign.name,
            "images": learnt.images,
            "pairs": learnt.pairs,
            "version": learnt.change.version,
            "changed": [asdict(each) for each in learnt.change.differences],
            "reopened": learnt.change.reopened,
        }

    def show(self, report: dict[str, Any]) -> str:
        learnt = f"learnt from {report['images']} images: {report['pairs']} pairs of head nouns"
        if not report["changed"]:
            return f"{learnt}; the settings are the same as before"
        when = campaigns.WHEN[report["changed"][0]["when"]]
        reopened = f" ({report['reopened']} images)" if report["reopened"] else ""
        return f"{learnt}; version {report['version']} of the settings holds {when}{reopened}"
