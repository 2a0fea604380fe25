"""`manage.py suspend_worker CAMPAIGN PSEUDONYM [--kind KIND] [--reason TEXT | --reinstate]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_named
from annotation.management.base import ReportCommand
from annotation.moderation import discarding
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.kinds import names


class Command(ReportCommand):
    help = (
        "Suspend a worker from a campaign, or reinstate them. Answers to open tasks still count; to withdraw "
        "answers, see discard_worker."
    )
    refusals = (CampaignError, discarding.CannotDo)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        parser.add_argument("worker", help="The worker's pseudonym")
        parser.add_argument("--kind", choices=names(), help="One question only (default: all)")
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--reason", default="", help="Reason; the worker sees it")
        way.add_argument(
            "--reinstate",
            action="store_true",
            help="Reinstate them; if the rules had suspended them, they start over",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        worker = discarding.worker_named(options["worker"], campaign)
        if options["reinstate"]:
            kinds = discarding.reinstate_worker(campaign=campaign, worker=worker, kind=options["kind"])
        else:
            kinds = discarding.suspend_worker(
                campaign=campaign, worker=worker, kind=options["kind"], reason=options["reason"]
            )
        return {
            "campaign": campaign.name,
            "worker": options["worker"],
            "reinstated": options["reinstate"],
            "kinds": list(kinds),
        }

    def show(self, report: dict[str, Any]) -> str:
        if not report["kinds"]:
            already = "not suspended" if report["reinstated"] else "already suspended"
            return f"{report['worker']} is {already}: nothing to do"
        did = "reinstated for" if report["reinstated"] else "suspended from"
        return f"{report['worker']} is {did} {', '.join(report['kinds'])}"
