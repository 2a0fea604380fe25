"""`manage.py export_run NAME --out FILE [--ties keep|break]`: a run as a TREC file, which others read.

    python manage.py export_run tri5-annotation --out tri5.trec --qrels pooled

Equal scores stay equal, so that the file is the run. Readers that put tied items in an order of their own,
as trec_eval does, may then give other figures: the command says of how many queries that may be so, and, with
qrels, of how many it is.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.comparison.ranked_runs import NotComparable
from evaluation.services.runs.files import BREAK, KEEP, TIES, export_run


class Command(ReportCommand):
    help = "Write a run as a new TREC file; its tag is the name of the system."
    refusals = (*ReportCommand.refusals, FormatError, NotComparable, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="The run")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="The new file")
        parser.add_argument(
            "--ties",
            choices=TIES,
            default=KEEP,
            help=f"Keep equal scores, or make them differ slightly, in the run's order (default: {KEEP})",
        )
        parser.add_argument(
            "--qrels",
            default="",
            help="Count the queries for which trec_eval would give other values under these qrels",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        made = export_run(
            name=options["name"], out=options["out"], ties=options["ties"], qrels=options["qrels"]
        )
        own = {key: options[key] for key in ("ties", "qrels")}
        return {"run": options["name"], "file": str(options["out"]), **own, **asdict(made)}

    def show(self, report: dict[str, Any]) -> str:
        said = [f"run {report['run']!r}: {report['lines']} lines in {report['file']}"]
        if report["tied"]:
            now = "written with slightly different scores" if report["ties"] == BREAK else "kept"
            said.append(
                f"{report['tied']} queries have items with equal scores, {now}; tools that reorder such "
                "items, as trec_eval does, may give other values for these queries"
            )
        if report["differ"] is not None:
            said.append(
                f"under qrels {report['qrels']}, {report['differ']} queries have other values in trec_eval"
            )
        return "\n".join(said)
