"""`manage.py export_qrels NAME[:VERSION] --out FILE [--format trec|csv|json]`: qrels for other tools.

    python manage.py export_qrels pooled --out pooled.qrels
    python manage.py export_qrels eccv-i2t --out again.json --format json --ids external

Rows come in the order in which they were imported or frozen.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.formats.qrels_files import QRELS_FORMATS
from evaluation.services.common import ImportRefused
from evaluation.services.judgments.qrels_files import CAPTION, ID_KINDS, IMAGE, OWN, export_qrels


class Command(ReportCommand):
    help = "Write qrels as a new file."
    refusals = (*ReportCommand.refusals, FormatError, ImportRefused, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="NAME, the newest version, or NAME:VERSION")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="The new file")
        known = ", ".join(QRELS_FORMATS.keys())
        parser.add_argument("--format", default="trec", help=f"One of: {known} (default: trec)")
        parser.add_argument(
            "--asks",
            default="",
            help=f"The side that is the query: {IMAGE} or {CAPTION} (default: the side that the qrels have "
            f"as queries, else {IMAGE})",
        )
        parser.add_argument(
            "--ids",
            default=OWN,
            help=f"Ids of images: {', '.join(ID_KINDS)}; the latter are COCO's numbers (default: {OWN})",
        )
        parser.add_argument(
            "--only-relevant", action="store_true", help="Only relevant pairs, with relevance 1"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        return asdict(
            export_qrels(
                **{key: options[key] for key in ("name", "out", "format", "asks", "ids", "only_relevant")}
            )
        )

    def show(self, report: dict[str, Any]) -> str:
        whose = f"qrels {report['qrels']!r} version {report['version']}"
        return f"{whose}: {report['pairs']} pairs in {report['file']}"
