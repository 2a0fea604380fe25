"""The trigram kernel: how many short sequences of words two items share, gaps allowed.

A sequence w of k words matches a substring (i, j) of a caption that starts with its first word, ends
with its last and holds it in order; m(s, w) counts such substrings (eq. 12), so a word that stands
twice between i and j counts once. Over sequences of at most three words,

    K(s, s') = sum over w of lambda_w m(s, w) m(s', w) lambda_m^(2k)                     (eq. 15 and 16)

With a gap score under 1 each substring counts lambda_g^(j - i + 1 - k) on either side (eq. 14).
lambda_w is the product of the words' weights: 1, or idf in the kernel that is called sqrt-idf, since each
side then has the root. Responses are summed over all pairs of captions of two items, then normalised.

It is a product of sparse counts, hence positive semi-definite.

Source: Hodosh et al. 2013, sections 3.4.3 and 4.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from phrasebox.kernels.grams import FloatMatrix, normalised
from phrasebox.kernels.idf import Document, Weighting, caption_owners, weights
from phrasebox.lazy import sparse

#: The best scores in the paper: a match halves, a gap costs nothing.
MATCH, GAP = 0.5, 1.0

#: Number of rows of the product computed at once.
_ROWS = 256


class Trigram:
    """Gram matrices of documents under exact matches; `weighting` is learned on `training`.

    Raises ValueError for scores outside (0, 1].
    """

    def __init__(
        self,
        training: Sequence[Document],
        *,
        weighting: Weighting = "none",
        match: float = MATCH,
        gap: float = GAP,
    ) -> None:
        for name, score in (("match", match), ("gap", gap)):
            if not 0 < score <= 1:
                raise ValueError(f"{name} score {score:g}; expected above 0 and at most 1")
        self.weight = weights(weighting, training)
        self.match, self.gap = match, gap

    def gram(self, rows: Sequence[Document], columns: Sequence[Document]) -> FloatMatrix:
        """Return normalised responses in [0, 1]; 0 for an item without words of positive weight."""
        numbers: dict[str, int] = {}
        for documents in (rows, columns):
            for captions in documents:
                for words in captions:
                    for word in words:
                        numbers.setdefault(word, len(numbers) + 1)
        if (len(numbers) + 1) ** 3 >= 2**63:
            raise ValueError(f"{len(numbers)} different words; trigrams allow at most 2,097,151")
        left = self._counts(rows, numbers)
        right = left if columns is rows else self._counts(columns, numbers)
        sequences, places = np.unique(np.concatenate([left[1], right[1]]), return_inverse=True)
        cut = len(left[1])
        row_counts = self._matrix(left, places[:cut], len(rows), len(sequences))
        column_counts = (
            row_counts if columns is rows else self._matrix(right, places[cut:], len(columns), len(sequences))
        )
        gram = np.empty((len(rows), len(columns)))
        turned = sparse.csr_array(column_counts.T)
        for top in range(0, len(rows), _ROWS):
            gram[top : top + _ROWS] = (row_counts[top : top + _ROWS] @ turned).todense()
        return normalised(gram, _squares(row_counts), _squares(column_counts))

    def _counts(
        self, documents: Sequence[Document], numbers: dict[str, int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatMatrix]:
        """Return item, sequence (its words as digits in base len(numbers) + 1) and value of each match."""
        weight = [0.0, *(self.match * self.weight(word) for word in numbers)]
        base = len(numbers) + 1
        gaps = [self.gap**n for n in range(1 + max((len(w) for d in documents for w in d), default=0))]
        codes: list[int] = []
        values: list[float] = []
        lengths = []
        for captions in documents:
            for caption in captions:
                before = len(codes)
                words = [numbers[word] for word in caption]
                for i, first in enumerate(words):
                    codes.append(first)
                    values.append(weight[first])
                    between: dict[int, None] = {}
                    for j in range(i + 1, len(words)):
                        last = words[j]
                        ends = weight[first] * weight[last]
                        codes.append(first * base + last)
                        values.append(ends * gaps[j - i - 1])
                        for middle in between:
                            codes.append((first * base + middle) * base + last)
                            values.append(ends * weight[middle] * gaps[j - i - 2])
                        between[last] = None
                lengths.append(len(codes) - before)
        owners = caption_owners(documents)
        return np.repeat(owners, lengths), np.array(codes, dtype=np.int64), np.array(values, dtype=np.float64)

    @staticmethod
    def _matrix(
        counts: tuple[NDArray[np.int64], NDArray[np.int64], FloatMatrix],
        places: NDArray[np.int64],
        items: int,
        sequences: int,
    ) -> sparse.csr_array:
        owners, _, values = counts
        return sparse.coo_array((values, (owners, places)), shape=(items, sequences)).tocsr()


def _squares(matrix: sparse.csr_array) -> FloatMatrix:
    return np.asarray(matrix.multiply(matrix).sum(axis=1))
