"""`manage.py build_report NAME --qrels Q --runs R... [--batch B]`: tables and figures of runs, for a paper.

    python manage.py build_report spring --qrels pooled --runs nn-a nn-s kcca-a kcca-s --baseline nn-a
    python manage.py build_report spring --qrels pooled --runs nn-a kcca-a --batch first --out paper/figures

Runs of both directions go together; those of one `system` belong together. What stands already from the same
inputs is left as it is; from others, what changed is said, and --replace builds it anew.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from evaluation.management.base import add_measures, add_missing, add_subset
from evaluation.management.training import TRAINING_REFUSALS, ProgressBars
from evaluation.metrics.table import UnknownMeasure
from evaluation.services.reports.building import build_report
from evaluation.services.reports.findings import REPORT_MEASURES
from evaluation.services.reports.request import LEVEL, RESAMPLES, ReportRequest
from evaluation.significance.randomisation import ROUNDS


class Command(ReportCommand):
    help = "Build a report: tables, figures and settings as HTML, JSON, LaTeX, CSV, SVG and PDF."
    refusals = (*ReportCommand.refusals, UnknownMeasure, *TRAINING_REFUSALS)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_measures(parser, REPORT_MEASURES)
        parser.add_argument("name", help="Name of the report, and of its folder in DATA_DIR/reports")
        parser.add_argument(
            "--runs", nargs="+", required=True, metavar="RUN", help="Runs of one or both directions"
        )
        parser.add_argument("--batch", default="", help="The batch that the judgments come from")
        parser.add_argument(
            "--baseline",
            nargs="+",
            default=[],
            metavar="RUN",
            help="Compare the others with this run or system (default: the first run of each direction)",
        )
        parser.add_argument(
            "--against",
            default="",
            metavar="JUDGMENTS",
            help="Judgments by others, to measure agreement with",
        )
        parser.add_argument(
            "--tags", nargs="+", default=[], metavar="SET", help="Tag sets of the corpus, to be scored too"
        )
        add_subset(parser, seed=False)
        add_missing(parser)
        parser.add_argument("--seed", type=int, default=0, help="Seed of everything random (default: 0)")
        parser.add_argument(
            "--rounds",
            type=int,
            default=ROUNDS,
            help=f"Permutations of the randomisation test (default: {ROUNDS})",
        )
        parser.add_argument(
            "--resamples",
            type=int,
            default=RESAMPLES,
            help=f"Resamples of the bootstrap (default: {RESAMPLES})",
        )
        parser.add_argument(
            "--level", type=float, default=LEVEL, help=f"Confidence level of the intervals (default: {LEVEL})"
        )
        parser.add_argument(
            "--out", type=Path, help="Write the folder there instead, and do not record the report"
        )
        parser.add_argument("--replace", action="store_true", help="Replace an existing report of this name")

    def report(self, **options: Any) -> dict[str, Any]:
        options["measures"] = options["measures"] or ()
        wanted = ReportRequest(
            **{
                key: options[key]
                for key in (
                    *("name", "qrels", "runs", "batch", "baseline", "measures", "against"),
                    *("split", "missing", "seed", "rounds", "resamples", "level", "tags"),
                )
            }
        )
        with ProgressBars() as bars:
            built = build_report(wanted, out=options["out"], replace=options["replace"], progress=bars)
        return asdict(built)

    def show(self, report: dict[str, Any]) -> str:
        state = (
            "already exists, nothing changed"
            if report["unchanged"]
            else f"built, {len(report['files'])} files"
        )
        changes = [f"Replaced: {'; '.join(report['changes'])}."] if report["changes"] else []
        return "\n".join(
            [f"report {report['report']!r}: {state}", *changes, f"{report['folder']}/report.html"]
        )
