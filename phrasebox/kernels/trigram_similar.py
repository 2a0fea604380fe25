"""The trigram kernel with lexical similarities: sequences of similar words match partially.

    K(s, s') = sum over w, w' of the same length k <= 3 of
               sqrt(lambda_w lambda_w') m(s, w) m(s', w') lambda_m^(2k) prod over i of kappa(w_i, w'_i)
                                                                                          (eq. 20 and 21)

With W[j, j'] = lambda_m^2 sqrt(lambda lambda') kappa of word j of s and word j' of s', one word gives the sum
of W, two give the sum of W[j, j'] times all W before both, and three do the same with what two gave, except
for repeated words: m counts substrings, so a middle word k counts for a start i only if it is the first of
its lemma after i. Its partial sums run over i in [prev(k), k) and i' in [prev'(k'), k'), four look-ups in a
table of two-dimensional prefix sums. That is the exact count; a plain dynamic programme counts each
embedding.

Performance: captions of the columns are processed side by side, 64 of one length at a time, so every step is
the same for all of them and runs in vector registers; the few captions with repeated words, which need the
look-ups, are processed separately. Similarities of every word with a whole such tile are looked up once.
Threads own disjoint columns.

Source: Hodosh et al. 2013, section 3.5.1 (for exact matches: `trigram`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasebox.kernels.grams import FloatMatrix, mirror, normalised
from phrasebox.kernels.idf import Document, Weighting, caption_owners, weights
from phrasebox.kernels.similarity import WordKernel
from phrasebox.kernels.trigram import MATCH
from phrasebox.threads import cores, for_each

_Integers = NDArray[np.int64]

#: Number of captions processed side by side.
_LANES = 64
#: Small sets of lanes are padded to a multiple of this: a vector register of the widest machines.
_FILL = 8
#: The maximum number of column blocks; each has its own tiles, and the last tile of each length is half
#: empty.
_BLOCKS = 16


class SimilarTrigram:
    """Gram matrices of documents under `similarity`; `weighting` is learned on `training`.

    Not every similarity makes it positive semi-definite: see `similarity`. Raises ValueError for a match
    score outside (0, 1].
    """

    def __init__(
        self,
        training: Sequence[Document],
        similarity: WordKernel,
        *,
        weighting: Weighting = "none",
        match: float = MATCH,
    ) -> None:
        if not 0 < match <= 1:
            raise ValueError(f"match score {match:g}; expected above 0 and at most 1")
        self.weight = weights(weighting, training)
        self.similarity = similarity
        self.match = match

    def gram(self, rows: Sequence[Document], columns: Sequence[Document]) -> FloatMatrix:
        """Return normalised responses; 0 for an item without words of positive weight.

        If both are the same object, half of the work is done and the result is exactly symmetric.
        """
        same = columns is rows
        numbers = {word: number for number, word in enumerate(self.similarity.words)}
        left = _Captions.of(rows, numbers)
        right = left if same else _Captions.of(columns, numbers)
        # A word counts lambda_m on each side, and the root of the weight of a sequence's pair of words.
        weight = np.array([self.match * self.weight(word) for word in numbers])
        known = len(self.similarity.words)
        weighted = np.zeros((known, known + 1))
        weighted[:, :known] = self.similarity.matrix * np.outer(weight[:known], weight[:known])
        gram = np.zeros((len(rows), len(columns)))
        blocks = min(_BLOCKS, 2 * cores(), max(1, len(columns) // _LANES))
        edges = np.linspace(0, len(columns), blocks + 1).astype(np.int64)

        def work(block: int) -> None:
            for tile in _tiles(right, int(edges[block]), int(edges[block + 1])):
                high = int(tile.items[tile.used - 1]) + 1 if same else len(rows)
                _fill(gram[:high], left, tile, weighted, weight)

        # The last columns have the most rows of a symmetric kernel, so they go first.
        for_each(work, reversed(range(blocks)))
        if same:
            mirror(gram)
            norms = gram.diagonal().copy()
            return normalised(gram, norms, norms)
        return normalised(gram, self._norms(left, weight), self._norms(right, weight))

    def _norms(self, captions: _Captions, weight: FloatMatrix) -> FloatMatrix:
        """Return each item's response to itself, shape (items,)."""
        return _respond_to_itself(
            captions.words,
            captions.before,
            captions.starts,
            captions.item_starts,
            self.similarity.matrix,
            weight,
        )


