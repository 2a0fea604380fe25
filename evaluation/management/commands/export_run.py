"""`manage.py export_run NAME --out FILE`: a run as a TREC file, which trec_eval and others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.services.runs import export_run


class Command(ReportCommand):
    help = "Write a run as a new TREC file; tied scores are written a hair apart, in the run's order."
    refusals = (*ReportCommand.refusals, FormatError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="The run")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="The file to make")

    def report(self, **options: Any) -> dict[str, Any]:
        lines = export_run(name=options["name"], out=options["out"])
        return {"run": options["name"], "file": str(options["out"]), "lines": lines}

    def show(self, report: dict[str, Any]) -> str:
        return f"run {report['run']!r}: {report['lines']} lines in {report['file']}"
