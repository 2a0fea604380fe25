"""`manage.py compare_systems BASELINE RUN... --qrels Q [--json|--csv|--latex]`: which system is better.

Each run is tested against the first on each measure, and p is adjusted by Holm over the whole
table. Nothing is written.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evaluation.management.base import ScoringCommand
from evaluation.scoring import compare
from evaluation.selectors import run_named, snapshot_named
from evaluation.significance.randomisation import ROUNDS
from evaluation.tables import Marked, Table, known


class Command(ScoringCommand):
    help = "Compare runs under frozen qrels: each with the first, marked where they differ significantly."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("runs", nargs="+", help="Two runs or more; the first is the baseline")
        parser.add_argument(
            "--rounds", type=int, default=ROUNDS, help=f"Of the randomisation (default: {ROUNDS})"
        )
        parser.add_argument("--seed", type=int, default=0, help="Of the randomisation (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        if options["rounds"] < 1:
            raise CommandError(f"--rounds {options['rounds']}: ask for at least 1")
        snapshot = snapshot_named(options["qrels"])
        runs = [run_named(name) for name in options["runs"]]
        scored, tests = compare(
            runs, snapshot, options["measures"], rounds=options["rounds"], seed=options["seed"]
        )
        return {
            "baseline": runs[0].name,
            "direction": runs[0].direction,
            "qrels": snapshot.name,
            "version": snapshot.version,
            "digest": snapshot.digest,
            "queries": scored[0].queries,
            "rounds": options["rounds"],
            "seed": options["seed"],
            "systems": [
                {
                    "run": one.run,
                    "missing": one.missing,
                    "figures": {name: known(figure.value) for name, figure in one.scores.items()},
                    "judged": {f"judged@{k}": known(share) for k, share in one.judged.values()},
                }
                for one in scored
            ],
            "tests": [{**asdict(test), "difference": known(test.difference)} for test in tests],
        }

    def table(self, report: dict[str, Any]) -> Table:
        marks = {(test["run"], test["measure"]): test["mark"] for test in report["tests"]}
        first = report["systems"][0]
        return Table(
            ["run", *first["figures"], *first["judged"]],
            [
                [
                    one["run"],
                    *(Marked(value, marks.get((one["run"], m), "")) for m, value in one["figures"].items()),
                    *one["judged"].values(),
                ]
                for one in report["systems"]
            ],
            places={"median rank": 1, "mean rank": 1},
        )

    def remarks(self, report: dict[str, Any]) -> str:
        tested = sum(test["p"] is not None for test in report["tests"])
        return (
            f"{report['direction']}: {report['queries']} queries of qrels {report['qrels']} version "
            f"{report['version']}.\nAgainst {report['baseline']}: * p <= 0.1, ** p <= 0.05, *** p <= 0.01, "
            f"adjusted by Holm for {tested} tests (McNemar; randomisation, {report['rounds']} rounds)."
        )
