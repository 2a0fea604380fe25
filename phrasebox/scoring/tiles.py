"""Scores of every query with every item, a tile at a time: from an array, a file, or embeddings.

A tile is a rectangle of the matrix (queries, items). Code that needs all scores walks over
`tile_grid(scores)` and has one tile at a time; the matrix never has to fit in memory. `at` returns single
scores, and they are exactly the numbers in the tiles: a product of the same two vectors in another shape may
differ in its last bit, and ties would be lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phrasebox.scoring.copies import copies_of

ScoreArray = NDArray[Any]
RowIndices = NDArray[np.intp]

#: Number of entries in one tile of an array: 16 MiB of float32.
_ENTRIES = 2**22
#: Tile of a product: large enough that the threads of BLAS rarely wait for each other (16 MiB of float32).
_PRODUCT_ROWS, _PRODUCT_COLUMNS = 1024, 4096
#: The squares of lengths between these neither under- nor overflow, nor do their sums.
_SHORT, _LONG = 1e-140, 1e140


class NotANumber(ValueError):
    """A score or an embedding is NaN or not finite, at `row` and `column` (0-based)."""

    def __init__(self, what: str, row: int, column: int) -> None:
        self.row, self.column = row, column
        super().__init__(f"{what}, row {row}, column {column} (counted from 0); every score must be a number")


class Odd(NamedTuple):
    """The indices of zero vectors, and of vectors that are too long: their scores overflow."""

    zeros: RowIndices
    overflowing: RowIndices


class Scores(ABC):
    """A matrix of scores, higher is better; rows are queries and columns are items."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(queries, items)."""

    @property
    @abstractmethod
    def tile_shape(self) -> tuple[int, int]:
        """The largest rectangle, (rows, columns), that is read or computed at once."""

    @abstractmethod
    def tile(self, rows: slice, columns: slice) -> ScoreArray:
        """Return the scores of a rectangle, shape (rows, columns); do not write to them."""

    @abstractmethod
    def at(self, rows: RowIndices, columns: RowIndices) -> ScoreArray:
        """Return the scores of pairs, shape (pairs,), bitwise equal to those in the tiles of `tile_grid`."""

    @abstractmethod
    def select(self, rows: RowIndices, columns: RowIndices) -> Scores:
        """Return the matrix of some queries and items, in the given order."""

    @abstractmethod
    def turned(self) -> Scores:
        """Return the matrix with queries and items exchanged; copies nothing."""


