"""Segments of a sentence and their regions, as the best labelling of a chain.

Word j of a sentence is assigned the region a_j. The best labels of a sentence maximise

    sum over j of products[a_j, j]  +  beta * (number of neighbours j, j + 1 with a_j = a_(j+1))

where `products` are the inner products of regions and words. With beta = 0 each word has its own best region;
with a large beta the whole sentence has one. The best labels are found by dynamic programming in time regions
x words, starting from the last word; of equally good regions a word gets that of the next word, else the one
with the smaller number.

Source: Karpathy and Fei-Fei 2015, eq. 10 to 12. The paper calls the sum an energy and says that it is
minimised; the products are high where word and region match, so it is maximised here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Segment:
    """Words `first` to `end` (exclusive) of a sentence, and the number of their region."""

    first: int
    end: int
    region: int


def best_labels(products: NDArray[Any], beta: float) -> NDArray[np.intp]:
    """Return the region of each word, shape (words,); `products` has shape (regions, words).

    Raises ValueError if there is no region, for a `beta` below 0, and for products that are not finite.
    """
    scores = np.asarray(products, np.float64)
    regions, words = scores.shape
    if not regions:
        raise ValueError("there is no region to give the words to")
    if not 0 <= beta < np.inf:
        raise ValueError(f"beta is {beta}; expected a number of at least 0")
    if not np.isfinite(scores).all():
        raise ValueError("a product of a region with a word is not finite")
    labels = np.zeros(words, np.intp)
    if not words:
        return labels
    came_from = np.zeros((words, regions), np.intp)
    best = scores[:, 0]
    for word in range(1, words):
        # From the best of all regions, or from the same region, which adds beta.
        before = int(best.argmax())
        stays = best + beta >= best[before]
        came_from[word] = np.where(stays, np.arange(regions), before)
        best = np.where(stays, best + beta, best[before]) + scores[:, word]
    labels[-1] = int(best.argmax())
    for word in range(words - 1, 0, -1):
        labels[word - 1] = came_from[word, labels[word]]
    return labels


def segments(labels: NDArray[np.intp]) -> list[Segment]:
    """Return the runs of words with the same region, in the order of the words."""
    cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return [
        Segment(first, end, int(labels[first]))
        for first, end in zip(cuts, cuts[1:], strict=False)
        if first < end
    ]
