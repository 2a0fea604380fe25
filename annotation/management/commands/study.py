"""`manage.py study CAMPAIGN`: a campaign's studies on crowd platforms, and who came by them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError, campaign_named
from annotation.common.plain_text import plain_table
from annotation.management.base import ReportCommand
from annotation.models import Campaign, Study, Visit
from annotation.workers import confirmation, platform_visits
from annotation.workers.platform_visits import VisitError


class Command(ReportCommand):
    help = (
        "Print a campaign's studies on crowd platforms. With --set PLATFORM, set one up or change it; with "
        "--visits, print each submission by the platform's own id, with the answers given, how it ended, and "
        "whether the platform confirms the participant: what one needs to approve them there. With "
        "--confirm, note that you looked there yourself, and found the submission to be of that participant."
    )
    refusals = (CampaignError, VisitError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--visits", action="store_true", help="Print the submissions")
        parser.add_argument(
            "--confirm",
            nargs=2,
            metavar=("SUBMISSION", "PARTICIPANT"),
            help="Confirm a visit by hand, by the ids that the platform shows for it",
        )
        parser.add_argument(
            "--set", choices=platform_visits.PROVIDERS, metavar="PLATFORM", help="prolific or mturk"
        )
        parser.add_argument("--id", default="", help="The study's id on Prolific")
        parser.add_argument("--wanted", type=int, default=20, help="Answers that complete a visit (20)")
        parser.add_argument("--complete", default="", metavar="CODE", help="Code for complete visits")
        parser.add_argument("--screen-out", default="", metavar="CODE", help="Code for screened-out ones")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        if options["set"]:
            platform_visits.save_study(
                campaign=campaign,
                provider=options["set"],
                external_id=options["id"],
                wanted=options["wanted"],
                completion_code=options["complete"],
                screen_out_code=options["screen_out"],
            )
        if options["confirm"]:
            _confirm(campaign, *options["confirm"])
        found: dict[str, Any] = {
            "campaign": campaign.name,
            "studies": [_study(row) for row in campaign.studies.order_by("pk")],
        }
        if options["visits"] or options["confirm"]:
            found["visits"] = [_visit(row) for row in _visits(campaign)]
        return found

    def show(self, report: dict[str, Any]) -> str:
        for part in ("visits", "studies"):
            if report.get(part):
                head = list(report[part][0])
                shown = plain_table(
                    head, [["-" if v == "" else v for v in row.values()] for row in report[part]]
                )
                return "\n".join([shown, *_advice(report)])
            if part in report:
                break
        return f"campaign {report['campaign']!r} has no {part}"


def _visits(campaign: Campaign) -> list[Visit]:
    rows = Visit.objects.filter(study__campaign=campaign).order_by("pk")
    return list(rows.select_related("study", "identity__worker"))


def _confirm(campaign: Campaign, submission: str, participant: str) -> None:
    claims = Visit.objects.filter(study__campaign=campaign, external_id=submission, participant=participant)
    study = Study.objects.filter(visits__in=claims).first()
    if study is None:
        raise VisitError(f"there is no visit with submission {submission!r} of {participant!r}; see --visits")
    confirmation.confirm_by_hand(study=study, submission=submission, participant=participant)


def _advice(report: dict[str, Any]) -> list[str]:
    """What to do about visits that nobody confirms."""
    counts = Counter(row["verification"] for row in report.get("visits", ()))
    found = []
    if counts[Visit.WAITING]:
        found.append(
            f"{counts[Visit.WAITING]} wait for the platform's confirmation: no code and no pay until then "
            "(docs/entry.md, Who they are)"
        )
    unverified = counts[Visit.UNVERIFIED] or any(
        row["confirms"] == Visit.UNVERIFIED for row in report["studies"]
    )
    if unverified:
        found.append(
            "unverified: only the address says who participated; docs/entry.md describes how platforms "
            "confirm it"
        )
    return found


def _study(row: Study) -> dict[str, Any]:
    return {
        "platform": row.provider,
        "study": row.external_id,
        "wanted": row.wanted,
        "complete": row.completion_code,
        "screen_out": row.screen_out_code,
        "confirms": ", ".join(confirmation.ways_to_confirm(row.provider)) or Visit.UNVERIFIED,
        "came": row.visits.count(),
    }


def _visit(row: Visit) -> dict[str, Any]:
    return {
        "submission": row.external_id,
        "study": row.study.external_id or row.study.provider,
        "participant": row.participant,
        "worker": row.identity.worker.pseudonym,
        "verification": row.verification,
        "by": row.verified_by,
        "begun": row.begun_at.isoformat(timespec="seconds"),
        "answered": platform_visits.answers_of_visit(row),
        "outcome": row.outcome,
        "reported": row.reported,
    }
