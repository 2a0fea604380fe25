"""`manage.py import_parses CORPUS FILE`: dependency parses of a corpus's captions, from CoNLL-U.

python manage.py import_parses flickr30k captions.conllu
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.services.features.parses import import_parses


class Command(ReportCommand):
    help = "Import dependency parses of a corpus's captions from a CoNLL-U file."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The corpus")
        parser.add_argument("file", type=Path, help="CoNLL-U, each sentence named by its caption (sent_id)")
        parser.add_argument("--replace", action="store_true", help="Replace the corpus's other parses")

    def report(self, **options: Any) -> dict[str, Any]:
        with ProgressBars() as bars:
            found = import_parses(
                options["corpus"], options["file"], replace=options["replace"], progress=bars
            )
        return found.as_dict()

    def show(self, report: dict[str, Any]) -> str:
        end = "already exist, nothing changed" if report["unchanged"] else "imported"
        count = f"{report['captions']} captions, {report['words']} words"
        head = f"parses of corpus {report['corpus']!r} {end}: {count}"
        return "\n".join([head, *report["remarks"], f"SHA-256 {report['digest']}"])
