"""Sums and places by query, of which ranking measures are made."""

import numpy as np
from numpy.typing import NDArray

from phrasebox.metrics.ranked import Mask, Places, QueryValues, Ranked


def sum_per_query(ranked: Ranked, query: NDArray[np.intp], amounts: QueryValues | Mask) -> QueryValues:
    """The amounts added up, shape (queries,)."""
    sums = np.bincount(query, weights=amounts, minlength=ranked.judged.queries)
    return sums.astype(np.float64)  # bincount of nothing gives integers


def number_of(ranked: Ranked, mask: Mask) -> QueryValues:
    """How many of the masked pairs each query has."""
    return sum_per_query(ranked, ranked.judged.query[mask], np.ones(int(mask.sum())))


def shares_or_zero(amounts: QueryValues, by: QueryValues) -> QueryValues:
    """Shares; 0 where there is nothing to divide by, as trec_eval has it."""
    return np.divide(amounts, by, out=np.zeros(len(amounts)), where=by > 0)


def best_rank(ranked: Ranked, mask: Mask) -> QueryValues:
    """The place of the best masked item; NaN where a query has none, infinity if none was retrieved."""
    places = ranked.places(mask)
    first = np.full(ranked.judged.queries, np.nan)
    leads = places.order == 1
    first[places.query[leads]] = places.rank[leads]
    return first


def count_within(ranked: Ranked, places: Places, limit: QueryValues) -> QueryValues:
    """How many stand at places up to their query's limit; `limit` has shape (queries,)."""
    return sum_per_query(ranked, places.query, places.rank <= limit[places.query])


def cut(ranked: Ranked, k: int | None) -> QueryValues:
    """The same limit for every query; none is infinity."""
    return np.full(ranked.judged.queries, np.inf if k is None else float(k))
