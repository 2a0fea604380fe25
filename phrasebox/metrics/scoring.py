"""Figures from rankings: the requested measures, each with its values by query."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from phrasebox.metrics.ranked import QueryValues, Ranked
from phrasebox.metrics.table import METRICS, Measure, MeasureWithCutoff


@dataclass(frozen=True, slots=True)
class Score:
    """One measure of one ranking.

    `value` is a share (0..1) or a rank, NaN where no query has one; `per_query` has shape (queries,), NaN
    where undefined; `queries` is the number that entered. `optimistic` is the figure with the best case for
    unjudged items, None if the measure has none; `value` is the worst case.
    """

    measure: str
    value: float
    per_query: QueryValues
    queries: int
    optimistic: float | None = None


def evaluate(ranked: Ranked, measures: Iterable[str]) -> dict[str, Score]:
    """Figures by canonical name, in the order asked; raises UnknownMeasure, and ValueError if
    originals are asked for and the judgments mark none.

    >>> from phrasebox.metrics.judgments import originals_of
    >>> from phrasebox.metrics.ranked import from_scores
    >>> ranked = from_scores([[0.9, 0.1], [0.8, 0.7]], originals_of([0, 1], queries=2))
    >>> {name: figure.value for name, figure in evaluate(ranked, ["R@1", "median rank"]).items()}
    {'R@1': 0.5, 'median rank': 1.5}
    """
    return {
        requested.name: _score(ranked, requested)
        for requested in [METRICS.find(m, family="ranking") for m in measures]
    }


def _score(ranked: Ranked, requested: MeasureWithCutoff) -> Score:
    measure = requested.measure
    values, best = requested.values(ranked), requested.optimistic(ranked)
    optimistic = None if best is None else _summary(measure, best)
    return Score(
        requested.name, _summary(measure, values), values, int((~np.isnan(values)).sum()), optimistic
    )


def _summary(measure: Measure, values: QueryValues) -> float:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return float("nan")
    return float(np.median(defined) if measure.summary == "median" else defined.mean())
