"""Histogram and pyramid intersection: the share of two images' pixels that look alike, and where.

    histogram  K = sum over v of min(H_i(v), H_j(v))                                          (eq. 5)
    level l    I^l = sum over cells c of its 2^l x 2^l grid, and v, of min(H_ic(v), H_jc(v))  (eq. 7)
    pyramid    K = I^0 / 2^L + sum over l = 1..L of I^l / 2^(L - l + 1)                        (eq. 8)
    together   K = (mean over colour, texture and SIFT words)^p                               (eq. 6)

H(v) is a share of the *whole image's* pixels at every level, else I^l >= I^(l+1) would fail. A pyramid is an
array of shape (images, cells, words), cells in the order of the levels: 1, then 4, then 16.

How it is fast: min(a x, a y) = a min(x, y), so weights of levels and the mean over kinds are folded into one
vector an image, in single precision; four by four images go through the vector registers at once. Sums of 512
minima are added up in double precision.

On a GPU the minima are taken in tiles too, in single precision, and all sums in double.

Both kernels are positive semi-definite, but for what single precision rounds off (1e-7 of the diagonal).

Source: Hodosh et al. 2013, section 3.3; Lazebnik, Schmid and Ponce 2006.
"""

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasebox.device import CPU, Torch, host, memory_of, torch_on
from phrasebox.kernels.grams import FloatMatrix, Shares, mirror, powered
from phrasebox.threads import for_each

Singles = NDArray[np.float32]

#: The finest level of the paper's pyramids, 4 x 4 cells.
_LEVELS = 2

#: Number of images of a tile, a multiple of 4, and of dimensions that fit in the fastest cache with them.
_IMAGES, _DIMENSIONS = 64, 512
_TOGETHER = 4
#: Number of minima of a tile on a device: 128 MiB, and twice that while they are summed in double precision.
_MINIMA = 2**25


class Intersection:
    """Gram matrices of images given as a list of `Shares`, one for each kind of words (eq. 5 to 8).

    `levels` is L: 0 for histograms, 2 for the paper's pyramids. `power` is p of eq. 6,
    `device` where it is computed (see `phrasebox.device`).
    """

    def __init__(self, *, levels: int = _LEVELS, power: int = 1, device: str = CPU) -> None:
        if levels < 0:
            raise ValueError(f"{levels} levels; expected 0 for a histogram, or more for a pyramid")
        self.levels, self.power, self.device = levels, power, device

    def gram(self, rows: Sequence[Shares], columns: Sequence[Shares]) -> FloatMatrix:
        """Return shape (images of rows, images of columns). Raises ValueError if kinds do not match.

        If both are the same object, half of the work is done and the result is exactly symmetric.
        """
        on = torch_on(self.device)
        left = fold_shares(rows, self.levels)
        right = left if columns is rows else fold_shares(columns, self.levels)
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                f"images of {left.shape[1]} numbers against images of {right.shape[1]}; "
                "expected the same words and cells"
            )
        gram = intersections(left, right) if on is None else intersections_on(left, right, on)
        return powered(gram, self.power)


def level_weights(levels: int) -> FloatMatrix:
    """Return the weight of each cell's intersection, shape (cells,), by eq. 8."""
    of_level = [1 / 2**levels, *(1 / 2 ** (levels - level + 1) for level in range(1, levels + 1))]
    return np.repeat(of_level, [4**level for level in range(levels + 1)])


def fold_shares(kinds: Sequence[Shares], levels: int) -> Singles:
    """Return a vector for each image such that the intersection of two is the mean of the kinds' kernels.

    Shape (images, numbers).

    Raises ValueError with the index of the kind for a wrong shape or number of images, or a share that is
    negative or NaN.
    """
    if not kinds:
        raise ValueError("no kinds of words were given; expected histograms of at least one")
    weights = level_weights(levels)
    parts = []
    for index, shares in enumerate(kinds, start=1):
        cells = shares[:, None, :] if shares.ndim == 2 and levels == 0 else shares
        if cells.ndim != 3 or cells.shape[1] != len(weights):
            raise ValueError(
                f"kind {index} has shape {shares.shape}; expected (images, {len(weights)} cells, words) "
                f"for {levels} levels"
            )
        if len(cells) != len(kinds[0]):
            raise ValueError(
                f"kind {index} has {len(cells)} images, kind 1 has {len(kinds[0])}; expected the same"
            )
        # The minimum is NaN if any entry is.
        if cells.size and not cells.min() >= 0:
            image = int(np.argwhere(~(cells >= 0))[0][0])
            raise ValueError(
                f"kind {index}, image {image} (counted from 0) has a share that is negative or not a "
                "number; expected shares of pixels"
            )
        scaled = cells * (weights[:, None] / len(kinds)).astype(np.float32)
        parts.append(scaled.reshape(len(cells), -1).astype(np.float32))
    return np.concatenate(parts, axis=1)


