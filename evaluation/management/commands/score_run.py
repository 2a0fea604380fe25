"""`manage.py score_run RUN --qrels Q [--folds N] [--measures M,M] [--json|--csv|--latex]`: figures.

    python manage.py score_run kcca --qrels hodosh --measures R@1,R@10,"median rank",S@10
    python manage.py score_run clip --qrels coco --folds 5

Beside each figure: what it would be with unjudged items at their best, the share of the top k that
was judged, and how many queries have a value. With folds, figures are means over equal parts of the
images, each ranked apart; of COCO's 5,000 images five are what is called "1k". Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from django.core.management.base import CommandParser

from evaluation.management.base import ScoringCommand
from evaluation.scoring import score, score_folds
from evaluation.selectors import run_named, snapshot_named
from evaluation.tables import Cell, Table, known


class Command(ScoringCommand):
    help = "Score a run under frozen qrels."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("run", help="The run")
        parser.add_argument("--folds", type=int, help="Cut the images into so many equal parts, and average")

    def report(self, **options: Any) -> dict[str, Any]:
        run, snapshot = run_named(options["run"]), snapshot_named(options["qrels"])
        folds, measures = options["folds"], options["measures"]
        found = (
            [score(run, snapshot, measures)] if folds is None else score_folds(run, snapshot, folds, measures)
        )
        return {
            "run": run.name,
            "system": run.system,
            "direction": run.direction,
            "qrels": snapshot.name,
            "version": snapshot.version,
            "digest": snapshot.digest,
            "pool": snapshot.pool,
            "queries": sum(one.queries for one in found),
            "missing": sum(one.missing for one in found),
            "folds": folds,
            "measures": [
                {
                    "measure": name,
                    "value": _mean(one.scores[name].value for one in found),
                    "optimistic": _mean(one.scores[name].optimistic for one in found),
                    "judged_at": found[0].judged[name][0],
                    "judged": _mean(one.judged[name][1] for one in found),
                    "queries": sum(one.scores[name].queries for one in found),
                    "folds": [known(one.scores[name].value) for one in found] if folds else [],
                }
                for name in found[0].scores
            ],
        }

    def table(self, report: dict[str, Any]) -> Table:
        parts = [f"fold {number}" for number in range(1, (report["folds"] or 0) + 1)]
        # Under a protocol nobody judged.
        judged = (
            {} if report["pool"] else {"at best": "optimistic", "judged": "judged", "in the top": "judged_at"}
        )
        rows: list[list[Cell]] = [
            [m["measure"], m["value"], *(m[key] for key in judged.values()), m["queries"], *m["folds"]]
            for m in report["measures"]
        ]
        return Table(["measure", "value", *judged, "queries", *parts], rows)

    def remarks(self, report: dict[str, Any]) -> str:
        missing = f", {report['missing']} of them not ranked by the run" if report["missing"] else ""
        pool = f" ({report['pool']})" if report["pool"] else ""
        whose = f"{report['run']}, {report['direction']}: {report['queries']} queries of qrels "
        lines = [f"{whose}{report['qrels']} version {report['version']}{pool}{missing}."]
        if not report["pool"]:
            lines.append("Unjudged items count as not relevant; at best, as relevant.")
        if report["folds"]:
            lines.append(f"Means over {report['folds']} folds of the images.")
        return "\n".join(lines)


def _mean(values: Iterable[float | None]) -> float | None:
    """Of the folds' figures; None where one has none."""
    found = list(values)
    return known(float(np.mean([np.nan if value is None else value for value in found])))
