"""Texts as bags of words weighted by tf-idf, over the most frequent words of the training texts.

    weight(w) = count of w in the text * log(N / N(w))

N is the number of training texts, N(w) of those that have w. Source: Gong et al. 2014, section 2.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.phase_cache import from_json_array, to_json_array
from phrasebox.lazy import sparse


class TfIdfBags:
    """The `size` most frequent words of the training texts and their idf; learned are `words_`, `idf_`.

    Equally frequent words are taken in alphabetical order. `normalised` bags have length 1, except those
    without a known word, which are zeros.
    """

    words_: tuple[str, ...]
    idf_: NDArray[np.float32]

    def __init__(self, size: int = 3000, *, normalised: bool = True) -> None:
        if size < 1:
            raise ValueError(f"bags of {size} words; expected 1 or more")
        self.size, self.normalised = size, normalised

    def fit(self, texts: Sequence[Sequence[str]]) -> TfIdfBags:
        """Learn words and weights. Raises ValueError if the texts have no words."""
        often: Counter[str] = Counter()
        having: Counter[str] = Counter()
        for text in texts:
            often.update(text)
            having.update(set(text))
        if not often:
            raise ValueError(f"{len(texts)} training texts have no word; give texts with words")
        order = sorted(often, key=lambda word: (-often[word], word))
        self.words_ = tuple(order[: self.size])
        self.idf_ = np.log(len(texts) / np.array([having[word] for word in self.words_])).astype(np.float32)
        return self

    def transform(self, texts: Iterable[Sequence[str]]) -> sparse.csr_matrix:
        """Return the bags, shape (texts, words), float32; unknown words are left out."""
        places = {word: index for index, word in enumerate(self.words_)}
        columns: list[int] = []
        counts: list[int] = []
        ends = [0]
        for text in texts:
            word_counts = Counter(places[word] for word in text if word in places)
            for index in sorted(word_counts):
                columns.append(index)
                counts.append(word_counts[index])
            ends.append(len(columns))
        values = np.asarray(counts, np.float32) * self.idf_[np.asarray(columns, np.intp)]
        rows = sparse.csr_matrix((values, columns, ends), shape=(len(ends) - 1, len(self.words_)))
        if self.normalised:
            squares = np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
            scale = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))
            rows = sparse.csr_matrix(sparse.diags(scale.astype(np.float32)) @ rows)
        return rows

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return words and weights, and settings that fit JSON; `from_state` takes both."""
        arrays: dict[str, NDArray[Any]] = {"words": to_json_array(self.words_), "idf": self.idf_}
        return arrays, {"size": self.size, "normalised": self.normalised}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> TfIdfBags:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings["size"], normalised=settings["normalised"])
        restored.words_ = tuple(from_json_array(arrays["words"]))
        restored.idf_ = np.asarray(arrays["idf"])
        return restored
