"""Count the queries on which one system is better than another, and test whether that is more than chance.

If people graded the items that systems found, these are preferences derived from grades. Queries on which
both are equal give no information: they are left out of the share and of the sign test, which is exact and
two-sided. If several queries share an image, they are not independent: the interval is computed over images,
and p comes from a randomisation that exchanges the systems image by image. Source: Dixon and Mood 1946 (sign
test).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phrasebox.agreement.shares import share_interval, wilson
from phrasebox.significance.mcnemar_test import mcnemar
from phrasebox.significance.pairing import paired, shared_images
from phrasebox.significance.randomisation import ROUNDS, of_mean


@dataclass(frozen=True, slots=True)
class Preference:
    """The numbers of queries on which the first is `better`, `equal` or `worse`. `share` is that of the
    better ones among the unequal ones, with its interval (Wilson); None if all are equal. `p` is that of the
    sign test, or of the randomisation by images."""

    better: int
    equal: int
    worse: int
    share: float | None
    low: float
    high: float
    p: float


def preference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
    images: Sequence[Hashable] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Preference:
    """Compare two systems' values, shape (queries,), query by query; NaN for a query without a value for
    either.

    `images` has the image of each query; `rounds` and `seed` are for the randomisation by images. Raises
    ValueError for different numbers of queries, and for one that has a value for one only.

    >>> found = preference([3, 2, 4, 1, 1], [1, 1, 4, 2, 0])
    >>> found.better, found.equal, found.worse, found.share, found.p
    (3, 1, 1, 0.75, 0.625)
    """
    ours, theirs = paired(first, second)
    above, below = (ours > theirs, ours < theirs) if higher_is_better else (ours < theirs, ours > theirs)
    better, worse = int(above.sum()), int(below.sum())
    owners = shared_images(images, first)
    if owners is None:
        low, high = wilson(better, better + worse, level)
        p = mcnemar(above, below).p
    else:
        hits, misses = (np.bincount(owners, weights=weights) for weights in (above, below))
        decided = hits + misses > 0
        low, high = share_interval(hits[decided], (hits + misses)[decided], level)
        # Above minus below has only the sign of the difference.
        p = of_mean(above, below, images=owners.tolist(), rounds=rounds, seed=seed).p
    return Preference(
        better,
        int(np.sum(~above & ~below)),
        worse,
        better / (better + worse) if better + worse else None,
        low,
        high,
        p,
    )
