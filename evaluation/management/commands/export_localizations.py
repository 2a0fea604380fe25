"""`manage.py export_localizations NAME --out FILE`: a localization set as JSON Lines.

`import_localizations` reads them again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS
from evaluation.services.localizations.files import write_localizations
from evaluation.services.localizations.sets import localization_set_named


class Command(ReportCommand):
    help = "Write a localization set as JSON Lines: a line for each mention, then one for each phrase."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the set")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="A new file (default: NAME.jsonl in this folder)"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        found = localization_set_named(options["name"])
        out = options["out"] or Path(f"{found.name}.jsonl")
        write_localizations(found, out)
        return {"name": found.name, "file": str(out), "mentions": found.mention_count}

    def show(self, report: dict[str, Any]) -> str:
        return f"{report['mentions']:,} mentions of set {report['name']!r} written to {report['file']}"
