"""`manage.py show_protocol`: the box loop as a Mermaid graph, drawn from the table that runs it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from annotation.management.base import ReportCommand
from annotation.protocol.boxes import TRANSITIONS, mermaid


class Command(ReportCommand):
    help = "Print the box loop as a Mermaid state diagram; with --json, its table."

    def report(self, **options: Any) -> dict[str, Any]:
        return {"rows": [asdict(row) for row in TRANSITIONS], "mermaid": mermaid()}

    def show(self, report: dict[str, Any]) -> str:
        return str(report["mermaid"])