def intersections(rows: Singles, columns: Singles) -> FloatMatrix:
    """Return the sums of minima of all pairs of vectors, shape (rows, columns)."""
    left = _padded(rows)
    right = left if columns is rows else _padded(columns)
    sums = np.empty((len(left), len(right)))

    def work(corner: tuple[int, int]) -> None:
        top, start = corner
        first, second = left[top : top + _IMAGES], right[start : start + _IMAGES]
        square = np.zeros((len(first), len(second)))
        _add_minima(first, second, square)
        sums[top : top + _IMAGES, start : start + _IMAGES] = square
        if right is left:
            sums[start : start + _IMAGES, top : top + _IMAGES] = square.T

    corners = (
        (top, start)
        for top in range(0, len(left), _IMAGES)
        for start in range(top if right is left else 0, len(right), _IMAGES)
    )
    for_each(work, corners)
    return np.ascontiguousarray(sums[: len(rows), : len(columns)])


def intersections_on(rows: Singles, columns: Singles, on: Torch) -> FloatMatrix:
    """Return `intersections`, computed on a device."""
    with memory_of(on):
        sums = host(_sums_of_minima(rows, columns, on))
    on.free()
    if columns is rows:
        mirror(sums)
    return sums


def _sums_of_minima(rows: Singles, columns: Singles, on: Torch) -> Any:
    """Return them as a tensor; if both are the same, the lower triangle is undefined. Needs memory for one
    more tile."""
    left = on.put(rows)
    right = left if columns is rows else on.put(columns)
    sums = on.torch.empty((len(left), len(right)), dtype=on.torch.float64, device=on.device)
    side = max(1, isqrt(_MINIMA // max(1, left.shape[1])))
    for top in range(0, len(left), side):
        row_block = left[top : top + side, None]
        for start in range(top if right is left else 0, len(right), side):
            minima = on.torch.minimum(row_block, right[None, start : start + side])
            sums[top : top + side, start : start + side] = minima.sum(dim=2, dtype=on.torch.float64)
    return sums


def _padded(vectors: Singles) -> Singles:
    """Return the vectors, padded with zeros to a multiple of four images."""
    missing = -len(vectors) % _TOGETHER
    return np.ascontiguousarray(np.pad(vectors, ((0, missing), (0, 0))) if missing else vectors)


@njit(nogil=True, cache=True, fastmath={"reassoc", "nnan", "nsz"})
def _add_minima(a, b, sums):  # type: ignore[no-untyped-def]
    """found[i, j] += sum of min(a[i], b[j]); both have a multiple of four rows."""
    for first in range(0, a.shape[1], _DIMENSIONS):
        end = min(first + _DIMENSIONS, a.shape[1])
        for i in range(0, a.shape[0], 4):
            a0, a1 = a[i, first:end], a[i + 1, first:end]
            a2, a3 = a[i + 2, first:end], a[i + 3, first:end]
            for j in range(0, b.shape[0], 4):
                b0, b1 = b[j, first:end], b[j + 1, first:end]
                b2, b3 = b[j + 2, first:end], b[j + 3, first:end]
                s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = np.float32(0)
                s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = np.float32(0)
                # Counting from 0 tells the compiler that no index is negative; otherwise it would generate
                # gather instructions.
                for d in range(end - first):
                    w, x, y, z = a0[d], a1[d], a2[d], a3[d]
                    p, q, r, t = b0[d], b1[d], b2[d], b3[d]
                    s00 += min(w, p)
                    s01 += min(w, q)
                    s02 += min(w, r)
                    s03 += min(w, t)
                    s10 += min(x, p)
                    s11 += min(x, q)
                    s12 += min(x, r)
                    s13 += min(x, t)
                    s20 += min(y, p)
                    s21 += min(y, q)
                    s22 += min(y, r)
                    s23 += min(y, t)
                    s30 += min(z, p)
                    s31 += min(z, q)
                    s32 += min(z, r)
                    s33 += min(z, t)
                sums[i, j] += s00
                sums[i, j + 1] += s01
                sums[i, j + 2] += s02
                sums[i, j + 3] += s03
                sums[i + 1, j] += s10
                sums[i + 1, j + 1] += s11
                sums[i + 1, j + 2] += s12
                sums[i + 1, j + 3] += s13
                sums[i + 2, j] += s20
                sums[i + 2, j + 1] += s21
                sums[i + 2, j + 2] += s22
                sums[i + 2, j + 3] += s23
                sums[i + 3, j] += s30
                sums[i + 3, j + 1] += s31
                sums[i + 3, j + 2] += s32
                sums[i + 3, j + 3] += s33
