"""What the commands that print a table of figures share: --csv, --latex, and measures by name."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.management.base import ReportCommand
from evaluation.comparison import missing
from evaluation.comparison.subsets import OF_RUN, Subset, subset_named
from evaluation.formats.figure_tables import LAYOUTS, Table


class TableCommand(ReportCommand):
    """A command whose report is also a table: as text, or as the user's paper wants it."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--csv", action="store_true", help="Print the table as CSV, unrounded")
        parser.add_argument("--latex", action="store_true", help="Print the table as LaTeX (booktabs)")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = [word for word in ("json", "csv", "latex") if options[word]]
        if len(chosen) > 1:
            raise CommandError(f"--{' and --'.join(chosen)}: use only one of them")
        self.layout = chosen[0] if chosen else "text"
        super().handle(*args, **options)

    def show(self, report: dict[str, Any]) -> str:
        return self.text(report) if self.layout == "text" else LAYOUTS.get(self.layout)(self.table(report))

    def table(self, report: dict[str, Any]) -> Table:
        """The report's figures."""
        raise CommandError(f"{type(self).__module__} does not print a table")

    def text(self, report: dict[str, Any]) -> str:
        """The report for a terminal: the table, below what is to be known about its figures."""
        return f"{self.remarks(report)}\n\n{LAYOUTS.get('text')(self.table(report))}"

    def remarks(self, report: dict[str, Any]) -> str:
        """What is to be known about the figures, above the table."""
        return ""


class TablesCommand(TableCommand):
    """A command whose report is several tables, each under its title."""

    def show(self, report: dict[str, Any]) -> str:
        layout, tables = LAYOUTS.get(self.layout), self.tables(report)
        if self.layout != "text":
            return "\n\n".join(map(layout, tables.values()))
        parts = [f"{title}\n{layout(table)}" for title, table in tables.items()]
        return "\n\n".join([self.remarks(report), *parts])

    def tables(self, report: dict[str, Any]) -> dict[str, Table]:
        """The report's figures by the title of their table."""
        raise CommandError(f"{type(self).__module__} prints no tables")


def add_missing(parser: CommandParser, what: str = "queries that a run does not rank") -> None:
    """What becomes of cases that a system has no output for; `what` is as "images without a caption"."""
    parser.add_argument(
        "--missing",
        choices=missing.MISSING_CHOICES,
        default=missing.REFUSE,
        help=f"Refuse {what}, count them as the worst result, or leave them out (default: {missing.REFUSE})",
    )


def add_subset(parser: CommandParser, *, seed: bool = True) -> None:
    """Some images of a corpus; `subset_of` reads them."""
    parser.add_argument(
        "--split",
        default="",
        help=f"Only these images: a split, a file of names, a fold such as 1/5, or {OF_RUN}NAME for the "
        "images that a run ranks (default: all)",
    )
    if seed:
        parser.add_argument("--fold-seed", type=int, default=0, help="Seed of the folds (default: 0)")


def subset_of(corpus: str, options: dict[str, Any]) -> Subset | None:
    """The images that `add_subset` was given; raises as `subset_named`."""
    return subset_named(corpus, options["split"], seed=options["fold_seed"])
