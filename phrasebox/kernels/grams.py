"""What kernels share: normalisation, diagonals and powers.

Every kernel has `gram(rows, columns)`, shape (len(rows), len(columns)), float64.
"""

import numpy as np
from numpy.typing import NDArray

FloatMatrix = NDArray[np.float64]
#: Pixels' shares of one kind of words: shape (images, words), or (images, cells, words) for a pyramid.
Shares = NDArray[np.floating]


def normalised(gram: FloatMatrix, own_rows: FloatMatrix, own_columns: FloatMatrix) -> FloatMatrix:
    """Divide a kernel by the geometric mean of each item's response to itself (section 3.4.3).

    `own_rows` and `own_columns` are K(x, x), shapes (rows,) and (columns,). An item without a word has zero
    response: its entries are 0.
    """
    scale = np.sqrt(np.outer(own_rows, own_columns))
    return np.divide(gram, scale, out=np.zeros_like(gram), where=scale > 0)


def scaled_diagonal(gram: FloatMatrix, factor: float) -> FloatMatrix:
    """Return the kernel of training items with its diagonal multiplied by `factor` (section 4.1.3: 1 to 15).

    Raises ValueError for a kernel that is not square, or a factor under 1, which might break definiteness.
    """
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(f"a kernel of shape {gram.shape} is not square; expected (items, items)")
    if not factor >= 1:
        raise ValueError(f"diagonal factor {factor:g}; expected 1 or more")
    scaled = gram.copy()
    scaled.flat[:: len(scaled) + 1] *= factor
    return scaled


def powered(gram: FloatMatrix, power: int) -> FloatMatrix:
    """Return each entry to the power (eq. 6; section 4.1.3: 2 or 3). Integer powers preserve definiteness."""
    if power < 1 or power != int(power):
        raise ValueError(f"power {power}; expected a whole number from 1")
    return np.asarray(gram**power)


def mirror(gram: FloatMatrix) -> None:
    """Copy the upper triangle to the lower one, a square at a time."""
    step = 512
    for top in range(0, len(gram), step):
        for left in range(0, top + step, step):
            square = gram[left : left + step, top : top + step]
            if left == top:
                upper = np.triu(square)
                square[...] = upper + np.triu(upper, 1).T
            else:
                gram[top : top + step, left : left + step] = square.T
