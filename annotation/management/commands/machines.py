"""`manage.py machines CAMPAIGN`: the machines of a campaign, and what people said of their boxes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand, plain_table
from annotation.selectors.machines.reports import machine_reports


class Command(ReportCommand):
    help = "List the machines of a campaign: version, state, boxes drawn and accepted, by category."
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        return {
            "campaign": campaign.name,
            "machines": [asdict(report) for report in machine_reports(campaign)],
        }

    def show(self, report: dict[str, Any]) -> str:
        if not report["machines"]:
            return f"campaign {report['campaign']} has no machine: see add_machine"
        said = []
        for each in report["machines"]:
            judged = f"{each['good']} of {each['judged']} judged boxes accepted, {each['waiting']} wait"
            said.append(
                f"{each['name']} ({each['worker']}): version {each['version']}, {each['state']}"
                f"{'' if each['works'] else ', proposes nothing now'}; {judged}"
            )
            if each["categories"]:
                rows = [
                    [
                        one["category"],
                        one["judged"],
                        one["good"],
                        "people draw" if one["left"] or not each["works"] else "",
                    ]
                    for one in each["categories"]
                ]
                said.append(plain_table(["category", "judged", "accepted", ""], rows))
        return "\n".join(said)
