"""Principal component analysis, and rows normalized to length 1.

The axes are eigenvectors of the covariance matrix where there are more rows than numbers, else of the inner
products of the rows. Signs are fixed: the largest number of each axis is positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasebox.lazy import linalg

#: Directions whose variance is a smaller share of the largest are rounding errors.
_LEAST_SHARE = 1e-10
#: Number of columns or rows in double precision at a time.
_SPAN = 512


@dataclass(frozen=True, slots=True)
class PrincipalAxes:
    """The mean of rows, shape (numbers,), and orthonormal axes, shape (numbers, axes).

    The axis of the largest variance comes first.
    """

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]

    @classmethod
    def fit(cls, rows: NDArray[np.float32], most: int) -> PrincipalAxes:
        """Return the `most` leading axes of rows, shape (rows, numbers), or as many as have variance.

        Raises ValueError if all rows are equal.
        """
        count, numbers = rows.shape
        mean = rows.mean(axis=0, dtype=np.float64)
        if numbers <= count:
            products = np.zeros((numbers, numbers))
            for start in range(0, count, _SPAN):
                part = rows[start : start + _SPAN] - mean
                products += part.T @ part
        else:
            products = np.zeros((count, count))
            for start in range(0, numbers, _SPAN):
                part = rows[:, start : start + _SPAN] - mean[start : start + _SPAN]
                products += part @ part.T
        axis_count = min(most, numbers, count)
        size = len(products)
        values, vectors = linalg.eigh(products, subset_by_index=(size - axis_count, size - 1))
        # In float32, equal rows may differ from their mean by rounding.
        rounding = count * float(np.finfo(np.float32).eps * np.abs(mean).max(initial=0)) ** 2
        wide = values[::-1] > max(_LEAST_SHARE * values[-1], rounding)
        if not wide.any():
            raise ValueError(f"{count} rows are all the same; no directions can be learned")
        axes = vectors[:, ::-1][:, wide]
        if numbers > count:
            axes = np.concatenate(
                [
                    (rows[:, start : start + _SPAN] - mean[start : start + _SPAN]).T @ axes
                    for start in range(0, numbers, _SPAN)
                ]
            ) / np.sqrt(values[::-1][wide])
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
        return cls(mean.astype(np.float32), axes.astype(np.float32))

    def transform(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return rows less the mean, along the axes: shape (rows, axes)."""
        return np.asarray((rows - self.mean) @ self.axes, np.float32)


def unit_rows(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return each row normalized to length 1, shape (rows, numbers); rows of zeros stay zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[:, None], np.float32)
