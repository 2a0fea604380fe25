"""The filter of unlikely pairs, and an estimate of its loss.

A pair whose caption shares too few content words with the captions written for the image (BLEU_pre under a
threshold) is not asked about. But pages are filled up with some of these pairs, and their judgments show how
many relevant pairs the filter loses.

The interval is that of shares (`agreement.shares`): Wilson's, for the effective number of fillers, since
pairs of one image are similar. It is useful even if no relevant pair was seen. It holds for the pairs that
were drawn as fillers: these are drawn among the images that are asked about, at random within an image, and
not evenly over all filtered pairs.

Source: Hodosh et al. 2013, section 4.3.2 (threshold 0.25; 98.3 % of 10,374 filtered pairs found irrelevant by
all judges, 99.8 % by the majority).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasebox.agreement.shares import effective_number, share_interval
from phrasebox.metrics.overlap import Overlap, content_words
from phrasebox.pooling.pools import PairIds, Space

#: The threshold of the paper.
BLEU_PRE_THRESHOLD = 0.25


def bleu_pre(
    texts: Sequence[str], references: Sequence[Sequence[str]], space: Space, pairs: PairIds
) -> NDArray[np.float64]:
    """Return BLEU_pre of each pair, shape (pairs,): `texts` of the captions against `references` of the
    images.

    Raises ValueError for an image of a pair without references.
    """
    images, captions = space.parts(pairs)
    unique_images, image = np.unique(images, return_inverse=True)
    candidates, candidate = np.unique(captions, return_inverse=True)
    overlap = Overlap(
        [content_words(texts[caption]) for caption in candidates.tolist()],
        [
            [content_words(text) for text in references[image_number]]
            for image_number in unique_images.tolist()
        ],
    )
    return overlap.precision(image.astype(np.int64), candidate.astype(np.int64))


@dataclass(frozen=True, slots=True)
class FilterLoss:
    """What the judgments of fillers say about all pairs that were filtered out.

    Of the `judged` fillers, `relevant` were relevant, and `some_yes` were ticked by at least one judge. They
    come from `images` images, and give as much information as `effective` independent pairs. `low` and `high`
    bound the share of relevant ones. `expected`, `at_least` and `at_most` are numbers of relevant pairs among
    all `filtered`, as far as fillers represent them; `lost` is their share of all relevant pairs, including
    the `relevant_left` among the pairs that the filter left.
    """

    judged: int
    relevant: int
    some_yes: int
    level: float
    low: float
    high: float
    images: int
    effective: float
    filtered: int
    expected: float
    at_least: float
    at_most: float
    relevant_left: int
    lost: float | None
    lost_at_most: float | None


def filter_loss(
    images: PairIds,
    relevant: NDArray[np.bool_],
    some_yes: NDArray[np.bool_],
    *,
    filtered: int,
    relevant_left: int,
    level: float = 0.95,
) -> FilterLoss | None:
    """Return the loss of the filter, from judged fillers; None if none was judged.

    `images`, `relevant`, `some_yes`: shape (fillers,), for pairs among the `filtered` ones, which is their
    total number. `relevant_left` of the pairs that the filter left were judged relevant.
    """
    number, hits = len(images), int(relevant.sum())
    if not number:
        return None
    _, cluster = np.unique(images, return_inverse=True)
    own_hits = np.bincount(cluster, weights=relevant)
    sizes = np.bincount(cluster)
    low, high = share_interval(own_hits, sizes, level)
    expected, at_most = hits / number * filtered, high * filtered

    def lost(missed: float) -> float | None:
        return missed / (missed + relevant_left) if missed + relevant_left else None

    return FilterLoss(
        judged=number,
        relevant=hits,
        some_yes=int(some_yes.sum()),
        level=level,
        low=low,
        high=high,
        images=len(sizes),
        effective=effective_number(own_hits, sizes, level),
        filtered=filtered,
        expected=expected,
        at_least=low * filtered,
        at_most=at_most,
        relevant_left=relevant_left,
        lost=lost(expected),
        lost_at_most=lost(at_most),
    )
