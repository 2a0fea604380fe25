"""Random rankings with judgments, as arrays for our code and as dictionaries for the references."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phrasebox.metrics.judgments import Judged, judged


@dataclass(frozen=True)
class Cases:
    """Every query is a case. `lists` hold items in trec_eval's order: decreasing score, decreasing id."""

    judgments: Judged
    scores: np.ndarray
    retrieved: np.ndarray
    run: dict[str, dict[str, float]]
    qrels: dict[str, dict[str, int]]

    @property
    def lists(self) -> np.ndarray:
        order = np.argsort(np.where(self.retrieved, -self.scores, np.inf), axis=1, kind="stable")
        # The higher id comes first for tied scores; ids are zero-padded, so they sort like numbers.
        flipped = np.argsort(np.where(self.retrieved, -self.scores, np.inf)[:, ::-1], axis=1, kind="stable")
        order = self.scores.shape[1] - 1 - flipped
        return np.where(np.take_along_axis(self.retrieved, order, axis=1), order, -1)

    @property
    def list_scores(self) -> np.ndarray:
        return np.take_along_axis(self.scores, np.maximum(self.lists, 0), axis=1)


def cases(seed: int, queries: int, *, levels: int = 0, all_retrieved: bool = False) -> Cases:
    """Draw cases with `levels` different scores (0: all differ), 1 to 30 items, and grades from -1 to 3; each
    query's shares of retrieved, judged and relevant items are random, including 0 and 1."""
    rng = np.random.default_rng(seed)
    items = int(rng.integers(1, 31))
    shape = (queries, items)
    scores = rng.permuted(np.tile(np.arange(items, dtype=np.float64), (queries, 1)), axis=1)
    if levels:
        scores = rng.integers(0, levels, shape).astype(np.float64)
    shares = rng.choice([0, 0.1, 0.3, 0.6, 1], (3, queries, 1))
    seen = rng.random(shape) < shares[0]
    grades = np.where(rng.random(shape) < shares[1], rng.integers(1, 4, shape), 0)
    grades = np.where(rng.random(shape) < 0.15, -1, grades)
    retrieved = np.ones(shape, bool) if all_retrieved else rng.random(shape) < shares[2]
    # The references do not report a query without results or without judgments.
    retrieved[~retrieved.any(axis=1), 0] = True
    # trec_eval's code reads outside its arrays if all judgments of a query are -1.
    bare = ~(seen & (grades >= 0)).any(axis=1)
    seen[bare, 0], grades[bare, 0] = True, 0
    query, item = np.nonzero(seen)
    return Cases(
        judged(query, item, grades[seen], queries=queries, items=items),
        scores,
        retrieved,
        {
            f"q{q}": {f"d{i:03}": float(scores[q, i]) for i in np.flatnonzero(retrieved[q])}
            for q in range(queries)
        },
        {f"q{q}": {f"d{i:03}": int(grades[q, i]) for i in np.flatnonzero(seen[q])} for q in range(queries)},
    )
