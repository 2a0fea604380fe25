"""`manage.py import_localizations NAME FILE --corpus C`: where another system finds phrases, as JSON Lines.

    python manage.py import_localizations theirs found.jsonl --corpus flickr30k --split test

A line for each mention, and if they are known one for each phrase with its detections in all images:

    {"image": "1.jpg", "caption": 0, "start": 0, "end": 2, "phrase": "A man", "regions": [[1, 1, 50, 80, 1]]}
    {"phrase": "man", "detections": [["1.jpg", 1, 1, 50, 80, 0.7]]}
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.comparison.provenance import Declaration
from evaluation.comparison.subsets import OF_RUN, BadSubset
from evaluation.management.training import TRAINING_REFUSALS, add_trained_on
from evaluation.services.localizations.files import LocalizationsImport, import_localizations


class Command(ReportCommand):
    help = "Import the regions in which a system finds phrases, as a localization set."
    refusals = (*ReportCommand.refusals, *TRAINING_REFUSALS, BadSubset)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the set")
        parser.add_argument("file", type=Path, help="JSON Lines, as download_localization_set writes them")
        parser.add_argument("--corpus", required=True, help="The corpus")
        parser.add_argument(
            "--system", default="", help="The registered system that made them, if there is one"
        )
        parser.add_argument(
            "--split",
            default="",
            help="The images that it looked at: a split, a file of names, a fold such as 1/5, or "
            f"{OF_RUN}NAME; those of which the file has nothing are missing output (default: all)",
        )
        add_trained_on(parser)
        parser.add_argument("--seed", type=int, default=0, help="Seed of folds (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        made = asdict(
            import_localizations(
                LocalizationsImport(
                    name=options["name"],
                    corpus=options["corpus"],
                    path=options["file"],
                    system=options["system"],
                    split=options["split"],
                    seed=options["seed"],
                    declared=Declaration(options["trained_on"]),
                )
            )
        )
        return {**made, "split": options["split"]}

    def show(self, report: dict[str, Any]) -> str:
        already = ", which already exists" if report["unchanged"] else ""
        text = (
            f"localization set {report['name']!r}{already}: {report['mentions']:,} mentions of "
            f"{report['images']:,} images, {report['phrases']:,} phrases with detections"
        )
        if report["clipped"] or report["outside"]:
            text += (
                f"; {report['clipped']:,} regions reached out of their picture and were cut, "
                f"{report['outside']:,} lay wholly outside and were left out"
            )
        if report["reordered"]:
            text += (
                f"; {report['reordered']:,} lines did not stand in the order of their scores, and were put "
                "in it, the highest first"
            )
        if report["elsewhere"]:
            text += (
                f"; {report['elsewhere']:,} mentions are of other images than {report['split']!r}: they are "
                "kept, but count only where those images are named"
            )
        return text
