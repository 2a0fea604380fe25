"""The bag of words kernel: the cosine of two items' word frequencies.

All captions of an item are merged into one document: five make BoW5, and an item of one caption BoW1.
Frequencies may be multiplied by idf or its root, learned on the training items.

Source: Hodosh et al. 2013, section 3.4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phrasebox.kernels.grams import FloatMatrix
from phrasebox.kernels.idf import Document, Weighting, weights
from phrasebox.lazy import sparse


class BagOfWords:
    """Gram matrices of documents; `weighting` is "none", "idf" or "sqrt-idf"."""

    def __init__(self, training: Sequence[Document], *, weighting: Weighting = "none") -> None:
        self.weight = weights(weighting, training)

    def gram(self, rows: Sequence[Document], columns: Sequence[Document]) -> FloatMatrix:
        """Return cosines in [0, 1]; 0 for an item without words of positive weight."""
        places: dict[str, int] = {}
        left, right = self._unit(rows, places), self._unit(columns, places)
        left.resize((len(rows), len(places)))
        return np.asarray((left @ right.T).todense())

    def _unit(self, documents: Sequence[Document], places: dict[str, int]) -> sparse.csr_array:
        """Return weighted frequencies normalised to length 1, shape (items, words so far)."""
        rows_of_documents = [
            (row, places.setdefault(word, len(places)), self.weight(word))
            for row, captions in enumerate(documents)
            for words in captions
            for word in words
        ]
        entries, words, values = (
            (list(column) for column in zip(*rows_of_documents, strict=True))
            if rows_of_documents
            else ([], [], [])
        )
        # Duplicate coordinates are summed: that is the frequency.
        counts = sparse.coo_array((values, (entries, words)), shape=(len(documents), len(places))).tocsr()
        lengths = np.sqrt(counts.multiply(counts).sum(axis=1))
        return sparse.csr_array(sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ counts)
