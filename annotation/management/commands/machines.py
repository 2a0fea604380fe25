"""`manage.py machines CAMPAIGN`: the machines of a campaign, and what people said of their boxes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand, plain_table
from annotation.protocol.answer_times import table_of_savings
from annotation.selectors.machines.reports import machine_reports
from annotation.selectors.machines.savings import machine_saving


class Command(ReportCommand):
    help = (
        "List the machines of a campaign: version, state, boxes drawn and accepted, by category; and "
        "what they saved, by what a drawing and a look take."
    )
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        reports = machine_reports(campaign)
        return {
            "campaign": campaign.name,
            "machines": [asdict(report) for report in reports],
            "saving": asdict(machine_saving(campaign, reports)),
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
        saving, times = report["saving"], report["saving"]["times"]
        if any(each["judged"] for each in report["machines"]):
            said.append("Share of people's seconds saved, by what a drawing and a look take:")
            said.append(table_of_savings(saving["shares"]))
        if saving["measured"] is not None:
            said.append(
                f"at {times['drawing']:.1f} s a drawing and {times['looking']:.1f} s a look, as measured "
                f"here: {saving['measured']:+.1%}"
            )
        return "\n".join(said)
