"""Counts of words in cells, and the shares of an image's pixels that kernels use.

Only the finest grid is stored: cells of coarser levels are sums of finer ones, as boundaries nest. Shares are
of the whole image at every level, or else the inequality below eq. 7 would not hold. Source: Hodosh et al.
2013, section 3.3.2; Lazebnik, Schmid and Ponce 2006.
"""

import numpy as np
from numpy.typing import NDArray

#: L of eq. 8: the finest grid has 2^L x 2^L cells.
_LEVELS = 2
FINEST = 2**_LEVELS

_Counts = NDArray[np.uint32]


def count_in_cells(words: NDArray[np.intp], vocabulary: int) -> _Counts:
    """Return the count of each word in each of the 4 x 4 cells, shape (16, vocabulary), cells in reading
    order.

    `words` has shape (rows, columns): a word at each point.
    """
    rows, columns = words.shape
    cell = (np.arange(rows) * FINEST // rows)[:, None] * FINEST + np.arange(columns) * FINEST // columns
    counts = np.bincount((cell * vocabulary + words).ravel(), minlength=FINEST**2 * vocabulary)
    return counts.reshape(FINEST**2, vocabulary).astype(np.uint32)


def pyramid(counts: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return shares in all cells, shape (images, 21, words): the whole image, then 4 cells, then 16.

    `counts` has shape (images, 16, words). An image without points has shares of 0.
    """
    images, _, words = counts.shape
    grid = counts.reshape(images, FINEST, FINEST, words)
    levels = []
    for level in range(_LEVELS + 1):
        side, inside = 2**level, FINEST // 2**level
        cells = grid.reshape(images, side, inside, side, inside, words).sum(axis=(2, 4), dtype=np.float64)
        levels.append(cells.reshape(images, side * side, words))
    points = levels[0].sum(axis=2, keepdims=True)
    return (np.concatenate(levels, axis=1) / np.maximum(points, 1)).astype(np.float32)


def histogram(counts: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return shares in the whole image, shape (images, words): H of eq. 5."""
    return pyramid(counts)[:, 0]
