"""What the commands that print a table of figures share: --csv, --latex, and measures by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.management.base import ReportCommand
from evaluation.metrics.table import METRICS, UnknownMeasure
from evaluation.ranked_runs import NotComparable
from evaluation.scoring import MEASURES, OF_ORIGINALS
from evaluation.tables import LAYOUTS, Table


class TableCommand(ReportCommand):
    """A command whose report is also a table: as text, or as the user's paper wants it."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--csv", action="store_true", help="Print the table as CSV, unrounded")
        parser.add_argument("--latex", action="store_true", help="Print the table as LaTeX (booktabs)")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = [word for word in ("json", "csv", "latex") if options[word]]
        if len(chosen) > 1:
            raise CommandError(f"--{' and --'.join(chosen)}: choose one")
        self.layout = chosen[0] if chosen else "text"
        super().handle(*args, **options)

    def show(self, report: dict[str, Any]) -> str:
        return self.text(report) if self.layout == "text" else LAYOUTS.get(self.layout)(self.table(report))

    def table(self, report: dict[str, Any]) -> Table:
        """The report's figures."""
        raise CommandError(f"{type(self).__module__} has no table")

    def text(self, report: dict[str, Any]) -> str:
        """The report for a terminal: the table, below what is to be known about its figures."""
        return f"{self.remarks(report)}\n\n{LAYOUTS.get('text')(self.table(report))}"

    def remarks(self, report: dict[str, Any]) -> str:
        """What is to be known about the figures, above the table."""
        return ""


def add_measures(parser: CommandParser, default: Sequence[str]) -> None:
    """Frozen qrels, and measures by name."""
    parser.add_argument("--qrels", required=True, help="NAME, the newest version, or NAME:VERSION")
    parser.add_argument(
        "--measures",
        type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
        help=f"Separated by commas (default: {','.join(default)}; under a protocol: "
        f"{','.join(OF_ORIGINALS)}); known: {', '.join(METRICS.names('ranking'))}",
    )


class ScoringCommand(TableCommand):
    """A command that scores runs under frozen qrels, on measures by name."""

    refusals = (*TableCommand.refusals, UnknownMeasure, NotComparable)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_measures(parser, MEASURES)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["measures"] == []:
            raise CommandError(f"no measures; known: {', '.join(METRICS.names('ranking'))}")
        options["measures"] = options["measures"] or []
        super().handle(*args, **options)
