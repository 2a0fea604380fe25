"""Ranks of items without sorting, the best k items, and Borda counts.

Conventions. Scores are compared, higher is better. Ranks are 1-based. Of tied items each has rank = 1 +
(better ones) + half of the other equal ones; "optimistic" takes none of the equal ones, "pessimistic" all.
NaN raises an error that names the first. Nothing is rounded: the given numbers are compared. Source: Hodosh
et al. 2013, section 4.3.1 (rank of the original item), 4.1.3 (Borda counts).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.scoring.tiles import Dense, RowIndices, ScoreArray, Scores, checked_tile, tile_grid
from phrasebox.threads import for_each, one_blas_thread

Ties = Literal["mean", "optimistic", "pessimistic"]
#: The share of the equal items that counts as before an item.
EQUAL_BEFORE: dict[Ties, float] = {"optimistic": 0.0, "mean": 0.5, "pessimistic": 1.0}

#: Number of scores compared at a time: the results fit into the cache, and into memory that is already
#: allocated.
_COMPARED = 2**19
#: Number of wanted pairs per query from which sorting a tile once is cheaper than comparing it for each pair.
_MANY = 12


class RankCounts(NamedTuple):
    """For wanted pairs, shape (pairs,): the number of higher scores, and of equal ones (itself included)."""

    better: NDArray[np.int64]
    equal: NDArray[np.int64]


_Pairs = tuple[RowIndices, RowIndices]


def count(
    scores: Scores, in_rows: _Pairs | None = None, in_columns: _Pairs | None = None
) -> tuple[RankCounts, RankCounts]:
    """Count the scores above wanted ones, in both directions in one pass over the tiles.

    Each argument is (row indices, column indices) of wanted pairs. A pair of `in_rows` is compared with its
    row (the query is the row), a pair of `in_columns` with its column. Raises NotANumber.
    """
    none = (np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
    rows, columns = in_rows or none, in_columns or none

    def add(span: tuple[slice, slice]) -> None:
        high, wide = span
        tile = checked_tile(scores.tile(high, wide), high, wide)
        step = max(1, _COMPARED // tile.shape[1])
        for top in range(high.start, high.stop, step):
            part = slice(top, min(top + step, high.stop))
            strip = tile[part.start - high.start : part.stop - high.start]
            ways[0].add(strip, part)
            ways[1].add(strip, wide)

    # Wanted scores are computed in the same way as the tiles: with other threads their last bits might
    # differ.
    with one_blas_thread():
        target_scores = scores.at(
            np.concatenate([rows[0], columns[0]]), np.concatenate([rows[1], columns[1]])
        )
        ways = (
            _Way(0, rows[0], target_scores[: len(rows[0])], scores.shape[0]),
            _Way(1, columns[1], target_scores[len(rows[0]) :], scores.shape[1]),
        )
        for_each(add, tile_grid(scores))
    return ways[0].counts, ways[1].counts


class _Way:
    """One direction of `count`: wanted pairs in layers; in each layer a query has at most one pair."""

    def __init__(self, axis: int, queries: RowIndices, thresholds: ScoreArray, number: int) -> None:
        self.axis = axis
        self.counts = RankCounts(np.zeros(len(queries), np.int64), np.zeros(len(queries), np.int64))
        self.pairs = np.argsort(queries, kind="stable")
        self.queries, self.thresholds = queries[self.pairs], thresholds[self.pairs]
        starts = np.searchsorted(self.queries, self.queries)
        depth = np.arange(len(queries)) - starts
        self.layers = [np.flatnonzero(depth == layer) for layer in range(int(depth.max(initial=-1)) + 1)]
        self.many = len(queries) >= _MANY * max(1, number)
        self._writing = Lock()

    def add(self, tile: ScoreArray, span: slice) -> None:
        """Count in the tile, whose queries are `span`."""
        if self.many:
            low, high = np.searchsorted(self.queries, [span.start, span.stop])
            self._by_sorting(tile, span, slice(int(low), int(high)))
            return
        for layer in self.layers:
            low, high = np.searchsorted(self.queries[layer], [span.start, span.stop])
            if low < high:
                self._by_comparing(tile, span, layer[low:high])

    def _by_comparing(self, tile: ScoreArray, span: slice, chosen: RowIndices) -> None:
        compared = tile
        if len(chosen) < span.stop - span.start:
            compared = np.take(tile, self.queries[chosen] - span.start, axis=self.axis)
        limits = np.expand_dims(self.thresholds[chosen], 1 - self.axis)
        better, equal = _true(compared > limits, 1 - self.axis), _true(compared == limits, 1 - self.axis)
        with self._writing:
            self.counts.better[self.pairs[chosen]] += better
            self.counts.equal[self.pairs[chosen]] += equal

    def _by_sorting(self, tile: ScoreArray, span: slice, chosen: slice) -> None:
        ordered = np.sort(tile if self.axis == 0 else tile.T, axis=1)
        queries, limits, pairs = self.queries[chosen], self.thresholds[chosen], self.pairs[chosen]
        bounds = np.searchsorted(queries, np.arange(span.start, span.stop + 1))
        for row, start, stop in zip(ordered, bounds[:-1], bounds[1:], strict=True):
            if start < stop:
                upto = np.searchsorted(row, limits[start:stop], side="right")
                below = np.searchsorted(row, limits[start:stop], side="left")
                with self._writing:
                    self.counts.better[pairs[start:stop]] += len(row) - upto
                    self.counts.equal[pairs[start:stop]] += upto - below


def _true(mask: NDArray[np.bool_], axis: int) -> NDArray[np.int64]:
    """Count the true values along `axis`: several times faster than count_nonzero with an axis."""
    if axis == 1:
        bits = np.bitwise_count(np.packbits(mask, axis=1))
        return np.asarray(bits.sum(axis=1, dtype=np.int64))
    total = np.zeros(mask.shape[1], dtype=np.int64)
    for start in range(0, len(mask), 255):  # the maximum of a byte
        total += np.add.reduce(mask[start : start + 255].view(np.uint8), axis=0, dtype=np.uint8)
    return total


def ranks(scores: Scores | ArrayLike, gold: ArrayLike, *, ties: Ties = "mean") -> NDArray[np.float64]:
    """Return the rank of one item for each query: `gold` has column indices, shape (queries,)."""
    matrix = scores if isinstance(scores, Scores) else Dense(scores)
    columns = np.asarray(gold, dtype=np.intp)
    if columns.shape != (matrix.shape[0],):
        raise ValueError(
            f"gold has shape {columns.shape}; expected ({matrix.shape[0]},), one item for each query"
        )
    (better, equal), _ = count(matrix, in_rows=(np.arange(len(columns)), columns))
    return 1 + better + EQUAL_BEFORE[ties] * (equal - 1)


@dataclass(frozen=True, slots=True)
class Best:
    """The best items of each query, best first: `items` and `scores` have shape (queries, k)."""

    items: RowIndices
    scores: ScoreArray


def top_k(scores: Scores | ArrayLike, k: int) -> Best:
    """Return the `k` best items of each query (all, if there are fewer); ties go to the lower column."""
    matrix = scores if isinstance(scores, Scores) else Dense(scores)
    parts = list(best_by_strip(matrix, k))
    if not parts:
        nothing = matrix.shape[0], min(k, matrix.shape[1])
        return Best(np.empty(nothing, dtype=np.intp), np.empty(nothing))
    return Best(*(np.concatenate(side) for side in zip(*((p.items, p.scores) for p in parts), strict=True)))


def best_by_strip(scores: Scores, k: int) -> Iterator[Best]:
    """Yield the same for groups of queries, so that neither all scores nor all rankings are in memory."""
    if k < 1:
        raise ValueError(f"k is {k}; expected 1 or more")
    (rows, columns), (high, wide) = scores.shape, scores.tile_shape
    width = min(k, columns)
    for top in range(0, rows, high):
        strip = slice(top, min(top + high, rows))
        items = np.empty((strip.stop - top, 0), dtype=np.intp)
        values: ScoreArray | None = None
        for left in range(0, columns, wide):
            span = slice(left, min(left + wide, columns))
            tile = checked_tile(scores.tile(strip, span), strip, span)
            largest = _largest(tile, width)
            tile_values = np.take_along_axis(tile, largest, axis=1)
            items = np.concatenate([items, largest + left], axis=1)
            values = tile_values if values is None else np.concatenate([values, tile_values], axis=1)
            largest_first = _largest(values, width)
            items, values = (np.take_along_axis(a, largest_first, axis=1) for a in (items, values))
        if values is None:
            values = np.empty(items.shape)
        # Reversed twice: a stable descending sort for any type of number.
        order = values.shape[1] - 1 - np.argsort(values[:, ::-1], axis=1, kind="stable")[:, ::-1]
        yield Best(np.take_along_axis(items, order, axis=1), np.take_along_axis(values, order, axis=1))


def _largest(values: ScoreArray, k: int) -> RowIndices:
    """Return the columns of the k largest of each row, ascending; of equal ones the first, shape (rows,
    k)."""
    rows, columns = values.shape
    if columns <= k:
        return np.broadcast_to(np.arange(columns), (rows, columns))
    least = np.partition(values, columns - k, axis=1)[:, columns - k, None]
    chosen = values >= least
    extra = np.flatnonzero(_true(chosen, 1) > k)
    if len(extra):
        above, equal = values[extra] > least[extra], values[extra] == least[extra]
        room = k - _true(above, 1)[:, None]
        chosen[extra] = above | (equal & (np.cumsum(equal, axis=1) <= room))
    return np.nonzero(chosen)[1].reshape(rows, k)


def positions(scores: ArrayLike) -> NDArray[np.float64]:
    """Return the position of every item in its row, 0 for the best; tied items share the mean of their
    places."""
    values = np.asarray(scores)
    if values.dtype.kind == "f" and np.isnan(values).any():
        at = np.argwhere(np.isnan(values))[0]
        raise ValueError(f"score is NaN at {tuple(int(n) for n in at)}; every score must be a number")
    order = np.argsort(values, axis=-1, kind="stable")[..., ::-1]
    ordered = np.take_along_axis(values, order, axis=-1)
    change = np.ones(values.shape, dtype=bool)
    change[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    places = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    first = np.maximum.accumulate(np.where(change, places, 0), axis=-1)
    closes = np.ones(values.shape, dtype=bool)
    closes[..., :-1] = change[..., 1:]
    last = np.minimum.accumulate(np.where(closes, places, values.shape[-1])[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=-1)
    return ranks


def borda(rankings: ArrayLike) -> NDArray[np.int64]:
    """Combine the rankings of several systems into scores, higher is better, shape (..., items).

    `rankings` has shape (systems, ..., items): 0-based positions, as `positions` returns them. An item gets N
    - r for position r of N; sums are compared, and if they are equal, the medians of the item's positions.
    Items equal in both stay tied. Source: Hodosh et al. 2013, section 4.1.3.
    """
    places: NDArray[Any] = np.asarray(rankings, dtype=np.float64)
    if places.ndim < 2 or not places.shape[0]:
        raise ValueError(f"rankings have shape {places.shape}; expected (systems, ..., items)")
    if ((places * 2) % 1 != 0).any():
        raise ValueError(
            "rankings contain numbers that are not whole or half places; expected positions, not scores"
        )
    items = places.shape[-1]
    # Places are integers or halves, their medians multiples of a quarter: everything is exact in integers.
    sums = np.rint(2 * (items - places)).astype(np.int64).sum(axis=0)
    medians = np.rint(4 * np.median(places, axis=0)).astype(np.int64)
    return np.asarray(sums * (4 * max(1, items)) - medians)


def first_among_best(scores: ScoreArray, depth: int) -> int:
    """Return how many of the first `depth` items are among the `depth` best; of tied items the others come
    first.

    >>> first_among_best(np.array([0.2, 0.9, 0.5]), 2)
    1
    """
    among_first = np.arange(len(scores)) < depth
    order = np.lexsort((among_first, -scores))
    return int(among_first[order[:depth]].sum())
