"""Partial matches of words: kernels over a vocabulary, the identity outside it.

A similarity maps each word to a vector of similarities (eq. 17); the word kernel is the cosine of two such
vectors (eq. 18). A word outside the vocabulary, or one whose vector is zero, matches itself only. Kernels are
averaged (eq. 26) or combined by their maximum (eq. 27), over the union of their words.

`kappa_D` and `kappa_A` are cosines, hence positive semi-definite before the cut-off; neither cut-offs nor eq.
27 preserve that (footnote 4).

Source: Hodosh et al. 2013, sections 3.5.1 and 3.5.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from phrasebox.lazy import sparse

_Floats = NDArray[np.float64]

#: Cut-offs of section 3.5.1: smaller entries of a kernel become 0.
CUT_ALIGNMENT, CUT_DISTRIBUTIONAL = 0.05, 0.01


class WordKernel:
    """kappa_S of eq. 18: `matrix` of shape (words, words), symmetric, 1 on the diagonal.

    Raises ValueError if the matrix does not match the words, is not finite or not exactly symmetric, or a
    word occurs twice.
    """

    def __init__(self, words: Sequence[str], matrix: _Floats) -> None:
        self.words = tuple(words)
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        if self.matrix.shape != (len(self.words),) * 2:
            raise ValueError(
                f"a word kernel of shape {self.matrix.shape} for {len(self.words)} words; "
                "expected a square of them"
            )
        if len(self.places) != len(self.words):
            raise ValueError("a word kernel contains a word twice; expected distinct words")
        if not np.isfinite(self.matrix).all():
            row, column = (int(n) for n in np.argwhere(~np.isfinite(self.matrix))[0])
            raise ValueError(
                f"the similarity of {self.words[row]!r} and {self.words[column]!r} is not finite; "
                "expected a number"
            )
        if not np.array_equal(self.matrix, self.matrix.T):
            row, column = (int(n) for n in np.argwhere(self.matrix != self.matrix.T)[0])
            raise ValueError(
                f"{self.words[row]!r} is as similar to {self.words[column]!r} as "
                f"{self.matrix[row, column]:g}, the other way round {self.matrix[column, row]:g}; "
                "expected the same"
            )

    @classmethod
    def of_vectors(cls, words: Sequence[str], vectors: _Floats | sparse.csr_array) -> WordKernel:
        """Return the cosines of `vectors`, shape (words, features), non-negative."""
        rows = sparse.csr_array(vectors)
        lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
        unit = sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ rows
        matrix = np.asarray((unit @ unit.T).todense())
        np.fill_diagonal(matrix, 1.0)
        # Products of sparse rows may differ in the last bit depending on their order.
        return cls(words, np.clip((matrix + matrix.T) / 2, 0.0, 1.0))

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each word."""
        return {word: index for index, word in enumerate(self.words)}

    def __call__(self, first: str, second: str) -> float:
        """kappa(w, w')."""
        a, b = self.places.get(first), self.places.get(second)
        return float(first == second) if a is None or b is None else float(self.matrix[a, b])

    def cut(self, least: float) -> WordKernel:
        """Return the kernel with entries under `least` set to 0."""
        return WordKernel(self.words, np.where(self.matrix < least, 0.0, self.matrix))

    def over(self, words: Sequence[str]) -> WordKernel:
        """Return the kernel of `words`: the identity for unknown ones."""
        similarities = np.eye(len(words))
        known = [index for index, word in enumerate(words) if word in self.places]
        columns = [self.places[words[index]] for index in known]
        similarities[np.ix_(known, known)] = self.matrix[np.ix_(columns, columns)]
        return WordKernel(words, similarities)

    def nearest(self, word: str, count: int) -> tuple[tuple[str, float], ...]:
        """Return the `count` other words most similar to `word`, ties in alphabetical order.

        Raises KeyError if the kernel does not know the word.
        """
        row = self.matrix[self.places[word]]
        order = sorted(
            (-value, other_word)
            for other_word, value in zip(self.words, row, strict=True)
            if other_word != word
        )
        return tuple((other_word, -value) for value, other_word in order[:count])


def average(first: WordKernel, second: WordKernel) -> WordKernel:
    """Return the mean of two kernels over all words of either (eq. 26)."""
    return _together(first, second, lambda a, b: (a + b) / 2)


def greater(first: WordKernel, second: WordKernel) -> WordKernel:
    """Return the maximum of two kernels over all words of either (eq. 27)."""
    return _together(first, second, np.maximum)


def _together(
    first: WordKernel, second: WordKernel, how: Callable[[_Floats, _Floats], _Floats]
) -> WordKernel:
    words = tuple(dict.fromkeys((*first.words, *second.words)))
    return WordKernel(words, how(first.over(words).matrix, second.over(words).matrix))