class Dense(Scores):
    """A matrix in memory, or mapped from a file: any real type, shape (queries, items)."""

    def __init__(self, array: ArrayLike) -> None:
        values = array if isinstance(array, np.ndarray) else np.asarray(array)
        if values.ndim != 2:
            raise ValueError(f"scores have shape {values.shape}; expected (queries, items)")
        if values.dtype.kind not in "fiub":
            raise ValueError(f"scores are of type {values.dtype}; expected real numbers")
        # Booleans cannot be subtracted or negated.
        self.array: ScoreArray = values.view(np.uint8) if values.dtype.kind == "b" else values

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @property
    def tile_shape(self) -> tuple[int, int]:
        # Whole rows: files are read from front to back, and the first NaN found is the first in the matrix.
        return max(1, _ENTRIES // max(1, self.shape[1])), max(1, self.shape[1])

    def tile(self, rows: slice, columns: slice) -> ScoreArray:
        return np.asarray(self.array[rows, columns])

    def at(self, rows: RowIndices, columns: RowIndices) -> ScoreArray:
        return np.asarray(self.array[rows, columns])

    def select(self, rows: RowIndices, columns: RowIndices) -> Dense:
        return Dense(self.array[_run(rows)][:, _run(columns)])

    def turned(self) -> Dense:
        return Dense(self.array.T)


class Products(Scores):
    """Scores of embeddings: inner products, or cosines if `cosine`.

    `queries` has shape (queries, d), `items` (items, d); both may be mapped from files. Half precision is
    multiplied in single; lengths are computed in double. The cosine with a vector of zeros is 0. Copies of a
    vector have equal scores, whatever the rounding. `odd` has the queries and items whose vectors are zeros,
    or too long to be multiplied. Raises NotANumber if an embedding is not finite.
    """

    def __init__(self, queries: ArrayLike, items: ArrayLike, *, cosine: bool = False) -> None:
        self.queries, self.items = _vectors(queries, "queries"), _vectors(items, "items")
        if self.queries.shape[1] != self.items.shape[1]:
            raise ValueError(
                f"queries have {self.queries.shape[1]} dimensions, items {self.items.shape[1]}; "
                "expected the same space"
            )
        self.cosine = cosine
        self.type = np.result_type(self.queries, self.items, np.float32)
        lengths = [_lengths(side) for side in (self.queries, self.items)]
        self.odd = tuple(_odd(lengths_of_side, self.type, cosine=cosine) for lengths_of_side in lengths)
        self._lengths = [_divisors(lengths_of_side) if cosine else None for lengths_of_side in lengths]
        self._copies = [copies_of(side) for side in (self.queries, self.items)]
        # The grid goes down the columns, so one block of items serves many tiles.
        self._block: tuple[slice, ScoreArray] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.queries), len(self.items)

    @property
    def tile_shape(self) -> tuple[int, int]:
        return _PRODUCT_ROWS, _PRODUCT_COLUMNS

    def tile(self, rows: slice, columns: slice) -> ScoreArray:
        rows, columns = (
            slice(*span.indices(count)[:2]) for span, count in zip((rows, columns), self.shape, strict=True)
        )
        block = self._block
        if block is None or block[0] != columns:
            block = self._block = columns, self._cut(1, columns)
        queries = self._cut(0, rows)
        products = np.asarray(queries @ block[1].T)
        down, across = self._copies
        places, groups = across.within(columns)
        self._fill(products, places, groups, queries)
        lines, of_lines = down.within(rows)
        for firsts, chosen in down.blocks(of_lines):
            # As for the column of an item, so for the row of a query: no other row of the tile has an
            # influence.
            unique_queries = self._cut(0, firsts)
            block_of_lines = unique_queries @ block[1].T
            self._fill(block_of_lines, places, groups, unique_queries)
            products[lines[chosen]] = block_of_lines[down.index_in_block(of_lines[chosen])]
        return products

    def at(self, rows: RowIndices, columns: RowIndices) -> ScoreArray:
        return at_by_tiles(self, rows, columns, self.type)

    def select(self, rows: RowIndices, columns: RowIndices) -> Products:
        return Products(self.queries[_run(rows)], self.items[_run(columns)], cosine=self.cosine)

    def turned(self) -> Products:
        # Not constructed again: that would read all embeddings again to check them.
        transposed = copy(self)
        transposed.queries, transposed.items = self.items, self.queries
        transposed._lengths, transposed._block, transposed.odd = self._lengths[::-1], None, self.odd[::-1]
        transposed._copies = self._copies[::-1]
        return transposed

    def _fill(self, block: ScoreArray, places: RowIndices, groups: RowIndices, queries: ScoreArray) -> None:
        """Write the scores of items that have copies to the columns at `places`."""
        across = self._copies[1]
        for firsts, chosen in across.blocks(groups):
            products = queries @ self._cut(1, firsts).T
            block[:, places[chosen]] = products[:, across.index_in_block(groups[chosen])]

    def _cut(self, side: int, span: slice | RowIndices) -> ScoreArray:
        cut = np.asarray((self.queries, self.items)[side][span], dtype=self.type)
        lengths = self._lengths[side]
        if lengths is None:
            return cut
        # In double precision, as the length may be out of the range of the type; the quotient is not.
        return np.divide(cut, lengths[span][:, None]).astype(self.type, copy=False)


