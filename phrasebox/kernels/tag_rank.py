"""The tag rank kernel: words weigh more the earlier they occur, absolutely and relative to their usual
position.

    a(w) = 1 / log2(1 + p)                                                                  (eq. 9)
    r(w) = 1 - share of w's training occurrences at position p or before                    (eq. 10)
    k(s, t) = (exp(-chi2(r_s, r_t) / 2 Omega) + exp(-chi2(a_s, a_t) / 2 Omega')) / 2        (eq. 11)
    chi2(x, y) = sum over words of (x - y)^2 / (x + y), where 0/0 is 0

p is the mean of the word's positions in the caption, counted from 1. A word never seen in training has r = 0.
Omega and Omega' are the mean distances of two different training captions. Responses are averaged over the
pairs of captions of two items, then normalised as all kernels of section 4.1.3 are.

Source: Hwang and Grauman 2012; Hodosh et al. 2013, section 3.4.2. Positive semi-definite.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasebox.kernels.grams import FloatMatrix, mirror, normalised
from phrasebox.kernels.idf import Document
from phrasebox.threads import for_each

_Integers = NDArray[np.int64]
#: The absolute and the relative weight of each of a caption's words.
Ranks = dict[str, tuple[float, float]]

#: Number of items whose rows one thread computes at a time.
_ROWS = 64


class TagRank:
    """Gram matrices of documents; usual positions and mean distances are learned from `training`.

    Raises ValueError without two different training captions.
    """

    def __init__(self, training: Sequence[Document]) -> None:
        captions = [words for document in training for words in document]
        positions: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for words in captions:
            for position, word in enumerate(words, start=1):
                positions[word][position] += 1
        #: Word -> entry p - 1 is the share of its occurrences at position p or before.
        self.seen = {
            word: np.cumsum([counts[p] for p in range(1, max(counts) + 1)]) / counts.total()
            for word, counts in positions.items()
        }
        ranks = [self.ranks(words) for words in captions]
        absolute, relative = _mean_distance(ranks, 0), _mean_distance(ranks, 1)
        #: Omega' of the absolute ranks, Omega of the relative ones; 1 where no word differs from its usual
        #: position.
        self.scales = absolute, relative or 1.0
        if not absolute > 0:
            raise ValueError(
                f"{len(captions)} training captions are all the same; the tag rank kernel needs two "
                "different ones"
            )

    def ranks(self, caption: Sequence[str]) -> Ranks:
        """Return the absolute and relative rank (eq. 9 and 10) of each word of a caption."""
        places: defaultdict[str, list[int]] = defaultdict(list)
        for position, word in enumerate(caption, start=1):
            places[word].append(position)
        ranks = {}
        for word, positions in places.items():
            mean = sum(positions) / len(positions)
            habit = self.seen.get(word)
            later = 0.0 if habit is None else 1.0 - float(habit[min(int(mean), len(habit)) - 1])
            ranks[word] = 1 / log2(1 + mean), later
        return ranks

    def gram(self, rows: Sequence[Document], columns: Sequence[Document]) -> FloatMatrix:
        """Return normalised responses in [0, 1]; an item without captions has zero response, its entries are
        0.

        A caption without words counts as a caption: it is nearer to short ones than to long ones.
        """
        numbers: dict[str, int] = {}
        left = _Ranked.of(self, rows, numbers)
        same = columns is rows
        right = left if same else _Ranked.of(self, columns, numbers)
        gram = np.zeros((len(rows), len(columns)))
        postings = right.by_word(len(numbers))

        def work(top: int) -> None:
            span = top, min(top + _ROWS, len(rows))
            _respond(span, left.arrays(), right.arrays(), postings, self.scales, same, gram)

        for_each(work, range(0, len(rows), _ROWS))
        if same:
            mirror(gram)
            norms = gram.diagonal().copy()
            return normalised(gram, norms, norms)
        return normalised(gram, self._norms(left), self._norms(right))

    def _norms(self, captions: _Ranked) -> FloatMatrix:
        """Return each item's response to itself, shape (items,)."""
        norms = np.zeros(len(captions.items) - 1)
        for item, (first, end) in enumerate(zip(captions.items[:-1], captions.items[1:], strict=True)):
            part = captions.cut(int(first), int(end))
            response = np.zeros((1, 1))
            postings = part.by_word(int(part.words.max(initial=-1)) + 1)
            _respond((0, 1), part.arrays(), part.arrays(), postings, self.scales, False, response)
            norms[item] = response[0, 0]
        return norms


