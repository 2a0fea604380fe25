"""Measures of rankings, one number per query, from the places of its judged items.

`scoring.evaluate(ranked, ["R@10", "median rank"])` computes figures from them. Two kinds of items are never
mixed: R@k and the ranks use the *original* items (Hodosh et al. 2013, section 4.3.1: "the original item among
the top k"; of several, any), all other measures use the *relevant* items of the qrels.

Conventions.
- A query without a relevant item counts 0, as in trec_eval. Without an original it has no R@k and no rank,
  NaN, and does not enter their means.
- What nobody judged is not relevant. The `..._at_best` functions count every unjudged item within
  the cut as relevant, the number R of relevant items as judged (for recall: with those added).
- A ranking shorter than k is still divided by k. What was not retrieved has no place and adds 0.
- MiAP is the mean over images of AP, as tagging has it; with images as queries it is MAP.
- Measures of grades are in `graded`, precision at levels of recall in `recall_levels`.
- mAP@R: the mean over places 1 to R of precision where a relevant item stands, 0 elsewhere.
  Source: Musgrave et al. 2020; Chun et al. 2022 (ECCV Caption).

Two images by three captions, the first two the first image's. It finds both of its captions at places 1 and
2; the second image finds its own at place 2.

>>> from phrasebox.metrics.judgments import originals_of
>>> from phrasebox.metrics.ranked import from_scores
>>> ranked = from_scores([[0.9, 0.8, 0.1], [0.2, 0.9, 0.5]], originals_of([0, 0, 1], queries=2))
>>> original_in_top(ranked, 1).tolist(), first_original(ranked).tolist()
([1.0, 0.0], [1.0, 2.0])
>>> success(ranked, 2).tolist(), recall(ranked, 1).tolist(), precision(ranked, 2).tolist()
([1.0, 1.0], [0.5, 0.0], [1.0, 0.5])
>>> r_precision(ranked).tolist(), reciprocal_rank(ranked).tolist(), average_precision(ranked).tolist()
([1.0, 0.0], [1.0, 0.5], [1.0, 0.5])
>>> average_precision_at_r(ranked).tolist(), hits(ranked, 2).tolist(), f_measure(ranked, 2).round(3).tolist()
([1.0, 0.0], [2.0, 1.0], [1.0, 0.667])
>>> rank_biased_precision(ranked, p=0.5).tolist()  # 0.5 + 0.25, and 0.25
[0.75, 0.25]
"""

import numpy as np

from phrasebox.metrics.incomplete import unjudged_within
from phrasebox.metrics.ranked import QueryValues, Ranked
from phrasebox.metrics.sums import best_rank, count_within, cut, number_of, shares_or_zero, sum_per_query
from phrasebox.metrics.table import Parameter, add_measure

HODOSH = "Hodosh et al. 2013, section 4.3"
TREC = "trec_eval"