@dataclass(frozen=True)
class _Captions:
    """Concatenated captions: words as numbers, `before` is the position of the previous occurrence of the
    word, or 0.

    Caption c has words[starts[c]:starts[c + 1]]; item d has captions item_starts[d] to item_starts[d + 1]. A
    position is counted within the caption; the window of a new word starts at 0 as well.
    """

    words: _Integers
    before: _Integers
    starts: _Integers
    item_starts: _Integers
    owners: _Integers

    @classmethod
    def of(cls, documents: Sequence[Document], numbers: dict[str, int]) -> _Captions:
        """Build the arrays; new words get numbers."""
        words, before, lengths = [], [], []
        for captions in documents:
            for caption in captions:
                last: dict[str, int] = {}
                for position, word in enumerate(caption):
                    words.append(numbers.setdefault(word, len(numbers)))
                    before.append(last.get(word, 0))
                    last[word] = position
                lengths.append(len(caption))
        return cls(
            words=np.array(words, dtype=np.int64),
            before=np.array(before, dtype=np.int64),
            starts=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            item_starts=np.concatenate([[0], np.cumsum([len(d) for d in documents], dtype=np.int64)]),
            owners=caption_owners(documents),
        )


@dataclass(frozen=True)
class _Tile:
    """Captions of one length, sorted by item, all with repeated words or all without.

    `words` and `before` have shape (positions, lanes); the word of an empty lane is -1.
    """

    words: _Integers
    before: _Integers
    repeats: bool
    items: _Integers
    used: int


def _tiles(captions: _Captions, first: int, end: int) -> list[_Tile]:
    """Return the captions of items `first` to `end`, without empty ones."""
    alike: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for caption in range(captions.item_starts[first], captions.item_starts[end]):
        before = captions.before[captions.starts[caption] : captions.starts[caption + 1]]
        if len(before):
            alike[len(before), bool(before.any())].append(caption)
    tiles = []
    for (length, repeats), members in alike.items():
        for top in range(0, len(members), _LANES):
            lanes = np.array(members[top : top + _LANES])
            shape = length, -(-len(lanes) // _FILL) * _FILL
            words, before = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64)
            places = captions.starts[lanes] + np.arange(length)[:, None]
            words[:, : len(lanes)], before[:, : len(lanes)] = captions.words[places], captions.before[places]
            tiles.append(_Tile(words, before, repeats, captions.owners[lanes], len(lanes)))
    return tiles


def _fill(
    gram: FloatMatrix, left: _Captions, tile: _Tile, weighted: FloatMatrix, weight: FloatMatrix
) -> None:
    """Add the tile's responses to `gram`, whose rows are the first of `left`."""
    known = len(weighted)
    # Words without similarities only match themselves: a row for each in the tile, one of zeros for others.
    rare = np.unique(tile.words[tile.words >= known])
    row_of = np.full(len(weight), known + len(rare), dtype=np.int64)
    row_of[:known] = np.arange(known)
    row_of[rare] = known + np.arange(len(rare))
    table = _table(weighted, tile.words, rare, weight)
    captions = left.words, left.before, left.starts, left.item_starts
    _respond(captions, row_of, table, (tile.before, tile.repeats, tile.items, tile.used), gram)


@njit(nogil=True, cache=True)
def _table(weighted, words, rare, weight):  # type: ignore[no-untyped-def]
    """W of every known word, every rare word of the tile, and of none, with the tile's words.

    `weighted` is W of the known words, with a column of zeros for all others. Shape (known + rare + 1,
    places, lanes); the last row is 0.
    """
    known = len(weighted)
    table = np.zeros((known + len(rare) + 1, words.shape[0], words.shape[1]))
    columns = np.where((words >= 0) & (words < known), words, known)
    for row in range(known):
        for position in range(words.shape[0]):
            for lane in range(words.shape[1]):
                table[row, position, lane] = weighted[row, columns[position, lane]]
    for number in range(len(rare)):
        word = rare[number]
        for position in range(words.shape[0]):
            for lane in range(words.shape[1]):
                if words[position, lane] == word:
                    table[known + number, position, lane] = weight[word] * weight[word]
    return table