@dataclass(frozen=True)
class _Ranked:
    """Concatenated captions: caption c has entries starts[c] to starts[c + 1] of `words`, `values`.

    `values` has shape (entries, 2): absolute, relative. Item d has captions items[d] to items[d + 1].
    """

    words: _Integers
    values: FloatMatrix
    starts: _Integers
    items: _Integers

    @classmethod
    def of(cls, kernel: TagRank, documents: Sequence[Document], numbers: dict[str, int]) -> _Ranked:
        ranks = [kernel.ranks(words) for document in documents for words in document]
        words = [
            numbers.setdefault(word, len(numbers)) for ranks_of_caption in ranks for word in ranks_of_caption
        ]
        values = [pair for ranks_of_caption in ranks for pair in ranks_of_caption.values()]
        return cls(
            np.array(words, dtype=np.int64),
            np.array(values, dtype=np.float64).reshape(-1, 2),
            np.concatenate(
                [[0], np.cumsum([len(ranks_of_caption) for ranks_of_caption in ranks], dtype=np.int64)]
            ),
            np.concatenate([[0], np.cumsum([len(document) for document in documents], dtype=np.int64)]),
        )

    def arrays(self) -> tuple[_Integers, FloatMatrix, FloatMatrix, _Integers, _Integers]:
        """Return words, values, the sums of each caption's values, the starts of captions, the starts of
        items."""
        sums = np.concatenate([np.zeros((1, 2)), np.cumsum(self.values, axis=0)])
        return (
            self.words,
            self.values,
            sums[self.starts[1:]] - sums[self.starts[:-1]],
            self.starts,
            self.items,
        )

    def by_word(self, words: int) -> tuple[_Integers, _Integers, FloatMatrix]:
        """Return the start of each word's entries, and the caption and the values of each entry."""
        order = np.argsort(self.words, kind="stable")
        starts = np.searchsorted(self.words[order], np.arange(words + 1))
        captions = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return starts, captions[order], np.ascontiguousarray(self.values[order])

    def cut(self, first: int, end: int) -> _Ranked:
        """Return captions `first` to `end` as one item."""
        span = slice(self.starts[first], self.starts[end])
        starts = self.starts[first : end + 1] - self.starts[first]
        return _Ranked(self.words[span], self.values[span], starts, np.array([0, end - first]))


def _mean_distance(ranks: Sequence[Ranks], which: int) -> float:
    """Return the mean chi-square distance of two different captions; chi2 = sum x + sum y - 4 sum xy / (x +
    y)."""
    counts: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for ranks_of_caption in ranks:
        for word, pair in ranks_of_caption.items():
            counts[word][pair[which]] += 1
    total = shared = 0.0
    for own_counts in counts.values():
        values = np.array([value for value in own_counts if value > 0])
        times = np.array([own_counts[value] for value in values.tolist()], dtype=np.float64)
        total += float(values @ times)
        shared += float(times @ (np.outer(values, values) / np.add.outer(values, values)) @ times)
    pairs = len(ranks) * (len(ranks) - 1)
    return (2 * len(ranks) * total - 4 * shared) / pairs if pairs else 0.0


@njit(nogil=True, cache=True)
def _respond(rows, left, right, postings, scales, same, gram):  # type: ignore[no-untyped-def]
    """Fill the `rows` (first, end) of `gram` with mean responses; where `same`, right of the diagonal only.

    `left` and `right` are as of `_Ranked.arrays`, `postings` as of its `by_word`.
    """
    top, end = rows
    words, values, sums, starts, items = left
    _, _, other_sums, _, other_items = right
    word_starts, posted, posted_values = postings
    absolute_scale, relative_scale = scales
    absolute, relative = np.empty(len(other_sums)), np.empty(len(other_sums))
    for item in range(top, end):
        for caption in range(items[item], items[item + 1]):
            absolute[:] = 0.0
            relative[:] = 0.0
            for entry in range(starts[caption], starts[caption + 1]):
                a, r = values[entry, 0], values[entry, 1]
                for post in range(word_starts[words[entry]], word_starts[words[entry] + 1]):
                    b, s = posted_values[post, 0], posted_values[post, 1]
                    absolute[posted[post]] += a * b / (a + b)
                    if r * s > 0.0:
                        relative[posted[post]] += r * s / (r + s)
            for column in range(item if same else 0, gram.shape[1]):
                response = 0.0
                for second in range(other_items[column], other_items[column + 1]):
                    far = sums[caption, 0] + other_sums[second, 0] - 4.0 * absolute[second]
                    off = sums[caption, 1] + other_sums[second, 1] - 4.0 * relative[second]
                    response += np.exp(-0.5 * far / absolute_scale) + np.exp(-0.5 * off / relative_scale)
                gram[item, column] += response / 2.0
        for column in range(gram.shape[1]):
            pairs = (items[item + 1] - items[item]) * (other_items[column + 1] - other_items[column])
            if pairs > 0:
                gram[item, column] /= pairs
