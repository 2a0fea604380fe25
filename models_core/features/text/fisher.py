"""Fisher vectors of phrases: the gradient of a phrase's likelihood for the parameters of a mixture.

With p_k(x) the posterior of component k, w_k its weight, and z = (x_d - m_kd) / s_kd, a phrase of T words has
two numbers for each component and dimension: gradients of its mean log-likelihood over the root of their
Fisher information in the usual diagonal approximation:

    Gaussian     by location   1 / (T sqrt(w_k))   * sum over words of p_k(x) z
                 by scale      1 / (T sqrt(2 w_k)) * sum over words of p_k(x) (z^2 - 1)
    Laplacian    by location   1 / (T sqrt(w_k))   * sum over words of p_k(x) sign(z)
                 by scale      1 / (T sqrt(w_k))   * sum over words of p_k(x) (|z| - 1)

The information of a row about location and scale is w_k / s^2 and 2 w_k / s^2 for a Gaussian, and w_k / s^2
twice for a Laplacian. Weights have no gradient. Then each number is replaced by the signed root of its
magnitude (power normalisation), and the vector is normalized to length 1. Source: Perronnin et al. 2010, from
memory; Plummer et al. 2015, section 3, use both orders of a hybrid mixture of 30 components and print no
equations; those of the Laplacian are derived here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.features.text.mixtures import WordMixture
from phrasebox.lazy import LazyModule
from phrasebox.threads import cores, for_each

if TYPE_CHECKING:
    from models_core.features.text import mixture_loops
else:
    mixture_loops = LazyModule("models_core.features.text.mixture_loops")

FisherBlock = NDArray[np.float32]

#: Size of a block in bytes, unless the caller sets the number of phrases.
_BLOCK = 1 << 24


class PhraseWords(Protocol):
    """Phrases as ragged rows: phrase i has the rows `values[begin[i]:end[i]]`, possibly none.

    A row is a word's vector, shape (rows, dimensions), or the number of a word, shape (rows,).
    """

    @property
    def values(self) -> NDArray[Any]:
        """Rows of all phrases."""

    @property
    def begin(self) -> NDArray[np.intp]:
        """First row of each phrase, shape (phrases,)."""

    @property
    def end(self) -> NDArray[np.intp]:
        """The row after the last of each phrase, shape (phrases,)."""


@dataclass(frozen=True, slots=True)
class FisherSettings(CheckedRecord):
    """Normalisation of the gradients. Raises BadField. Source: Perronnin et al. 2010, section 3."""

    power: Annotated[bool, Field(description="Whether each number becomes the signed root of its size")] = (
        True
    )
    normalised: Annotated[bool, Field(description="Whether vectors get length 1")] = True


class FisherVectors:
    """Fisher vectors of a fitted mixture, with `size` numbers each.

    Gradients by location come first, component by component, then those by scale in the same order.
    """

    def __init__(self, mixture: WordMixture, settings: FisherSettings | None = None) -> None:
        self.mixture, self.settings = mixture, settings or FisherSettings()

    @property
    def size(self) -> int:
        """Length of a vector: two numbers for each component and dimension."""
        return 2 * self.mixture.parameters_.locations.size

    def blocks(
        self, phrases: PhraseWords, vectors: NDArray[Any] | None = None, *, rows: int = 0
    ) -> Iterator[FisherBlock]:
        """Yield vectors of all phrases in their order, in blocks of shape (at most `rows`, size).

        With `rows` 0, a block has 16 MiB. If words are numbers, `vectors` contains their vectors, shape
        (vocabulary, dimensions), and posteriors are computed once per word. The vector of a phrase without
        words is zeros; `wordless` counts these. Raises ValueError for positions outside the rows, words
        outside the vocabulary, another width, and numbers that are not finite (the last two when the first
        block, or the block with them, is computed).
        """
        begin, end = np.asarray(phrases.begin, np.intp), np.asarray(phrases.end, np.intp)
        bad = np.flatnonzero((begin < 0) | (end < begin) | (end > len(phrases.values)))
        if len(bad):
            at = int(bad[0])
            raise ValueError(
                f"phrase {at} (counted from 0) has rows {begin[at]} to {end[at]}; "
                f"expected places in {len(phrases.values)} rows, in order"
            )
        if rows < 0:
            raise ValueError(f"blocks of {rows} phrases; expected 1 or more, or 0 for 16 MiB")
        step = rows or max(1, _BLOCK // (4 * self.size))
        if vectors is None:
            return self._of_rows(phrases.values, begin, end, step)
        words = np.asarray(phrases.values)
        if words.ndim != 1 or not np.issubdtype(words.dtype, np.integer):
            raise ValueError(
                f"words have shape {words.shape} and type {words.dtype}; "
                "expected numbers of words, shape (rows,)"
            )
        if words.size and not (0 <= words.min() and words.max() < len(vectors)):
            invalid = int(np.flatnonzero((words < 0) | (words >= len(vectors)))[0])
            raise ValueError(
                f"row {invalid} (counted from 0) is word {words[invalid]}; expected 0 to {len(vectors) - 1}"
            )
        return self._of_words(words, vectors, begin, end, step)

    def _of_words(
        self,
        words: NDArray[Any],
        vectors: NDArray[Any],
        begin: NDArray[np.intp],
        end: NDArray[np.intp],
        step: int,
    ) -> Iterator[FisherBlock]:
        vectors, posteriors = _double_array(vectors), self.mixture.posteriors(vectors)
        for start in range(0, len(begin), step):
            part = slice(start, start + step)
            yield self._block(vectors, posteriors, words, begin[part], end[part])

    def _of_rows(
        self, values: NDArray[Any], begin: NDArray[np.intp], end: NDArray[np.intp], step: int
    ) -> Iterator[FisherBlock]:
        for start in range(0, len(begin), step):
            part = slice(start, start + step)
            counts = end[part] - begin[part]
            until = np.cumsum(counts)
            # Positions of the block's rows, one phrase after the other.
            places = np.arange(counts.sum()) + np.repeat(begin[part] - until + counts, counts)
            vectors = _double_array(values[places])
            posteriors = self.mixture.posteriors(vectors)
            yield self._block(vectors, posteriors, np.arange(len(vectors)), until - counts, until)

    def _block(
        self,
        vectors: NDArray[Any],
        posteriors: NDArray[np.float64],
        words: NDArray[Any],
        begin: NDArray[np.intp],
        end: NDArray[np.intp],
    ) -> FisherBlock:
        """Return the vectors of a block, from its words' vectors and posteriors."""
        parameters = self.mixture.parameters_
        root = np.sqrt(parameters.weights)[:, None]
        second = np.where(parameters.laplacian, 1.0, np.sqrt(0.5)) / root
        shape = (parameters.locations, 1 / parameters.scales, parameters.laplacian)
        factors = (np.broadcast_to(1 / root, second.shape).copy(), second)
        how = (self.settings.power, self.settings.normalised)
        out = np.zeros((len(begin), self.size), np.float32)
        piece = max(1, -(-len(begin) // (4 * cores())))

        def fill(start: int) -> None:
            part = slice(start, start + piece)
            mixture_loops.add_gradients(
                (vectors, posteriors, words), (begin[part], end[part]), shape, factors, how, out[part]
            )

        for_each(fill, range(0, len(begin), piece))
        return out

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the mixture, and settings of both that fit JSON, for `from_state`."""
        arrays, settings = self.mixture.state()
        return arrays, {"mixture": settings, "fisher": asdict(self.settings)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> FisherVectors:
        """Restore from the result of `state`; raise KeyError if something is missing."""
        mixture = WordMixture.from_state(arrays, settings["mixture"])
        return cls(mixture, FisherSettings(**settings["fisher"]))


def wordless(begin: ArrayLike, end: ArrayLike) -> int:
    """Return the number of phrases without a known word, whose vectors are zeros."""
    return int(np.count_nonzero(np.asarray(begin) == np.asarray(end)))


def _double_array(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return vectors in single or double precision, as compiled code needs."""
    return np.asarray(vectors, np.float64 if vectors.dtype == np.float64 else np.float32)