@njit(nogil=True, cache=True)
def _respond(captions, row_of, table, tile, gram):  # type: ignore[no-untyped-def]
    """Add to `gram` the responses of its rows' captions to a tile's.

    `captions` are words, words before, and where captions and items start; `tile` its words before, whether
    words come again, its items and how many lanes are used.
    """
    words, before, starts, item_starts = captions
    tile_before, tile_repeats, items, used = tile
    places, lanes = table.shape[1], table.shape[2]
    longest = 0
    for caption in range(item_starts[len(gram)]):
        longest = max(longest, starts[caption + 1] - starts[caption])
    total = np.empty(lanes)
    ones, two = np.empty((places, lanes)), np.empty((places, lanes))  # sums over rows so far, by column
    one_left, two_left = np.empty(lanes), np.empty(lanes)  # the same, over the columns so far
    window = np.empty(lanes)
    prefix = np.zeros((longest + 1, places + 1, lanes))
    for item in range(len(gram)):
        total[:] = 0.0
        for caption in range(item_starts[item], item_starts[item + 1]):
            start, length = starts[caption], starts[caption + 1] - starts[caption]
            if length == 0:
                continue
            windows = tile_repeats or before[start : start + length].any()
            ones[:] = 0.0
            two[:] = 0.0
            for k in range(length):
                row = row_of[words[start + k]]
                one_left[:] = 0.0
                two_left[:] = 0.0
                if not windows:
                    for q in range(places):
                        for lane in range(lanes):
                            w = table[row, q, lane]
                            pair = w * one_left[lane]
                            total[lane] += pair + w * two_left[lane]
                            one_left[lane] += ones[q, lane]
                            two_left[lane] += two[q, lane]
                            ones[q, lane] += w
                            two[q, lane] += pair
                    continue
                top = before[start + k]
                for q in range(places):
                    window[:] = prefix[k, q]
                    if top > 0:
                        window -= prefix[top, q]
                    if tile_repeats:
                        for lane in range(lanes):
                            left = tile_before[q, lane]
                            window[lane] += prefix[top, left, lane] - prefix[k, left, lane]
                    for lane in range(lanes):
                        w = table[row, q, lane]
                        total[lane] += w * prefix[k, q, lane] + w * two_left[lane]
                        two_left[lane] += two[q, lane]
                        two[q, lane] += w * window[lane]
                        ones[q, lane] += w
                        one_left[lane] += ones[q, lane]
                        prefix[k + 1, q + 1, lane] = one_left[lane]
            for q in range(places):
                for lane in range(lanes):
                    total[lane] += ones[q, lane]
        for lane in range(used):
            gram[item, items[lane]] += total[lane]


@njit(nogil=True, cache=True)
def _respond_to_itself(words, before, starts, item_starts, kappa, weight):  # type: ignore[no-untyped-def]
    """K(x, x) of each item, one pair of captions at a time."""
    responses = np.zeros(len(item_starts) - 1)
    longest = 0
    for caption in range(len(starts) - 1):
        longest = max(longest, starts[caption + 1] - starts[caption])
    ones, twos = np.zeros((longest + 1, longest + 1)), np.zeros((longest + 1, longest + 1))
    for item in range(len(responses)):
        for s in range(item_starts[item], item_starts[item + 1]):
            for t in range(item_starts[item], item_starts[item + 1]):
                for k in range(starts[s + 1] - starts[s]):
                    a, top = words[starts[s] + k], before[starts[s] + k]
                    for q in range(starts[t + 1] - starts[t]):
                        b, left = words[starts[t] + q], before[starts[t] + q]
                        alike = kappa[a, b] if a < len(kappa) and b < len(kappa) else (1.0 if a == b else 0.0)
                        w = alike * weight[a] * weight[b]
                        pair = w * (ones[k, q] - ones[top, q] - ones[k, left] + ones[top, left])
                        responses[item] += w + w * ones[k, q] + w * twos[k, q]
                        ones[k + 1, q + 1] = w + ones[k, q + 1] + ones[k + 1, q] - ones[k, q]
                        twos[k + 1, q + 1] = pair + twos[k, q + 1] + twos[k + 1, q] - twos[k, q]
    return responses
