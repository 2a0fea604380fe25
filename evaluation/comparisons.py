"""What scoring and comparing runs come to, as plain data and as tables: the same for commands and pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from evaluation.models import QrelsSnapshot, Run
from evaluation.scoring import compare, score, score_folds
from evaluation.significance.randomisation import ROUNDS
from evaluation.tables import Cell, Marked, Table, known

#: Decimal places of what is no share.
PLACES = {"median rank": 1, "mean rank": 1}


def scored(
    run: Run, snapshot: QrelsSnapshot, measures: Sequence[str] = (), folds: int | None = None
) -> dict[str, Any]:
    """A run's figures, or their means over folds; raises as `scoring.score` does."""
    found = [score(run, snapshot, measures)] if folds is None else score_folds(run, snapshot, folds, measures)
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


def table_of_scored(report: dict[str, Any]) -> Table:
    """A row a measure."""
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


def compared(
    runs: Sequence[Run],
    snapshot: QrelsSnapshot,
    measures: Sequence[str] = (),
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> dict[str, Any]:
    """All runs' figures, and each later run tested against the first; raises as `scoring.compare` does."""
    figures, tests = compare(runs, snapshot, measures, rounds=rounds, seed=seed)
    return {
        "baseline": runs[0].name,
        "direction": runs[0].direction,
        "qrels": snapshot.name,
        "version": snapshot.version,
        "digest": snapshot.digest,
        "queries": figures[0].queries,
        "rounds": rounds,
        "seed": seed,
        "systems": [
            {
                "run": one.run,
                "missing": one.missing,
                "figures": {name: known(figure.value) for name, figure in one.scores.items()},
                "judged": {f"judged@{k}": known(share) for k, share in one.judged.values()},
            }
            for one in figures
        ],
        "tests": [{**asdict(test), "difference": known(test.difference)} for test in tests],
    }


def table_of_compared(report: dict[str, Any]) -> Table:
    """A row a run, with marks of significance."""
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
        places=PLACES,
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """Of the folds' figures; None where one has none."""
    found = list(values)
    return known(float(np.mean([np.nan if value is None else value for value in found])))
