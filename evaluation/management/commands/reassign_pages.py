"""`manage.py reassign_pages BATCH [--dry-run]`: have the pages asked again of judges who do not count.

Judges who are suspended, or had fewer than the bar of their control items right, are discarded: their answers
are withdrawn, kept and paid, and others are asked. With --dry-run it says whom, and what that costs.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand, move_bar, progress_bar
from annotation.moderation.discarding import CannotDo
from evaluation.services.batches.collecting import batch_named
from evaluation.services.batches.reassignment import plan_reassignment, reassign_answers
from evaluation.services.batches.stored_answers import BatchRefused


class Command(ReportCommand):
    help = (
        "Discard the judges of a batch whose answers do not count, and reassign their pages to others. "
        "With --dry-run, show the price only."
    )
    refusals = (*ReportCommand.refusals, BatchRefused, CannotDo)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch")
        parser.add_argument(
            "--dry-run", action="store_true", help="Show the judges and the price; write nothing"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        if options["dry_run"]:
            return asdict(plan_reassignment(batch_named(options["batch"])))
        with progress_bar(what="share", total=1000) as bar:
            return asdict(
                reassign_answers(
                    options["batch"], tell=lambda phase, share: move_bar(bar, round(1000 * share), 1000)
                )
            )

    def show(self, report: dict[str, Any]) -> str:
        if not report["judges"]:
            return f"all judges of batch {report['batch']!r} count; nothing needs to be reassigned"
        did = "discarded" if report["done"] else "to be discarded"
        word = "reassigned" if report["done"] else "to be reassigned"
        lines = [f"{judge}: {why}" for judge, why in report["judges"].items()]
        work = f"{report['answers']} answers {word}: {report['seconds'] / 3600:.1f} hours"
        return "\n".join([f"{did}:", *lines, f"{work}, {report['price']}"])
