"""`manage.py list_flags CAMPAIGN [--all] [--resolve ID ...]`: what workers reported instead of answering."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.management.base import ReportCommand, plain_table
from annotation.moderation import rulings
from annotation.moderation.rulings import CannotRule
from annotation.protocol.campaign_settings import CampaignError
from annotation.selectors import review


class Command(ReportCommand):
    help = (
        "Print what workers reported instead of answering, the newest first; --resolve marks reports as "
        "handled."
    )
    refusals = (CampaignError, CannotRule)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--all", action="store_true", help="Also handled reports")
        parser.add_argument(
            "--limit", type=int, default=review.REVIEWS_PER_PAGE, help="Reports at most (default 40)"
        )
        parser.add_argument(
            "--resolve", type=int, nargs="+", default=[], metavar="ID", help="Mark these as handled"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        resolved = [flag for flag in options["resolve"] if rulings.resolve_flag(campaign=campaign, flag=flag)]
        found, after = review.worker_reports(
            campaign=campaign.pk, unresolved=not options["all"], size=max(options["limit"], 1)
        )
        return {
            "campaign": campaign.name,
            "resolved": resolved,
            "flags": [
                {
                    "id": one.flag.pk,
                    "image": one.image.key,
                    "question": one.kind,
                    "reported": one.flag.judgment.flag,
                    "words": list(one.words),
                    "comment": one.flag.comment,
                    "worker": one.flag.judgment.worker.pseudonym,
                    "known_item": one.known_item,
                    "at": one.flag.judgment.created_at.isoformat(timespec="seconds"),
                    "resolved": one.flag.resolved_at is not None,
                }
                for one in found
            ],
            "more": after is not None,
        }

    def show(self, report: dict[str, Any]) -> str:
        lines = [f"resolved: {', '.join(map(str, report['resolved']))}"] if report["resolved"] else []
        if not report["flags"]:
            return "\n".join([*lines, "no open reports"])
        rows = [
            [
                f["id"],
                f["image"],
                f["reported"],
                "control item" if f["known_item"] else f["question"],
                "; ".join(f["words"]),
                f["worker"],
                f["comment"],
                "yes" if f["resolved"] else "",
            ]
            for f in report["flags"]
        ]
        head = ["id", "image", "reported", "question", "words", "worker", "comment", "handled"]
        lines.append(plain_table(head, rows))
        if report["more"]:
            lines.append("there are more: raise --limit")
        return "\n".join(lines)
