"""`manage.py import_qrels NAME FILE --corpus C [--format trec|csv|json|...]`: qrels made elsewhere.

    python manage.py import_qrels theirs theirs.qrels --corpus flickr8k
    python manage.py import_qrels eccv-i2t eccv_image_to_caption.json --corpus coco --format json
    python manage.py import_qrels sits sits_test.csv --corpus coco --format cxc-sits --skip-unknown

Rows are taken as they are: no original is added. What a file says of rankings for images is not held
against rankings for captions, unless both are asked for. The queries are those of the file, or of --queries.
A format of judgments is imported as judgments and frozen in one go. Each change makes a new version.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.comparison.query_sets import queries_named
from evaluation.comparison.subsets import BadSubset
from evaluation.formats import JUDGMENT_FORMATS
from evaluation.formats.qrels_files import QRELS_FORMATS
from evaluation.management.base import add_queries, left_out_text, queries_text
from evaluation.management.relevance import add_relevance, relevance_of
from evaluation.relevance.scales import BadScale
from evaluation.services.common import ImportRefused
from evaluation.services.judgments.qrels_files import ASKING_SIDES, QrelsImport, import_qrels


class Command(ReportCommand):
    help = (
        "Import qrels. If anything is wrong, nothing is imported. If the same qrels already exist, "
        "nothing changes."
    )
    refusals = (*ReportCommand.refusals, FormatError, ImportRefused, Busy, BadScale, BadSubset, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        known = ", ".join([*QRELS_FORMATS.keys(), *JUDGMENT_FORMATS.keys()])
        parser.add_argument("name", help="Name of the qrels")
        parser.add_argument("path", type=Path, help="The file")
        parser.add_argument("--corpus", required=True, help="Their corpus")
        parser.add_argument("--format", default="trec", help=f"One of: {known} (default: trec)")
        parser.add_argument(
            "--asks",
            default="",
            help=f"The queries of the rankings that it judges: {', '.join(ASKING_SIDES)} "
            "(default: the queries of "
            "the file)",
        )
        parser.add_argument("--level", type=int, default=1, help="Lowest relevant grade (default: 1)")
        parser.add_argument(
            "--skip-unknown",
            action="store_true",
            help="Leave out pairs whose image or caption the corpus lacks, and count them",
        )
        parser.add_argument(
            "--repeats",
            choices=("refuse", "answers"),
            default="refuse",
            help="In judgments, if a pair occurs twice and no judge is named: refuse the file, or count "
            "two answers (default: refuse)",
        )
        add_queries(parser)
        add_relevance(parser)

    def report(self, **options: Any) -> dict[str, Any]:
        made = import_qrels(
            QrelsImport(
                name=options["name"],
                corpus=options["corpus"],
                path=options["path"],
                format=options["format"],
                asks=options["asks"],
                level=options["level"],
                skip_unknown=options["skip_unknown"],
                repeats=options["repeats"] == "answers",
                relevance=relevance_of(options),
                queries=queries_named(options["corpus"], options["queries"]),
            )
        )
        return {**asdict(made), "corpus": options["corpus"]}

    def show(self, report: dict[str, Any]) -> str:
        end = "already exists, nothing changed" if report["unchanged"] else "imported"
        asks = f", for {report['asks']}s" if report["asks"] else ""
        return (
            f"{report['relevant']} of {report['rows']} pairs are relevant{asks}\n"
            f"queries: {queries_text(report['asked'], report['queries'])}\n"
            f"{left_out_text(report['left_out'], report['lacking'], report['corpus'])}"
            f"qrels {report['qrels']!r} version {report['version']} {end} ({report['settings']})\n"
            f"digest {report['digest']}"
        )
