"""Covariances of paired rows, summed block by block: memory does not grow with the number of pairs.

Blocks of float32 are multiplied in float32 and summed in float64; half precision is multiplied in single.
Dense rows are first shifted by the mean of the first block, so that a mean far from zero costs no accuracy;
sparse rows stay sparse and are not shifted. Merging partial sums of other processes gives the same result as
adding their blocks here, up to rounding.

Source: Gong et al. 2014, section 3.2 (eq. 1 needs no more than these sums).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import (
    CAPTION_NUMBERS,
    CAPTION_VIEW,
    FURTHER,
    FURTHER_CAPTION_NUMBERS,
    FURTHER_IMAGE_NUMBERS,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_CAPTIONS,
    Amounts,
    Dataset,
    FitContext,
    Matrix,
    State,
    View,
)
from phrasebox.lazy import linalg, sparse

#: Number of rows checked and multiplied at a time.
PAIRS_PER_BLOCK = 8192
#: The phase of a fit in which sums are computed.
ADDING_UP = "adding up covariances"
#: The phases of a method that sums covariances and chooses a ridge, for `Method.phases`.
COVARIANCE_PHASES = ((ADDING_UP, 1), ("trying ridges", 1))


class RowMap(Protocol):
    """Maps rows of images or captions to other rows, a block at a time, in any process.

    Other processes reconstruct it: `ROW_MAPS[name]` takes the result of `state`.
    """

    @property
    def name(self) -> str:
        """Its name in `ROW_MAPS`."""

    def __call__(self, view: str, rows: View) -> View:
        """Return the values to sum for these rows of a view."""

    def state(self) -> State:
        """Return its parameters."""


#: Name -> function that reconstructs a map of rows from its state.
ROW_MAPS: dict[str, Callable[[State], RowMap]] = {}


def register_row_map(name: str, make: Callable[[State], RowMap]) -> None:
    """Register a function that reconstructs a map of rows; raises ValueError if another has the name."""
    if ROW_MAPS.setdefault(name, make) != make:
        raise ValueError(f"two maps of rows are called {name!r}; give one another name")


@dataclass(frozen=True)
class Covariances:
    """Means and covariances (over n) of `count` pairs: `xx` has shape (p, p), `xy` (p, q), `yy` (q, q)."""

    count: float
    x_mean: Matrix
    y_mean: Matrix
    xx: Matrix
    xy: Matrix
    yy: Matrix


class PairedSums:
    """Sums over pairs of rows with `x` and `y` numbers, from which their covariances are computed."""

    def __init__(self, x: int, y: int) -> None:
        if min(x, y) < 1:
            raise ValueError(f"rows of {x} and {y} numbers; expected 1 or more on both sides")
        self.count: float = 0
        self._shifts = [np.zeros(x), np.zeros(y)]
        self._sums = [np.zeros(x), np.zeros(y)]
        # Only the upper triangles of the squares are summed.
        self._squares = [np.zeros((x, x)), np.zeros((y, y))]
        self._products = np.zeros((x, y))

    @property
    def widths(self) -> tuple[int, int]:
        """The row lengths of both sides."""
        return self._products.shape[0], self._products.shape[1]

    def add(self, x: View, y: View, *, names: tuple[str, str] = ("images", "captions")) -> None:
        """Add a block of pairs, shapes (pairs, p) and (pairs, q), dense or sparse.

        Raises ValueError, without adding anything, for mismatched shapes or a number that is not finite; the
        message names the side, the row of the block and the column.
        """
        blocks = [
            _checked(block, width, name)
            for block, width, name in zip((x, y), self.widths, names, strict=True)
        ]
        if blocks[0].shape[0] != blocks[1].shape[0]:
            raise ValueError(
                f"a block has {blocks[0].shape[0]} {names[0]} and {blocks[1].shape[0]} {names[1]}; "
                "expected pairs"
            )
        if not blocks[0].shape[0]:
            return
        if not self.count:
            self._shifts = [_mean(block) for block in blocks]
        moved = [_moved(block, shift) for block, shift in zip(blocks, self._shifts, strict=True)]
        for side, block in enumerate(moved):
            self._sums[side] += np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
            _add_square(self._squares[side], block)
        self._products += _product(*moved)
        self.count += blocks[0].shape[0]

    def merge(self, other: PairedSums) -> None:
        """Add the sums of other pairs. Raises ValueError if they have other widths."""
        if other.widths != self.widths:
            raise ValueError(f"sums of {other.widths} numbers against {self.widths}; expected the same")
        if not other.count:
            return
        if not self.count:
            self._shifts = [shift.copy() for shift in other._shifts]
        apart = [theirs - ours for ours, theirs in zip(self._shifts, other._shifts, strict=True)]
        # Relative to our shift each of their rows is longer by `apart`.
        for side in (0, 1):
            d, s = apart[side], other._sums[side]
            cross = np.outer(d, s)
            self._squares[side] += np.triu(
                other._squares[side] + cross + cross.T + other.count * np.outer(d, d)
            )
        self._products += (
            other._products
            + np.outer(apart[0], other._sums[1])
            + np.outer(other._sums[0], apart[1])
            + other.count * np.outer(*apart)
        )
        for side in (0, 1):
            self._sums[side] += other._sums[side] + other.count * apart[side]
        self.count += other.count

    def weighted(self, weight: float) -> PairedSums:
        """Return the sums with each pair counted `weight` times."""
        weighted = PairedSums(*self.widths)
        weighted.count = self.count * weight
        weighted._shifts = [shift.copy() for shift in self._shifts]
        weighted._sums = [weight * sums for sums in self._sums]
        weighted._squares = [weight * sums for sums in self._squares]
        weighted._products = weight * self._products
        return weighted

    def covariances(self) -> Covariances:
        """Return the covariances. Raises ValueError for fewer than two pairs."""
        if self.count < 2:
            raise ValueError(f"covariances of {self.count} pairs; expected 2 or more")
        means = [total / self.count for total in self._sums]
        view_covariances = []
        for square, mean in zip(self._squares, means, strict=True):
            full = np.triu(square) + np.triu(square, 1).T
            view_covariances.append(full / self.count - np.outer(mean, mean))
        return Covariances(
            self.count,
            self._shifts[0] + means[0],
            self._shifts[1] + means[1],
            view_covariances[0],
            self._products / self.count - np.outer(*means),
            view_covariances[1],
        )

    def state(self) -> State:
        """Return the sums as arrays; `from_state` restores them."""
        arrays: dict[str, NDArray[Any]] = {"products": self._products}
        for name, sides in (("shift", self._shifts), ("sum", self._sums), ("square", self._squares)):
            arrays |= {f"{name}.{side}": array for side, array in zip("xy", sides, strict=True)}
        return arrays, {"count": self.count}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> PairedSums:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(*arrays["products"].shape)
        restored.count, restored._products = int(settings["count"]), np.array(arrays["products"])
        restored._shifts, restored._sums, restored._squares = (
            [np.array(arrays[f"{name}.{side}"]) for side in "xy"] for name in ("shift", "sum", "square")
        )
        return restored


def sums_of_pairs(
    images: View,
    captions: View,
    image_of: NDArray[np.intp],
    *,
    rows: int = PAIRS_PER_BLOCK,
    described: RowMap | None = None,
) -> PairedSums:
    """Return the sums over all captions with their images, `rows` pairs at a time.

    `described`, if given, maps each block to the values to sum.
    """
    sums: PairedSums | None = None
    for start in range(0, captions.shape[0], rows):
        part = slice(start, start + rows)
        blocks = images[image_of[part]], captions[part]
        if described is not None:
            blocks = described(IMAGE_VIEW, blocks[0]), described(CAPTION_VIEW, blocks[1])
        sums = sums or PairedSums(blocks[0].shape[1], blocks[1].shape[1])
        sums.add(*blocks)
    return sums or PairedSums(images.shape[1], captions.shape[1])


def sums_of_dataset(data: Dataset, context: FitContext, described: RowMap | None = None) -> PairedSums:
    """Return the sums over all captions of `data` with their images, by `context.sum_pairs` if given.

    `described`, if given, maps each block to the values to sum.
    """
    context.progress(ADDING_UP, 0, 1)
    sum_pairs = context.sum_pairs or sums_of_pairs
    sums: PairedSums = sum_pairs(data.images, data.captions, data.image_of, described=described)
    context.progress(ADDING_UP, 1, 1)
    return sums


def covariance_memory(x: int, y: int, pairs: int) -> float:
    """Return roughly how many bytes it takes to sum covariances of `pairs` pairs of rows of `x` and `y`
    numbers, and to solve their eigenproblem."""
    less = min(x, y)
    sums = x * x + y * y + x * y
    solving = x * x + y * y + 3 * x * y + 4 * less * less
    blocks = 2 * min(PAIRS_PER_BLOCK, pairs) * (x + y)
    return 8.0 * max(2 * sums + 2 * max(x, y) ** 2 + blocks, sums + solving)


def memory_of_pairs(settings: Any, amounts: Amounts) -> float:
    """Return `Method.memory` of a method that learns from the covariances of images and captions."""
    return covariance_memory(amounts[IMAGE_NUMBERS], amounts[CAPTION_NUMBERS], amounts[TRAINING_CAPTIONS])


def memory_of_further_pairs(settings: Any, amounts: Amounts) -> float:
    """Return `Method.memory` of a method that learns from those of additional pairs, as well or instead."""
    return max(
        memory_of_pairs(settings, amounts),
        covariance_memory(amounts[FURTHER_IMAGE_NUMBERS], amounts[FURTHER_CAPTION_NUMBERS], amounts[FURTHER]),
    )


def _checked(block: View, width: int, name: str) -> View:
    checked = block if isinstance(block, sparse.csr_matrix) else np.asarray(block)
    if checked.ndim != 2 or checked.shape[1] != width:
        raise ValueError(f"a block of {name} has shape {checked.shape}; expected (pairs, {width})")
    if checked.dtype.kind not in "fiub":
        raise ValueError(f"a block of {name} is of type {checked.dtype}; expected real numbers")
    single = checked.dtype in (np.float16, np.float32)
    checked = checked.astype(np.float32 if single else np.float64, copy=False)
    # A sum is not finite where a number is not; a sum of large finite numbers may overflow, too.
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(checked.sum(dtype=np.float64))
    if suspect:
        rows, columns = np.nonzero(~np.isfinite(_dense(checked)))
        if len(rows):
            raise ValueError(
                f"row {int(rows[0])} of a block of {name} is not finite in column {int(columns[0])}; "
                "leave the item out, or mend its features"
            )
    return checked


def _dense(block: Any) -> NDArray[Any]:
    return np.asarray(block.toarray() if sparse.issparse(block) else block)


def _mean(block: View) -> Matrix:
    if isinstance(block, sparse.csr_matrix):
        return np.zeros(block.shape[1])
    return np.asarray(block.mean(axis=0, dtype=np.float64))


def _moved(block: View, shift: Matrix) -> View:
    if isinstance(block, sparse.csr_matrix) or not shift.any():
        return block
    return block - shift.astype(block.dtype)


def _add_square(total: Matrix, block: View) -> None:
    """Add block' block; only the upper triangle is used."""
    if isinstance(block, sparse.csr_matrix):
        square = (block.T @ block).tocoo()
        total[square.row, square.col] += square.data
        return
    # Half of the operations of a full product; BLAS expects contiguous columns, so our rows are its columns.
    syrk = linalg.blas.ssyrk if block.dtype == np.float32 else linalg.blas.dsyrk
    total += syrk(1.0, np.ascontiguousarray(block).T, lower=0)


def _product(x: View, y: View) -> NDArray[Any]:
    # The sparse factor comes first: the other way round scipy would convert it to dense.
    return _dense((y.T @ x).T) if sparse.issparse(y) else _dense(x.T @ y)