def first_original(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return the rank of the query's (best) original item."""
    if len(ranked.judged.original) and not ranked.judged.original.any():
        raise ValueError("no judgment is marked as original, which R@k and ranks need; use S@k instead")
    return best_rank(ranked, ranked.judged.original)


def original_in_top(ranked: Ranked, k: int) -> QueryValues:
    """Return 1 if an original item is among the top k, else 0; shape (queries,)."""
    first = first_original(ranked)
    return np.where(np.isnan(first), np.nan, first <= k)


def success(ranked: Ranked, k: int) -> QueryValues:
    """Return 1 if a relevant item is among the top k, else 0; shape (queries,)."""
    return (best_rank(ranked, ranked.relevant) <= k).astype(np.float64)


def reciprocal_rank(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return 1 / rank of the first relevant item, 0 if it is below the top k; shape (queries,)."""
    first = best_rank(ranked, ranked.relevant)
    return np.where(first <= cut(ranked, k), 1 / first, 0.0)


def precision(ranked: Ranked, k: int) -> QueryValues:
    """Return the share of the top k that is relevant, divided by k however short the ranking; shape
    (queries,)."""
    return count_within(ranked, ranked.places(ranked.relevant), cut(ranked, k)) / k


def recall(ranked: Ranked, k: int) -> QueryValues:
    """Return the share of the relevant items that are in the top k; shape (queries,)."""
    hits = count_within(ranked, ranked.places(ranked.relevant), cut(ranked, k))
    return shares_or_zero(hits, number_of(ranked, ranked.relevant))


def r_precision(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return the precision at R, the number of the query's relevant items; shape (queries,)."""
    number = number_of(ranked, ranked.relevant)
    return shares_or_zero(count_within(ranked, ranked.places(ranked.relevant), number), number)


def average_precision(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return the sum of the precisions at each relevant item of the top k, divided by R; shape (queries,)."""
    return _average_precision(ranked, cut(ranked, k))


def average_precision_at_r(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return mAP@R: like `average_precision`, cut at R; shape (queries,). Musgrave et al. 2020."""
    return _average_precision(ranked, number_of(ranked, ranked.relevant))


def _average_precision(ranked: Ranked, limit: QueryValues) -> QueryValues:
    places = ranked.places(ranked.relevant)
    counted = places.rank <= limit[places.query]
    gained = sum_per_query(ranked, places.query, counted * places.order / places.rank)
    return shares_or_zero(gained, number_of(ranked, ranked.relevant))


def hits(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Return the number of relevant items in the top k; shape (queries,)."""
    return count_within(ranked, ranked.places(ranked.relevant), _size(ranked, k))


def f_measure(ranked: Ranked, k: int | None = None, beta: float = 1) -> QueryValues:
    """Return F of precision and recall in the top k, or in all that is ranked; shape (queries,).

    `beta` is how many times as much recall counts as precision. Without a cut-off, precision is divided by
    what was retrieved (trec_eval's set_F), with one by k, as in P@k. Source: van Rijsbergen 1979.
    """
    size = _size(ranked, k)
    # P = hits / size and R = hits / number: F = (1 + b^2) P R / (b^2 P + R).
    number = number_of(ranked, ranked.relevant)
    return shares_or_zero((1 + beta**2) * hits(ranked, k), (beta**2 * number + size) * (number > 0))


def rank_biased_precision(ranked: Ranked, k: int | None = None, p: float = 0.8) -> QueryValues:
    """Return the rank-biased precision: (1 - p) times the sum of p^(rank - 1) over the relevant items of the
    top k; shape (queries,).

    `p` is the probability of reading on after an item. Source: Moffat and Zobel 2008.
    """
    places = ranked.places(ranked.relevant)
    counted = places.rank <= cut(ranked, k)[places.query]
    worth = np.power(p, np.where(counted, places.rank - 1, 0)) * counted
    return (1 - p) * sum_per_query(ranked, places.query, worth)


def _size(ranked: Ranked, k: int | None) -> QueryValues:
    """Return the number of places that count: k, or all that is ranked."""
    return ranked.depth.astype(np.float64) if k is None else cut(ranked, k)


def success_at_best(ranked: Ranked, k: int) -> QueryValues:
    """Like `success`, with every unjudged item of the top k relevant."""
    return np.maximum(success(ranked, k), unjudged_within(ranked, cut(ranked, k)) > 0)


def precision_at_best(ranked: Ranked, k: int) -> QueryValues:
    """Like `precision`, with every unjudged item of the top k relevant."""
    return np.minimum(precision(ranked, k) + unjudged_within(ranked, cut(ranked, k)) / k, 1)


def recall_at_best(ranked: Ranked, k: int) -> QueryValues:
    """Like `recall`, with every unjudged item of the top k relevant, and counted among the relevant ones."""
    number = number_of(ranked, ranked.relevant)
    added = unjudged_within(ranked, cut(ranked, k))
    return shares_or_zero(recall(ranked, k) * number + added, number + added)


def r_precision_at_best(ranked: Ranked, k: int | None = None) -> QueryValues:
    """Like `r_precision`, with every unjudged item up to place R relevant; R is unchanged, and the maximum is
    1."""
    number = number_of(ranked, ranked.relevant)
    return np.minimum(r_precision(ranked) + shares_or_zero(unjudged_within(ranked, number), number), 1)


add_measure(
    "R@k",
    "queries with an original item in the top k",
    "ranking",
    original_in_top,
    HODOSH,
    cut_off="required",
    binary=True,
)
add_measure(
    "median rank",
    "median rank of the best original item",
    "ranking",
    first_original,
    HODOSH,
    aliases=("Med r", "median r"),
    summary="median",
    unit="rank",
    higher_is_better=False,
)
add_measure(
    "mean rank",
    "mean rank of the best original item",
    "ranking",
    first_original,
    HODOSH,
    aliases=("Mean r",),
    unit="rank",
    higher_is_better=False,
)
add_measure(
    "S@k",
    "queries with a relevant item in the top k",
    "ranking",
    success,
    HODOSH,
    cut_off="required",
    aliases=("Success", "hit rate"),
    binary=True,
    optimistic=success_at_best,
    trec_name="success#",
)
add_measure(
    "R-precision",
    "precision at the number of relevant items",
    "ranking",
    r_precision,
    HODOSH,
    aliases=("Rprec",),
    optimistic=r_precision_at_best,
    trec_name="Rprec",
)
add_measure(
    "MRR@k",
    "mean of 1 / rank of the first relevant item",
    "ranking",
    reciprocal_rank,
    TREC,
    cut_off="optional",
    aliases=("RR", "recip_rank"),
    trec_name="recip_rank#",
)
add_measure(
    "recall@k",
    "share of the relevant items in the top k",
    "ranking",
    recall,
    TREC,
    cut_off="required",
    optimistic=recall_at_best,
    trec_name="recall#",
)
add_measure(
    "P@k",
    "share of the top k that is relevant",
    "ranking",
    precision,
    TREC,
    cut_off="required",
    aliases=("precision",),
    optimistic=precision_at_best,
    trec_name="P#",
)
add_measure(
    "MAP@k",
    "mean average precision",
    "ranking",
    average_precision,
    TREC,
    cut_off="optional",
    aliases=("AP", "map_cut"),
    trec_name="map_cut#",
)
add_measure(
    "MiAP",
    "image-centred average precision: images are the queries",
    "ranking",
    average_precision,
    "Li et al. 2016, Socializing the semantic gap",
)
add_measure(
    "mAP@R",
    "average precision within the top R, R the number of relevant items",
    "ranking",
    average_precision_at_r,
    "Musgrave et al. 2020; Chun et al. 2022",
    aliases=("MAP at R",),
)
add_measure(
    "hits@k",
    "number of relevant items in the top k",
    "ranking",
    hits,
    "ranx",
    cut_off="optional",
    unit="score",
    bounds=(0.0, np.inf),
)
add_measure(
    "F1@k",
    "F of precision and recall in the top k, or in all that is ranked",
    "ranking",
    f_measure,
    "van Rijsbergen 1979",
    cut_off="optional",
    aliases=("F", "SetF", "set_F"),
    trec_name="set_F",
    parameter=Parameter("beta", 1, 0, 100),
)
add_measure(
    "RBP@k",
    "precision for a reader who goes on to the next item with probability p, 0.8",
    "ranking",
    rank_biased_precision,
    "Moffat and Zobel 2008",
    cut_off="optional",
    parameter=Parameter("p", 0.8, 0, 0.999),
)
