"""`manage.py pause_campaign CAMPAIGN [--reason R | --resume [--budget B] ... | --close]`."""

from __future__ import annotations

from argparse import SUPPRESS
from typing import Any

from django.core.management.base import CommandParser

from annotation import campaigns
from annotation.campaigns import CampaignError, campaign_named, portions
from annotation.management.base import ReportCommand
from annotation.models import Assignment
from annotation.selectors.campaign.reasons import reason_in_words

RULES = ("budget", "until", "images")
NONE = "none"


def _rule(kind: type) -> Any:
    """A parser of a stop rule's value, or None for "none"."""

    def parse(text: str) -> Any:
        return None if text == NONE else kind(text)

    parse.__name__ = kind.__name__  # How argparse names it in its errors.
    return parse


class Command(ReportCommand):
    help = (
        "Pause or resume a campaign, or close it permanently. Workers can still submit the tasks that they "
        "have open."
    )
    refusals = (CampaignError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("campaign")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--resume", action="store_true", help="Resume: assign questions again")
        how.add_argument(
            "--no-more-images",
            action="store_true",
            help="Open no further images than are open: it does not pause, and ends with those",
        )
        how.add_argument("--close", action="store_true", help="Close permanently: it cannot be opened again")
        parser.add_argument("--reason", default="", help="Why it is paused or closed; workers see it")
        rules = parser.add_argument_group("with --resume, a new stop rule ('none' removes it)")
        rules.add_argument(
            "--budget", type=_rule(float), default=SUPPRESS, metavar="AMOUNT", help="In currency units"
        )
        rules.add_argument(
            "--until", type=_rule(str), default=SUPPRESS, metavar="DAY", help="Its last day, e.g. 2026-12-31"
        )
        rules.add_argument(
            "--images", type=_rule(int), default=SUPPRESS, metavar="N", help="Complete images wanted"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        campaign = campaign_named(options["campaign"])
        rules = {name: options[name] for name in RULES if name in options}
        if rules and not options["resume"]:
            raise CampaignError(f"--{next(iter(rules))} goes with --resume: it sets a new stop rule")
        if options["reason"] and (options["resume"] or options["no_more_images"]):
            raise CampaignError("--reason goes with pausing and closing; leave it out")
        dropped: int | None = None
        if options["resume"]:
            if rules:
                campaigns.set_stop_rules(campaign=campaign, rules=rules)
            campaigns.resume_campaign(campaign=campaign)
        elif options["no_more_images"]:
            dropped = portions.drop_plan(campaign)
        elif options["close"]:
            campaigns.close_campaign(campaign=campaign, reason=options["reason"])
        else:
            campaigns.pause_campaign(campaign=campaign, reason=options["reason"])
        held = Assignment.objects.filter(campaign=campaign, state=Assignment.LEASED)
        return {
            "campaign": campaign.name,
            "state": campaign.state,
            "reason": reason_in_words(campaign.reason),
            "stop": campaign.settings["stop"],
            "in_hand": held.count(),
            "images_left_out": dropped,
        }

    def show(self, report: dict[str, Any]) -> str:
        reason = f": {report['reason']}" if report["reason"] else ""
        rules = ", ".join(f"{name} {value}" for name, value in report["stop"].items() if value is not None)
        left_out = report["images_left_out"]
        return (
            ("" if left_out is None else f"images that are no longer to be opened: {left_out}\n")
            + f"campaign {report['campaign']!r} is {report['state']}{reason}\n"
            f"stop rules: {rules or 'none'}; questions in progress: {report['in_hand']}"
        )
