"""Find identical vectors, so that their scores can be made bitwise equal.

Libraries of linear algebra multiply blocks of columns in several ways: with some kernels (those of AMD's and
of older Intel processors) the products of one vector with two copies of another differ in their last bits.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Number of entries of a vector that are compared first to find copies.
_LOOKED_AT = 8
#: Number of groups whose products are computed together. It is always the same groups, so the last bits do
#: not depend on the places of their members.
_TOGETHER = 64


@dataclass(frozen=True)
class Copies:
    """The rows that have copies, ascending, the group of each, and the first row of each group."""

    rows: NDArray[np.intp]
    groups: NDArray[np.intp]
    firsts: NDArray[np.intp]

    def within(self, span: slice) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places in a span of the rows in it that have copies, and their groups."""
        low, high = np.searchsorted(self.rows, [span.start, span.stop])
        return self.rows[low:high] - span.start, self.groups[low:high]

    def blocks(self, groups: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield, for each block that contains some of `groups`, the first rows of all its groups, and which
        of `groups` they are."""
        numbers = groups // _TOGETHER
        for number in np.unique(numbers):
            yield (
                self.firsts[number * _TOGETHER : (number + 1) * _TOGETHER],
                np.flatnonzero(numbers == number),
            )

    @staticmethod
    def index_in_block(groups: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the index of each group in its block."""
        return groups % _TOGETHER


def copies_of(vectors: NDArray[Any]) -> Copies:
    """Return the copies among vectors, shape (vectors, numbers); zero vectors do not count."""
    by_content: dict[bytes, list[int]] = {}
    for row in _suspects(vectors):
        values = vectors[row] + 0.0  # turns -0 into 0
        if values.any():
            digest = hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest()
            by_content.setdefault(digest, []).append(int(row))
    return _grouped(by_content.values())


def copies_among(places: NDArray[np.intp]) -> Copies:
    """Return the copies among items with these places, shape (items,): items in the same place are copies,
    and those in a place below 0 do not count."""
    by_place: dict[int, list[int]] = {}
    for row, index_of_row in enumerate(places.tolist()):
        if index_of_row >= 0:
            by_place.setdefault(index_of_row, []).append(row)
    return _grouped(by_place.values())


def _grouped(rows_by_index: Iterable[list[int]]) -> Copies:
    """Return the rows that have copies, from lists of equal rows."""
    several = [members for members in rows_by_index if len(members) > 1]
    rows = np.asarray([row for members in several for row in members], np.intp)
    groups = np.repeat(np.arange(len(several)), [len(members) for members in several])
    order = np.argsort(rows)
    return Copies(rows[order], groups[order], np.asarray([members[0] for members in several], np.intp))


def _suspects(vectors: NDArray[Any]) -> NDArray[np.intp]:
    """Return the rows that equal another row in some of their entries."""
    count, width = vectors.shape
    if count < 2 or not width:
        return np.empty(0, np.intp)
    columns = np.unique(np.linspace(0, width - 1, _LOOKED_AT).astype(np.intp))
    bits = np.ascontiguousarray(vectors[:, columns] + 0.0, np.float64).view(np.uint64)
    # Sums of products with odd numbers, modulo 2^64: equal if all numbers are.
    odd = np.uint64(0x9E3779B97F4A7C15) * np.arange(1, 2 * len(columns), 2, dtype=np.uint64)
    _, inverse, counts = np.unique((bits * odd).sum(axis=1), return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[inverse] > 1)
