"""The filter of unlikely pairs, and what it loses.

A pair whose caption shares too few content words with the captions written for the image (BLEU_pre
under a threshold) is not asked about. Pages are filled up with some of these pairs all the same, and
their judgments say how many relevant pairs the filter loses.

Intervals. Wilson's score interval takes pairs as independent, and says something where no relevant
pair was seen; the bootstrap draws whole images, since pairs of one image are not. Both are of the
pairs that were drawn as fillers: these are drawn among the images that are asked about, at random
within an image, and not evenly over all filtered pairs.

Source: Hodosh et al. 2013, section 4.3.2 (threshold 0.25; 98.3 % of 10,374 filtered pairs found
irrelevant by all judges, 99.8 % by the majority); Wilson 1927.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evaluation.agreement.estimates import Bootstrap, Estimate, estimate
from evaluation.metrics.overlap import Overlap, content_words
from evaluation.pooling.pools import Integers, Space

#: As printed.
THRESHOLD = 0.25


def bleu_pre(
    texts: Sequence[str], references: Sequence[Sequence[str]], space: Space, pairs: Integers
) -> NDArray[np.float64]:
    """BLEU_pre of each pair, shape (pairs,): `texts` of the captions against `references` of the images.

    Raises ValueError for an image of a pair that has no reference.
    """
    images, captions = space.parts(pairs)
    asked, image = np.unique(images, return_inverse=True)
    candidates, candidate = np.unique(captions, return_inverse=True)
    overlap = Overlap(
        [content_words(texts[caption]) for caption in candidates.tolist()],
        [[content_words(text) for text in references[one]] for one in asked.tolist()],
    )
    return overlap.precision(image.astype(np.int64), candidate.astype(np.int64))


@dataclass(frozen=True, slots=True)
class FilterLoss:
    """What the judgments of fillers say about all pairs that were filtered out.

    `relevant` and `some_yes` of the `judged` fillers were relevant, or ticked by anybody. `low` and
    `high` bound the share of relevant ones (Wilson); `by_image` is the same share with the interval of the
    bootstrap over images. `expected`, `at_least` and `at_most` are relevant pairs among all
    `filtered`, as far as fillers stand for them; `lost` is their share of all relevant pairs, those
    `found` by asking included.
    """

    judged: int
    relevant: int
    some_yes: int
    level: float
    low: float
    high: float
    by_image: Estimate
    filtered: int
    expected: float
    at_least: float
    at_most: float
    found: int
    lost: float | None
    lost_at_most: float | None


def wilson(hits: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share; (0, 1) of nothing. Raises ValueError for what is no share."""
    if not 0 <= hits <= of or not 0 < level < 1:
        raise ValueError(f"{hits} of {of} at level {level}: expected a share, and a level between 0 and 1")
    if of == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, extra = hits / of, z * z / of
    middle = (share + extra / 2) / (1 + extra)
    half = z * sqrt(share * (1 - share) / of + extra / of / 4) / (1 + extra)
    # At the ends the bound is exact; rounding must not put it beside the share.
    return (0.0 if hits == 0 else middle - half), (1.0 if hits == of else middle + half)


def filter_loss(
    images: Integers,
    relevant: NDArray[np.bool_],
    some_yes: NDArray[np.bool_],
    *,
    filtered: int,
    found: int,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> FilterLoss | None:
    """What the filter loses, from judged fillers; None where none was judged.

    `images`, `relevant`, `some_yes`: shape (fillers,). `filtered` pairs were filtered out in all, and
    `found` of those that were asked about are relevant.
    """
    number, hits = len(images), int(relevant.sum())
    if not number:
        return None
    clusters, cluster = np.unique(images, return_inverse=True)
    sums = np.zeros((len(clusters), 2))
    np.add.at(sums, cluster, np.stack([relevant, np.ones(number)], axis=1))
    by_image = estimate(
        sums,
        lambda totals: totals[:, 0] / np.maximum(totals[:, 1], 1),
        lambda _: "",
        items=number,
        bootstrap=Bootstrap(images.tolist(), resamples=resamples, level=level, seed=seed),
    )
    low, high = wilson(hits, number, level)
    expected, at_most = hits / number * filtered, high * filtered

    def lost(missed: float) -> float | None:
        return missed / (missed + found) if missed + found else None

    return FilterLoss(
        judged=number,
        relevant=hits,
        some_yes=int(some_yes.sum()),
        level=level,
        low=low,
        high=high,
        by_image=by_image,
        filtered=filtered,
        expected=expected,
        at_least=low * filtered,
        at_most=at_most,
        found=found,
        lost=lost(expected),
        lost_at_most=lost(at_most),
    )
