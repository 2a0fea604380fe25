"""The part of any sentence that fits a region best: a baseline for captions of regions.

A run of words has the score of a sentence of these words with an image of this one region: the sum of the
inner products of region and words. So a word that does not fit the region lowers the score, and runs end
there.

Source: Karpathy and Fei-Fei 2015, section 4.3 and Table 3 ("Ranking baseline"), which does not say how long
the substrings are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import RaggedRows

#: Maximum number of inner products in memory at a time.
_PRODUCTS = 20_000_000


@dataclass(frozen=True, slots=True)
class Substring:
    """Words `first` to `end` (exclusive) of a sentence, and their score with a region."""

    sentence: int
    first: int
    end: int
    score: float


def best_substrings(regions: NDArray[Any], words: RaggedRows, *, longest: int) -> list[Substring]:
    """Return the best run of at most `longest` words of any sentence, whose words have shape (words, h), for
    each region, shape (regions, h). Of equally good ones the shortest is taken, and of these the first.

    Raises ValueError if there are no words.
    """
    values = words.joined().astype(np.float64)
    if not len(values):
        raise ValueError("there are no sentences to take words from; the training captions have none")
    counts = words.counts
    sentence_of = np.repeat(np.arange(len(words)), counts)
    first_of = np.repeat(np.cumsum(counts) - counts, counts)
    # The number of words left in the sentence from each word on.
    left = np.repeat(np.cumsum(counts), counts) - np.arange(len(sentence_of))
    substrings: list[Substring] = []
    step = max(1, _PRODUCTS // len(sentence_of))
    for start in range(0, len(regions), step):
        products = np.asarray(regions[start : start + step], np.float64) @ values.T
        rows = np.arange(len(products))
        best = np.full(len(products), -np.inf)
        begin, length = np.zeros(len(products), np.intp), np.zeros(len(products), np.intp)
        sums = np.zeros_like(products)
        for size in range(1, min(longest, int(counts.max())) + 1):
            reach = len(sentence_of) - size + 1
            sums = sums[:, :reach] + products[:, size - 1 :]
            whole = np.where(left[:reach] >= size, sums, -np.inf)
            at = whole.argmax(axis=1)
            better = whole[rows, at] > best
            best[better], begin[better], length[better] = whole[rows, at][better], at[better], size
        for score, at, size in zip(best.tolist(), begin.tolist(), length.tolist(), strict=True):
            first = int(at - first_of[at])
            substrings.append(Substring(int(sentence_of[at]), first, first + size, score))
    return substrings
