"""Sums and ranks by query, from which ranking measures are computed."""

import numpy as np
from numpy.typing import NDArray

from phrasebox.metrics.ranked import Mask, Places, QueryValues, Ranked


def sum_per_query(ranked: Ranked, query: NDArray[np.intp], amounts: QueryValues | Mask) -> QueryValues:
    """Return the sums of the amounts, shape (queries,)."""
    sums = np.bincount(query, weights=amounts, minlength=ranked.judged.queries)
    return sums.astype(np.float64)  # bincount of an empty array returns integers


def number_of(ranked: Ranked, mask: Mask) -> QueryValues:
    """Return how many of the masked pairs each query has."""
    return sum_per_query(ranked, ranked.judged.query[mask], np.ones(int(mask.sum())))


def shares_or_zero(amounts: QueryValues, by: QueryValues) -> QueryValues:
    """Return the quotients; 0 if the divisor is 0, as in trec_eval."""
    return np.divide(amounts, by, out=np.zeros(len(amounts)), where=by > 0)


def best_rank(ranked: Ranked, mask: Mask) -> QueryValues:
    """Return the rank of the best masked item; NaN where a query has none, infinity if none was retrieved."""
    places = ranked.places(mask)
    first = np.full(ranked.judged.queries, np.nan)
    leads = places.order == 1
    first[places.query[leads]] = places.rank[leads]
    return first


def count_within(ranked: Ranked, places: Places, limit: QueryValues) -> QueryValues:
    """Return how many have ranks up to their query's limit; `limit` has shape (queries,)."""
    return sum_per_query(ranked, places.query, places.rank <= limit[places.query])


def cut(ranked: Ranked, k: int | None) -> QueryValues:
    """Return the same limit for every query; None is infinity."""
    return np.full(ranked.judged.queries, np.inf if k is None else float(k))
