"""Weighted precision: which part of the weight of the top k places holds relevant items.

Place p, which may be half where scores are equal, weighs 1 / p. The value is the weight of the places up to
k that hold relevant items, over the weight of all places up to k: 1 where all are relevant, 0 if none is.
Source: made up, for the tests.
"""

from __future__ import annotations

import numpy as np

from phrasebox.metrics.ranked import QueryValues, Ranked
from phrasebox.metrics.table import METRICS, Measure


def weighted_precision(ranked: Ranked, k: int) -> QueryValues:
    """A share of each query, shape (queries,)."""
    places = ranked.places(ranked.relevant)
    weight = np.where(places.rank <= k, 1 / places.rank, 0.0)
    values = np.bincount(places.query, weights=weight, minlength=ranked.judged.queries)
    whole = float(np.sum(1 / np.arange(1, k + 1)))
    return np.minimum(values / whole, 1.0)


METRICS.register(
    Measure(
        "weighted precision@k",
        "share of the weight of the top k places that holds relevant items",
        "ranking",
        weighted_precision,
        "made up, for the tests",
        cut_off="required",
        aliases=("WP",),
    )
)
