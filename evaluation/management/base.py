"""What the commands that print a table of figures share: --csv, --latex, and measures by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.comparison import missing
from evaluation.comparison.comparisons import per_query_rows
from evaluation.comparison.ranked_runs import NotComparable
from evaluation.comparison.scoring import DEFAULT_MEASURES, OF_ORIGINALS
from evaluation.comparison.subsets import OF_RUN, BadSubset, Subset, subset_named
from evaluation.formats.figure_tables import LAYOUTS, Table
from evaluation.formats.per_query import write_per_query
from evaluation.metrics.table import METRICS, UnknownMeasure
from evaluation.models import QrelsSnapshot, Run


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


def add_measures(parser: CommandParser, default: Sequence[str]) -> None:
    """Frozen qrels, and measures by name."""
    parser.add_argument("--qrels", required=True, help="NAME, the newest version, or NAME:VERSION")
    parser.add_argument(
        "--measures",
        type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
        help=f"Measures, separated by commas (default: {','.join(default)}; under a protocol: "
        f"{','.join(OF_ORIGINALS)}); known: {', '.join(METRICS.names('ranking'))}",
    )


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


class ScoringCommand(TableCommand):
    """A command that scores runs under frozen qrels, on measures by name."""

    refusals = (*TableCommand.refusals, UnknownMeasure, NotComparable, BadSubset, FormatError, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_measures(parser, DEFAULT_MEASURES)
        add_subset(parser)
        add_missing(parser)
        parser.add_argument(
            "--per-query",
            type=Path,
            metavar="FILE",
            help="Also write each query's values (.csv, .json, .parquet)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["measures"] == []:
            raise CommandError(f"no measures; known: {', '.join(METRICS.names('ranking'))}")
        options["measures"] = options["measures"] or []
        super().handle(*args, **options)

    def scoring_options(self, snapshot: QrelsSnapshot, options: dict[str, Any]) -> dict[str, Any]:
        """What all scoring takes besides runs, qrels and measures."""
        return {"subset": subset_of(snapshot.corpus.name, options), "missing": options["missing"]}

    def write_values(
        self, runs: Sequence[Run], snapshot: QrelsSnapshot, options: dict[str, Any], how: dict[str, Any]
    ) -> None:
        """Write the file of `--per-query`, if one is asked for: last, so that nothing refused leaves one."""
        if options["per_query"] is not None:
            rows = per_query_rows(runs, snapshot, options["measures"], options.get("folds"), **how)
            write_per_query(options["per_query"], rows)
