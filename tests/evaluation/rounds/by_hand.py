"""Measures of runs by their definitions, from files and votes only, for comparison with the product's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation.comparison.scoring import score
from evaluation.selectors import run_named, snapshot_named
from evaluation.services.runs.files import write_run_file
from tests.evaluation.rounds.conftest import RANKED

#: (image, caption) -> the votes, 1 or 0 each.
Votes = dict[tuple[str, str], list[float]]


def rankings(run: str, folder: Path) -> dict[str, list[str]]:
    """Return a run from a file: query -> documents, best first."""
    file = folder / f"{run}.trec"
    file.unlink(missing_ok=True)
    write_run_file(run, file)
    result: dict[str, list[tuple[int, str]]] = {}
    for line in file.read_text().splitlines():
        query, _, document, rank, _, _ = line.split()
        result.setdefault(query, []).append((int(rank), document))
    return {query: [document for _, document in sorted(ranked)] for query, ranked in result.items()}


def relevant_to(votes: Votes, direction: str) -> dict[str, set[str]]:
    """Return query -> its own document, and those that most judges found relevant."""
    relevant: dict[str, set[str]] = {}
    for (image, caption), vote in votes.items():
        query, document = (image, caption) if direction == "annotation" else (caption, image)
        value = caption == f"{image}{RANKED}"
        relevant.setdefault(query, set()).update({document} if value or 2 * sum(vote) > len(vote) else ())
    return relevant


def figures(run: str, votes: Votes, folder: Path) -> dict[str, float]:
    """Return S@1, S@3 and R-precision by their definitions."""
    relevant = relevant_to(votes, run_named(run).direction)
    ranked = rankings(run, folder)
    assert set(ranked) == set(relevant)
    result = {
        f"S@{k}": np.mean([bool(relevant[query] & set(ranked[query][:k])) for query in ranked])
        for k in (1, 3)
    }
    precision = [
        len(relevant[query] & set(ranked[query][: len(relevant[query])])) / len(relevant[query])
        for query in ranked
    ]
    return {
        **{name: float(value) for name, value in result.items()},
        "R-precision": float(np.mean(precision)),
    }


def against(run: str, qrels: str, votes: Votes, folder: Path) -> dict[str, float]:
    """Check the product's measures of a run against those by definition, and return them."""
    measures = ["S@1", "S@3", "R-precision"]
    scored = score(run_named(run), snapshot_named(qrels), measures)
    values = {name: item.value for name, item in scored.scores.items()}
    assert values == pytest.approx(figures(run, votes, folder))
    return values
