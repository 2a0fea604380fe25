"""`manage.py discard_worker CAMPAIGN PSEUDONYM [--kind KIND] [--restore]`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.management.base import ReportCommand, move_bar, progress_bar
from annotation.moderation import discarding
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.kinds import names


class Command(ReportCommand):
    help = (
        "Withdraw a worker's judgments from a campaign and suspend the worker, or restore the judgments. "
        "Judgments are kept and paid; the results of images are computed again without them. Run it again to "
        "finish what was interrupted."
    )
    refusals = (CampaignError, discarding.CannotDo)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("worker", help="The worker's pseudonym")
        parser.add_argument("--kind", choices=names(), help="One question only (default: all)")
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--reason", default="", help="Reason; the worker sees it")
        way.add_argument("--restore", action="store_true", help="Let the judgments count again")

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        worker = discarding.worker_named(options["worker"], campaign)
        with progress_bar(what="images", total=0) as bar:

            def step(done: int, total: int) -> None:
                move_bar(bar, done, total)

            if options["restore"]:
                done = discarding.restore_worker(
                    campaign=campaign, worker=worker, kind=options["kind"], progress=step
                )
            else:
                done = discarding.discard_worker(
                    campaign=campaign,
                    worker=worker,
                    kind=options["kind"],
                    reason=options["reason"],
                    progress=step,
                )
        return {
            "campaign": campaign.name,
            "worker": options["worker"],
            "restored": options["restore"],
            **asdict(done),
        }

    def show(self, report: dict[str, Any]) -> str:
        did = "restored" if report["restored"] else "withdrawn"
        lines = [
            (
                f"{report['judgments']} judgments of {report['worker']} in {report['images']} images are "
                f"{did} ({', '.join(report['kinds'])})"
            )
        ]
        if report["overtaken"]:
            other = "withdrawn again" if report["restored"] else "restored"
            lines.append(f"stopped, because they were {other} meanwhile: {', '.join(report['overtaken'])}")
        if report["drawers"]:
            lines.append(f"the status of {report['drawers']} drawers changed with their verdicts")
        if report["retired"]:
            lines.append(f"{report['retired']} control items that depended on these answers are retired:")
            lines += [f"  {item}" for item in report["items"]]
        return "\n".join(lines)
