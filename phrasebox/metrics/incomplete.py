"""Measures for partially judged rankings, and what unjudged items could have added.

bpref and infAP look only at judged (and, for infAP, pooled) items; judged@k says how much of the top k was
seen at all. Both agree with trec_eval, which sums over what was retrieved and divides by the number of
relevant items. Sources: Buckley and Voorhees 2004 (bpref); Yilmaz and Aslam 2006 (infAP).
"""

import numpy as np

from phrasebox.metrics.ranked import QueryValues, Ranked
from phrasebox.metrics.sums import count_within, cut, number_of, shares_or_zero, sum_per_query
from phrasebox.metrics.table import add_measure

#: trec_eval's constant that keeps infAP's share defined where nothing above was judged.
_INFAP_EPSILON = 1e-5


def bpref(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return bpref (Buckley and Voorhees 2004) as trec_eval computes it.

    >>> from phrasebox.metrics.judgments import judged
    >>> from phrasebox.metrics.ranked import from_scores
    >>> pairs = judged([0, 0, 0], [0, 1, 2], [1, 0, 1], queries=1, items=4)
    >>> bpref(from_scores([[0.9, 0.8, 0.7, 0.6]], pairs)).tolist()  # the second is behind the only no
    [0.5]
    """
    relevant, not_relevant = number_of(ranked, ranked.relevant), number_of(ranked, ranked.not_relevant)
    places = ranked.places(ranked.relevant)
    above = np.minimum(ranked.before(places, ranked.not_relevant), relevant[places.query])
    scale = np.minimum(relevant, not_relevant)[places.query]
    lost = np.divide(above, scale, out=np.zeros(len(above)), where=above > 0)
    gained = sum_per_query(ranked, places.query, np.where(np.isinf(places.rank), 0, 1 - lost))
    return shares_or_zero(gained, relevant)


def inferred_ap(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return infAP (Yilmaz and Aslam 2006) as trec_eval computes it."""
    places = ranked.places(ranked.relevant)
    not_relevant = ranked.before(places, ranked.not_relevant)
    pooled = ranked.before(places, ranked.pooled)
    is_ranked = np.isfinite(places.rank)
    rank, earlier = np.where(is_ranked, places.rank, 1), places.order - 1
    share = (earlier + _INFAP_EPSILON) / (earlier + not_relevant + 2 * _INFAP_EPSILON)
    expected = 1 / rank + (earlier + not_relevant + pooled) / rank * np.where(rank > 1, share, 0)
    gained = sum_per_query(ranked, places.query, np.where(is_ranked, expected, 0))
    return shares_or_zero(gained, number_of(ranked, ranked.relevant))


def judged_share(ranked: Ranked, k: int) -> QueryValues:
    """Return the share of the top k that was judged; for a ranking shorter than k, of all its items, as in
    ir_measures. 0 for an empty one.

    >>> from phrasebox.metrics.judgments import judged
    >>> from phrasebox.metrics.ranked import from_scores
    >>> pairs = judged([0, 0], [0, 2], [1, 0], queries=1, items=4)
    >>> judged_share(from_scores([[0.9, 0.8, 0.7, 0.6]], pairs), 4).tolist()
    [0.5]
    """
    seen = count_within(ranked, ranked.places(ranked.judged.grade >= 0), cut(ranked, k))
    return shares_or_zero(seen, np.minimum(ranked.depth, k).astype(np.float64))


def unjudged_within(ranked: Ranked, limit: QueryValues) -> QueryValues:
    """Return the number of unjudged items at ranks up to the limit."""
    seen = count_within(ranked, ranked.places(ranked.judged.grade >= 0), limit)
    return np.maximum(np.minimum(limit, ranked.depth) - seen, 0)


add_measure(
    "bpref",
    "relevant items before items judged not relevant",
    "ranking",
    bpref,
    "Buckley and Voorhees 2004",
    trec_name="bpref",
)
add_measure(
    "infAP",
    "average precision inferred from a judged sample",
    "ranking",
    inferred_ap,
    "Yilmaz and Aslam 2006",
    trec_name="infAP",
)
add_measure(
    "judged@k",
    "share of the top k that was judged",
    "ranking",
    judged_share,
    "ir_measures",
    cut_off="required",
)
