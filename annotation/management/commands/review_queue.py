"""`manage.py review_queue CAMPAIGN [--reason R] [--limit N]`: the chains that wait for a reviewer."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.management.base import ReportCommand, plain_table
from annotation.protocol.campaign_settings import CampaignError
from annotation.selectors import review


class Command(ReportCommand):
    help = "Print the chains of a campaign that wait for a reviewer, and why, the last changed image first."
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("--reason", choices=review.REASONS, default="", help="Only these")
        parser.add_argument(
            "--limit", type=int, default=review.REVIEWS_PER_PAGE, help="Images at most (default 40)"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        queue = review.review_queue(
            campaign=campaign.pk, reason=options["reason"], size=max(options["limit"], 1)
        )
        return {
            "campaign": campaign.name,
            "waiting": review.count_chains_in_review(campaign.pk),
            "chains": [
                {
                    "image": waiting.image.key,
                    "changed_at": waiting.changed_at.isoformat(timespec="seconds"),
                    "reason": chain.reason,
                    "title": chain.title,
                    "mentions": list(chain.mentions),
                    "boxes": chain.boxes,
                }
                for waiting in queue.images
                for chain in waiting.chains
            ],
            "more": bool(queue.after),
        }

    def show(self, report: dict[str, Any]) -> str:
        if not report["chains"]:
            return "no chain waits for a reviewer"
        rows = [
            [c["image"], c["reason"], c["title"], c["boxes"], ",".join(c["mentions"]), c["changed_at"]]
            for c in report["chains"]
        ]
        lines = [plain_table(["image", "reason", "called", "boxes", "chain", "since"], rows)]
        if report["more"]:
            lines.append("there are more: raise --limit")
        lines.append(
            f"chains in review: {report['waiting']}; settle one: "
            f"make_ruling {report['campaign']} {report['chains'][0]['image']} --help"
        )
        return "\n".join(lines)
