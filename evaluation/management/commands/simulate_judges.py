"""`manage.py simulate_judges BATCH --recorded JUDGMENTS`: a batch answered with votes on record.

    python manage.py simulate_judges first --recorded crowd
    python manage.py simulate_judges first --recorded crowd --workers 12 --mix careful=0.8,random=0.2

Without --mix each judge gives one recorded answer of every pair. With it so many people come, who answer
what most people said, with their errors: so one sees what bad judges would do to a batch.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import campaign_crowd_size
from annotation.common.locks import Busy
from annotation.management.base import ReportCommand
from annotation.management.commands.simulate_crowd import parse_mix
from annotation.protocol.campaign_settings import CampaignError
from annotation.simulation_driver import CROWD_PATIENCE, HTTP, QUEUE, mix_of
from evaluation.services.batches.collecting import batch_named
from evaluation.services.batches.recorded_judges import judge_as_recorded
from evaluation.services.batches.stored_answers import BatchRefused


class Command(ReportCommand):
    help = "Answer an open batch with the votes of existing judgments."
    refusals = (*ReportCommand.refusals, BatchRefused, CampaignError, Busy, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch")
        parser.add_argument(
            "--recorded", required=True, metavar="JUDGMENTS", help="Judgments of the batch's corpus"
        )
        parser.add_argument(
            "--workers", type=int, default=12, help="Number of judges with --mix (default: 12)"
        )
        parser.add_argument("--mix", metavar="KIND=SHARE,...", help="Kinds of judges, as in simulate_crowd")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--url", default="", help="Over HTTP, against a running server of this database")
        parser.add_argument(
            "--patience",
            type=float,
            default=CROWD_PATIENCE,
            metavar="SECONDS",
            help=f"How long to wait for leases to run out (default {CROWD_PATIENCE:.0f})",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        mix = None
        if options["mix"]:
            least = campaign_crowd_size(batch_named(options["batch"]).campaign).least
            mix = mix_of(options["workers"], parse_mix(options["mix"]), least=least)
        done = judge_as_recorded(
            options["batch"],
            options["recorded"],
            mix=mix,
            seed=options["seed"],
            through=HTTP if options["url"] else QUEUE,
            url=options["url"],
            patience=options["patience"],
        )
        return {
            "batch": options["batch"],
            "recorded": options["recorded"],
            "crowd": mix or "as recorded",
            "seed": options["seed"],
            "answers": done.tally.answered.total(),
            "suspended": sorted({name for names in done.suspended.values() for name in names}),
            "left": {"open_tasks": done.open_tasks, "leased": done.leased},
            "violations": dict(done.violations),
            "amiss": list(done.tally.amiss),
            "seconds": done.seconds,
        }

    def show(self, report: dict[str, Any]) -> str:
        wrong = [f"{what}: {count}" for what, count in report["violations"].items() if count]
        crowd, left = told(report["crowd"]), report["left"]
        lines = [
            f"batch {report['batch']!r}: {report['answers']} answers by {crowd}, seed {report['seed']}",
            f"suspended: {', '.join(report['suspended']) or 'nobody'}",
            f"left over: {left['open_tasks']} open tasks, {left['leased']} of them leased",
            "; ".join([*wrong, *report["amiss"]]) or "no task over-assigned, no answer lost or duplicated",
        ]
        return "\n".join(lines)


def told(crowd: dict[str, int] | str) -> str:
    """Who came, in words."""
    if isinstance(crowd, str):
        return f"judges {crowd}"
    return ", ".join(f"{count} {kind}" for kind, count in crowd.items())
