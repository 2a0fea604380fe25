"""`manage.py study CAMPAIGN`: a campaign's studies on crowd platforms, and who came by them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation import visits
from annotation.campaigns import CampaignError, campaign_named
from annotation.management.base import ReportCommand, table
from annotation.models import Campaign, Study, Visit
from annotation.visits import VisitError


class Command(ReportCommand):
    help = (
        "Print a campaign's studies on crowd platforms. With --set PLATFORM, set one up or change it; with "
        "--visits, print each submission by the platform's own id, with the answers given and how it ended: "
        "what one needs to approve them there."
    )
    refusals = (CampaignError, VisitError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--visits", action="store_true", help="Print the submissions")
        parser.add_argument("--set", choices=visits.PROVIDERS, metavar="PLATFORM", help="prolific or mturk")
        parser.add_argument("--id", default="", help="The study's id on Prolific")
        parser.add_argument("--wanted", type=int, default=20, help="Answers that complete a visit (20)")
        parser.add_argument("--complete", default="", metavar="CODE", help="Code for complete visits")
        parser.add_argument("--screen-out", default="", metavar="CODE", help="Code for screened-out ones")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        if options["set"]:
            visits.save_study(
                campaign=campaign,
                provider=options["set"],
                external_id=options["id"],
                wanted=options["wanted"],
                completion_code=options["complete"],
                screen_out_code=options["screen_out"],
            )
        found: dict[str, Any] = {
            "campaign": campaign.name,
            "studies": [_study(row) for row in campaign.studies.order_by("pk")],
        }
        if options["visits"]:
            found["visits"] = [_visit(row) for row in _visits(campaign)]
        return found

    def show(self, report: dict[str, Any]) -> str:
        for part in ("visits", "studies"):
            if report.get(part):
                head = list(report[part][0])
                return table(head, [["-" if v == "" else v for v in row.values()] for row in report[part]])
            if part in report:
                break
        return f"campaign {report['campaign']!r} has no {part}"


def _visits(campaign: Campaign) -> list[Visit]:
    rows = Visit.objects.filter(study__campaign=campaign).order_by("pk")
    return list(rows.select_related("study", "identity__worker"))


def _study(row: Study) -> dict[str, Any]:
    return {
        "platform": row.provider,
        "study": row.external_id,
        "wanted": row.wanted,
        "complete": row.completion_code,
        "screen_out": row.screen_out_code,
        "came": row.visits.count(),
    }


def _visit(row: Visit) -> dict[str, Any]:
    return {
        "submission": row.external_id,
        "study": row.study.external_id or row.study.provider,
        "worker": row.identity.worker.pseudonym,
        "begun": row.begun_at.isoformat(timespec="seconds"),
        "answered": visits.answered(row),
        "outcome": row.outcome,
        "reported": row.reported,
    }
