"""`manage.py import_judgments CORPUS PATH --format F [--name N]`: judgments made elsewhere.

    python manage.py import_judgments flickr8k DATA/flickr8k --format flickr8k-crowd

All of them, or nothing where anything is wrong with them. They reference the images and captions
of the corpus, which is imported before; with --skip-unknown, those about something else are left out and
counted. A file may be packed (.gz).
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand, with_progress
from evaluation.formats import JUDGMENT_FORMATS
from evaluation.management.base import left_out_text
from evaluation.relevance.scales import EXPECTED, BadScale, scale_named
from evaluation.services.common import ImportRefused
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments


class Command(ReportCommand):
    help = (
        "Import judgments of a corpus's images and captions. If anything is wrong, nothing is imported. "
        "If the same judgments already exist, nothing changes."
    )
    refusals = (*ReportCommand.refusals, FormatError, ImportRefused, Busy, BadScale, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        known = ", ".join(JUDGMENT_FORMATS.keys())
        parser.add_argument("corpus", help="Their corpus")
        parser.add_argument("path", type=Path, help="The judgments, a file or its folder")
        parser.add_argument("--format", required=True, help=f"One of: {known}")
        parser.add_argument("--name", help="Name of the judgments (default: the format)")
        parser.add_argument("--scale", help=f"Scale of the answers, if their format has none: {EXPECTED}")
        parser.add_argument(
            "--skip-unknown",
            action="store_true",
            help="Leave out pairs whose image or caption the corpus lacks, and count them",
        )
        parser.add_argument(
            "--repeats",
            choices=("refuse", "answers"),
            default="refuse",
            help="If a pair occurs twice and no judge is named: refuse the file, or count two answers "
            "(default: refuse)",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(
            import_judgments(
                JudgmentsImport(
                    corpus=options["corpus"],
                    path=options["path"],
                    format=options["format"],
                    name=options["name"],
                    scale=scale_named(options["scale"]) if options["scale"] else None,
                    skip_unknown=options["skip_unknown"],
                    repeats=options["repeats"] == "answers",
                ),
                progress=partial(with_progress, what="pairs"),
            )
        )

    def show(self, report: dict[str, Any]) -> str:
        end = "already exist, nothing changed" if report["unchanged"] else "imported"
        return (
            f"{report['answers']} answers to {report['pairs']} pairs, scale {report['scale']}\n"
            f"{left_out_text(report['skipped'], report['lacking'], report['corpus'])}"
            f"judgments {report['judgments']!r} of corpus {report['corpus']!r} {end}\n"
            f"{report['seconds']:.1f} s, digest {report['digest']}"
        )
