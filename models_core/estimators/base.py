"""What estimators share: matrices, directions, and the check of numbers that they are given."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]
#: An image asks for captions, or a caption for images.
RankDirection = Literal["annotation", "search"]


def checked_numbers(values: ArrayLike, name: str) -> Matrix:
    """Finite real numbers as float64; raises ValueError naming the first entry that is none."""
    found = np.asarray(values)
    if found.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of type {found.dtype}; expected real numbers")
    found = np.asarray(found, dtype=np.float64)
    # Sums are not finite where an entry is not, and need no matrix of truth values.
    if not np.isfinite(found.sum()):
        wrong = np.argwhere(~np.isfinite(found))
        if len(wrong):
            at = tuple(int(i) for i in wrong[0])
            raise ValueError(f"{name} is {found[at]} at {at}; every entry must be a finite number")
    return found
