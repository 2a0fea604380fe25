"""Measures of graded relevance: discounted gains (DCG, nDCG) and the expected reciprocal rank (ERR).

Conventions.
- DCG: gain is the grade, discount log2(1 + place). nDCG divides by the DCG of the best order of all judged
  items. Source: Järvelin and Kekäläinen 2002, with the discount of trec_eval.
- ERR: a reader stops at an item of grade g with probability (2^g - 1) / 2^max. `max` is the highest grade of
  the scale, and 4 if a name gives none, as in gdeval, which computes ERR for ir_measures. Source: Chapelle et
  al. 2009.
- Ties: optimistic takes tied grades falling, pessimistic rising. Otherwise gains are averaged over tied
  places, and ERR is the mean of both orders.

The second of two images finds its caption at place 2.

>>> from phrasebox.metrics.judgments import originals_of
>>> from phrasebox.metrics.ranked import from_scores
>>> ranked = from_scores([[0.9, 0.8, 0.1], [0.2, 0.9, 0.5]], originals_of([0, 0, 1], queries=2))
>>> dcg(ranked).round(3).tolist(), ndcg(ranked).round(3).tolist()  # 1 + 1 / log2(3), 1 / log2(3)
([1.631, 0.631], [1.0, 0.631])
>>> expected_reciprocal_rank(ranked, 1, 1).tolist(), expected_reciprocal_rank(ranked, None, 1).tolist()
([0.5, 0.0], [0.625, 0.25])
"""

import numpy as np
from numpy.typing import NDArray

from phrasebox.metrics.ranked import Places, QueryValues, Ranked
from phrasebox.metrics.sums import cut, shares_or_zero, sum_per_query
from phrasebox.metrics.table import Parameter, add_measure

#: The highest grade that gdeval knows.
HIGHEST_GRADE = 4


def dcg(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return the discounted gains of the top k; shape (queries,)."""
    places = ranked.places(ranked.judged.grade > 0)
    gains = ranked.judged.grade[places.pair]
    if ranked.ties == "mean" and len(gains):
        gains = (np.bincount(places.tie, weights=gains) / np.bincount(places.tie))[places.tie]
    elif ranked.ties == "pessimistic":
        gains = gains[_rising(gains, places)]
    return _discounted(ranked, k, places, gains, places.rank)


def ndcg(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return the discounted gains of the top k divided by those of the ideal order; shape (queries,), in
    0..1."""
    places = ranked.places(ranked.judged.grade > 0)
    gains = ranked.judged.grade[places.pair]
    best = np.lexsort((-gains, places.query))
    # Places are counted within a query, whatever the order in it, so they also work for the ideal order.
    ideal = _discounted(ranked, k, places, gains[best], places.order.astype(np.float64))
    return shares_or_zero(dcg(ranked, k), ideal)


def expected_reciprocal_rank(
    ranked: Ranked, k: int | None = None, highest: float = HIGHEST_GRADE
) -> QueryValues:
    """Return the expected reciprocal rank of the item at which a reader stops, in the top k; shape
    (queries,).

    `highest` is the highest grade of the scale. Raises ValueError for a higher grade.
    """
    places = ranked.places(ranked.judged.grade > 0)
    grades = ranked.judged.grade[places.pair]
    if len(grades) and grades.max() > highest:
        raise ValueError(
            f"grade {grades.max():g} is above {highest:g}, the highest of ERR; "
            f"use 'ERR(max={grades.max():g})', for example"
        )
    falling, rising = grades, grades[_rising(grades, places)]
    orders = {"mean": [falling, rising], "optimistic": [falling], "pessimistic": [rising]}[ranked.ties]
    return np.mean([_stopped(ranked, k, places, order, highest) for order in orders], axis=0)


def _stopped(
    ranked: Ranked, k: int | None, places: Places, grades: NDArray[np.float64], highest: float
) -> QueryValues:
    stops = (2**grades - 1) / 2**highest
    # The logarithm of the probability that the reader gets to each item, over all queries at once.
    goes_on = np.concatenate([[0.0], np.cumsum(np.log1p(-stops))])
    number = np.arange(len(stops))
    reached = np.exp(goes_on[number] - goes_on[number - (places.order - 1)])
    counted = places.rank <= cut(ranked, k)[places.query]
    return sum_per_query(ranked, places.query, stops * reached * counted / places.rank)


def _discounted(
    ranked: Ranked, k: int | None, places: Places, gains: NDArray[np.float64], rank: NDArray[np.float64]
) -> QueryValues:
    discounts = np.where(rank <= cut(ranked, k)[places.query], 1 / np.log2(1 + rank), 0)
    return sum_per_query(ranked, places.query, gains * discounts)


def _rising(grades: NDArray[np.float64], places: Places) -> NDArray[np.intp]:
    """Return the order in which tied grades rise."""
    return np.lexsort((grades, places.tie))


add_measure(
    "DCG@k",
    "discounted cumulative gain, linear in the grade",
    "ranking",
    dcg,
    "Järvelin and Kekäläinen 2002",
    cut_off="optional",
    unit="score",
    bounds=(0.0, np.inf),
)
add_measure(
    "nDCG@k",
    "normalised discounted cumulative gain, linear in the grade",
    "ranking",
    ndcg,
    "trec_eval",
    cut_off="optional",
    aliases=("ndcg_cut",),
    trec_name="ndcg_cut#",
)
add_measure(
    "ERR@k",
    "expected reciprocal rank of the item at which a reader stops; max is the highest grade, 4",
    "ranking",
    expected_reciprocal_rank,
    "Chapelle et al. 2009; gdeval",
    cut_off="optional",
    parameter=Parameter("max", HIGHEST_GRADE, 1, 100),
)
