"""`manage.py compare_systems BASELINE RUN... --qrels Q [--json|--csv|--latex]`: which system is better.

Each run is tested against the first on each measure, and p is adjusted by Holm over the whole
table. Nothing is written.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from evaluation.comparison.comparisons import compare_runs, table_of_comparison, table_of_preferences
from evaluation.formats.figure_tables import Table
from evaluation.management.base import ScoringCommand
from evaluation.selectors import run_named, snapshot_named
from evaluation.significance.randomisation import MOST_ROUNDS, ROUNDS


class Command(ScoringCommand):
    help = (
        "Compare runs under frozen qrels. Each is compared with the first run; significant differences "
        "are marked."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("runs", nargs="+", help="Two runs or more; the first is the baseline")
        parser.add_argument(
            "--rounds",
            type=int,
            default=ROUNDS,
            help=f"Permutations of the randomisation test (default: {ROUNDS})",
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of the randomisation test (default: 0)")
        parser.add_argument(
            "--preferences",
            action="store_true",
            help="Print instead on how many queries each run is better than the first, equal, or worse",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        if not 1 <= options["rounds"] <= MOST_ROUNDS:
            raise CommandError(f"--rounds {options['rounds']}: use at least 1, and {MOST_ROUNDS} at most")
        snapshot = snapshot_named(options["qrels"])
        runs = [run_named(name) for name in options["runs"]]
        how = self.scoring_options(snapshot, options)
        found = compare_runs(
            runs, snapshot, options["measures"], rounds=options["rounds"], seed=options["seed"], **how
        )
        self.write_values(runs, snapshot, options, how)
        self.preferences = options["preferences"]
        return found

    def table(self, report: dict[str, Any]) -> Table:
        return table_of_preferences(report) if self.preferences else table_of_comparison(report)

    def remarks(self, report: dict[str, Any]) -> str:
        tested = sum(test["p"] is not None for test in report["tests"])
        which = f" ({report['subset']})" if report["subset"] else ""
        asked = (
            f"{report['direction']}: {report['queries']} queries of qrels {report['qrels']} version "
            f"{report['version']}{which}.\n"
        )
        if self.preferences:
            return (
                f"{asked}Against {report['baseline']}: queries on which a run is better, equal or worse; "
                "share of the better ones among the unequal, with its interval of 95% (Wilson); p of the "
                "exact sign test (of a randomisation of whole images where several queries are of one), "
                "not adjusted."
            )
        return (
            f"{asked}Against {report['baseline']}: * p <= 0.1, ** p <= 0.05, *** p "
            f"<= 0.01, adjusted by Holm for {tested} tests (McNemar; randomisation, of whole images where "
            f"several queries are of one, {report['rounds']} permutations)."
        )
