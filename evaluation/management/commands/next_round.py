"""`manage.py next_round BATCH`: ask what the answers so far say to ask next, or end the batch.

For batches opened with --order, once all that was asked is answered. When the order of the systems is stable
there is no next round, and what was not asked stays unjudged. Run again meanwhile it says how many answers
are to come, and changes nothing.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.campaigns import CampaignError
from annotation.common.locks import Busy
from annotation.management.base import ReportCommand
from evaluation.pooling.pools import BadPool
from evaluation.services.batches.rounds import STABLE, ask_next_round
from evaluation.services.batches.stored_answers import BatchRefused


class Command(ReportCommand):
    help = "Open the next round of a batch that was opened with --order, or end the batch."
    refusals = (*ReportCommand.refusals, BadPool, BatchRefused, Busy, CampaignError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch")

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(ask_next_round(options["batch"]))

    def show(self, report: dict[str, Any]) -> str:
        return f"batch {report['batch']!r}: {waves_text(report)}"


def waves_text(found: dict[str, Any]) -> str:
    """How far a batch is with its rounds, in one line."""
    share = found["asked"] / found["askable"] if found["askable"] else 1.0
    counts = f"{found['asked']} of {found['askable']} pairs ({share:.0%}) asked in {found['waves']} rounds"
    tau = "" if found["tau"] is None else f", tau with the last rankings at least {found['tau']:.3f}"
    if found["outdated"]:
        return f"{counts}{tau}; it had ended, but answers changed since: the next round is to be chosen again"
    if not found["ended"]:
        return counts + tau
    why = "systems keep their order" if found["ended"] == STABLE else "every pair was asked"
    return f"{counts}{tau}; ended, {why}: {found['askable'] - found['asked']} pairs stay unjudged"
