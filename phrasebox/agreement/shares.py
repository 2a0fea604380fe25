"""Intervals of shares of hits among items, single or in clusters (the items of an image).

A bootstrap is useless if every item is a hit, or none is: all its resamples are equal. Near 0 and 1, and with
few clusters, it is too narrow. So a share has Wilson's score interval, which handles both
(`studies/intervals.py` measures its coverage; docs/significance.md has the table).

Clusters. Items of one image are similar, so they give less information than as many items of different
images. Wilson's formula is applied to the effective number of items: their number over the design effect,
which is the variance of the share between clusters (linearised, of a ratio) over that of independent items,
and 1 at least. As that variance is itself estimated from the clusters, the number shrinks by (z / t)^2, t
being Student's with one degree of freedom less than clusters. If all items are equal, the similarity within
an image is unknown: each cluster counts as one item, which is the worst case. With one item per cluster it is
Wilson's interval itself.

Sources: Wilson 1927; Kish 1965 (design effect); Korn and Graubard 1998 (effective number of items in
intervals of shares, and the factor of t).
"""

from collections.abc import Callable
from math import sqrt
from statistics import NormalDist
from typing import Any

from numpy.typing import NDArray

from phrasebox.agreement.estimates import Estimate
from phrasebox.lazy import special

#: Numbers of items, of any type.
AnswerCounts = NDArray[Any]
#: The name of the kind of these intervals.
WILSON = "Wilson"


def wilson(hits: float, of: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a share; (0, 1) without items. Raises ValueError for an invalid
    share.

    Effective numbers need not be whole.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    if not 0 <= hits <= of or not 0 < level < 1:
        raise ValueError(f"{hits} of {of} at level {level}: expected a share, and a level between 0 and 1")
    if of == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, extra = hits / of, z * z / of
    middle = (share + extra / 2) / (1 + extra)
    half = z * sqrt(share * (1 - share) / of + extra / of / 4) / (1 + extra)
    # At the ends the bound is exact; rounding must not move it away from the share.
    return (0.0 if hits == 0 else middle - half), (1.0 if hits == of else middle + half)


def effective_number(hits: AnswerCounts, items: AnswerCounts, level: float = 0.95) -> float:
    """Return the number of independent items that give as much information about the share as these, for an
    interval of `level`.

    `hits` and `items` have shape (clusters,). At most the number of items; 0 if a single cluster has both
    hits and misses, which says nothing about other clusters.

    >>> import numpy as np
    >>> effective_number(np.array([1, 1, 0, 0]), np.array([1, 1, 1, 1]))  # clusters of one item each
    4.0
    """
    hits, items = hits[items > 0], items[items > 0]
    clusters, number = len(items), float(items.sum())
    if not clusters or items.max() == 1:
        return number
    share = float(hits.sum()) / number
    if share in (0.0, 1.0):
        return float(clusters)
    if clusters == 1:
        return 0.0
    spread = hits - share * items
    variance = clusters / (clusters - 1) * float(spread @ spread) / number**2
    effect = max(1.0, variance * number / (share * (1 - share)))
    upper = (1 + level) / 2
    return number / effect * float(NormalDist().inv_cdf(upper) / special.stdtrit(clusters - 1, upper)) ** 2


def share_interval(hits: AnswerCounts, items: AnswerCounts, level: float = 0.95) -> tuple[float, float]:
    """Return the bounds of the share of hits, from the hits and items of each cluster, shape (clusters,); (0,
    1) without items.

    >>> import numpy as np
    >>> share_interval(np.array([8]), np.array([10]))  # of one image, which tells nothing about others
    (0.0, 1.0)
    """
    number, total = effective_number(hits, items, level), float(items.sum())
    return wilson(float(hits.sum()) / total * number, number, level) if total else (0.0, 1.0)


def share_estimate(
    hits: AnswerCounts,
    items: AnswerCounts,
    why: str,
    *,
    of: int,
    level: float | None,
    moved: Callable[[float], float] = lambda share: share,
) -> Estimate:
    """Return the share of hits with its interval; undefined without items, with `why` as the reason.

    `hits` and `items` have shape (clusters,), `of` is the number of items that the figure is about. `moved`
    converts the share to the figure, if that is an increasing function of it. Without a `level` there is no
    interval.
    """
    total, clusters = float(items.sum()), int((items > 0).sum())
    if not total:
        return Estimate(None, of, why)
    value = moved(float(hits.sum()) / total)
    if level is None:
        return Estimate(value, of)
    low, high = share_interval(hits, items, level)
    return Estimate(
        value,
        of,
        low=moved(low),
        high=moved(high),
        level=level,
        interval=WILSON,
        clusters=clusters,
    )