def at_by_tiles(scores: Scores, rows: RowIndices, columns: RowIndices, kind: np.dtype[Any]) -> ScoreArray:
    """Return the scores of pairs from the tiles of `tile_grid`, computing each tile once."""
    scores_at = np.empty(len(rows), dtype=kind)
    high, wide = scores.tile_shape
    across = -(-scores.shape[1] // wide)
    number = rows // high * across + columns // wide
    order = np.argsort(number, kind="stable")
    cuts = np.flatnonzero(np.diff(number[order])) + 1
    for pairs in np.split(order, cuts) if len(order) else ():
        top, left = (int(n) for n in divmod(int(number[pairs[0]]), across))
        tile = scores.tile(
            slice(top * high, min((top + 1) * high, scores.shape[0])),
            slice(left * wide, min((left + 1) * wide, scores.shape[1])),
        )
        scores_at[pairs] = tile[rows[pairs] - top * high, columns[pairs] - left * wide]
    return scores_at


def tile_grid(scores: Scores) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles, columns outermost: each item's embedding is converted once."""
    (rows, columns), (high, wide) = scores.shape, scores.tile_shape
    for left in range(0, columns, wide):
        for top in range(0, rows, high):
            yield slice(top, min(top + high, rows)), slice(left, min(left + wide, columns))


def checked_tile(tile: ScoreArray, rows: slice, columns: slice) -> ScoreArray:
    """Return the tile; raises NotANumber naming its first NaN, in reading order."""
    # The maximum is NaN if any entry is, and is faster than testing every entry.
    if tile.dtype.kind == "f" and tile.size and np.isnan(tile.max()):
        row, column = (int(n) for n in np.argwhere(np.isnan(tile))[0])
        raise NotANumber("score is NaN", row + rows.start, column + columns.start)
    return tile


def _lengths(vectors: ScoreArray) -> NDArray[np.float64]:
    """Return Euclidean lengths in double precision, shape (vectors,); infinite if they overflow."""
    lengths = np.empty(len(vectors), dtype=np.float64)
    step = max(1, _ENTRIES // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        part = np.asarray(vectors[start : start + step], dtype=np.float64)
        with np.errstate(over="ignore"):
            part_lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
            # Squares may be out of the range of doubles; after division by the largest entry they are not.
            for row in np.flatnonzero((part_lengths < _SHORT) | (part_lengths > _LONG)):
                largest = np.abs(part[row]).max(initial=0.0)
                if largest:
                    part_lengths[row] = largest * np.sqrt(np.square(part[row] / largest).sum())
        lengths[start : start + step] = part_lengths
    return lengths


def _divisors(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the divisors of vectors; 1 for a zero vector, which stays zero."""
    return np.where(lengths > 0, lengths, 1.0)


def _odd(lengths: NDArray[np.float64], kind: np.dtype[Any], *, cosine: bool) -> Odd:
    """Return which of these vectors are zeros, and which are too long: to be divided, or to be multiplied by
    vectors of equal length."""
    with np.errstate(over="ignore"):
        reached = lengths if cosine else lengths**2
    limit = np.finfo(np.float64 if cosine else kind).max
    return Odd(np.flatnonzero(lengths == 0), np.flatnonzero(reached > limit))


def check_finite(vectors: ScoreArray, name: str) -> None:
    """Raise NotANumber, naming the first entry that is not finite; reads a part at a time."""
    if vectors.dtype.kind != "f":
        return
    step = max(1, _ENTRIES // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        finite = np.isfinite(vectors[start : start + step])
        if not finite.all():
            row, column = (int(n) for n in np.argwhere(~finite)[0])
            raise NotANumber(f"embedding of {name} is not finite", row + start, column)


def _vectors(values: ArrayLike, name: str) -> ScoreArray:
    vectors = values if isinstance(values, np.ndarray) else np.asarray(values)
    if vectors.ndim != 2:
        raise ValueError(f"embeddings of {name} have shape {vectors.shape}; expected ({name}, dimensions)")
    if vectors.dtype.kind not in "fiu":
        raise ValueError(f"embeddings of {name} are of type {vectors.dtype}; expected real numbers")
    check_finite(vectors, name)
    return vectors


def _run(indices: RowIndices) -> slice | RowIndices:
    """Return a slice if the indices are consecutive, since a slice copies nothing."""
    if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
        return slice(int(indices[0]), int(indices[0]) + len(indices))
    return indices
