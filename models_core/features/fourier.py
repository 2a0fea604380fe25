"""Random Fourier features: rows whose inner products approximate a Gaussian kernel.

    phi(x) = sqrt(2) cos(x R + b)

By default R ~ Normal(0, 1 / sigma^2) and b ~ Unif[0, 2 pi], as Rahimi and Recht 2007 derive them;
`as_printed` takes R ~ Normal(0, sigma^2) and b ~ Unif[0, 1], as in Gong et al. 2014, section 4.1. sigma is
the mean distance of a row to its 50th nearest neighbour among all rows; if there are many, only for a sample
of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Maximum number of rows whose neighbours are computed; of more, a sample is drawn.
NEIGHBOUR_SAMPLE = 2000
#: Number of these rows, and of all rows, that are compared at a time: 16 MiB of distances.
_TOGETHER, _COMPARED = 250, 8192


class FourierFeatures:
    """Learned are `frequencies_`, shape (numbers of a row, size), and `phases_`, shape (size,)."""

    frequencies_: NDArray[np.float64]
    phases_: NDArray[np.float64]

    def __init__(self, size: int = 3000, *, neighbour: int = 50, as_printed: bool = False) -> None:
        if min(size, neighbour) < 1:
            raise ValueError(f"{size} features by neighbour {neighbour}; expected 1 or more of both")
        self.size, self.neighbour, self.as_printed = size, neighbour, as_printed

    def fit(self, rows: NDArray[Any], rng: np.random.Generator) -> FourierFeatures:
        """Learn sigma from rows, shape (rows, d), and draw. Raises ValueError if all rows are equal."""
        sigma = neighbour_distance(rows, self.neighbour, rng)
        if not sigma > 0:
            raise ValueError(f"{len(rows)} rows have no distance from each other; no width can be learned")
        width, frequency = (sigma, 1.0) if self.as_printed else (1 / sigma, 2 * np.pi)
        self.frequencies_ = width * rng.standard_normal((rows.shape[1], self.size))
        self.phases_ = frequency * rng.random(self.size)
        return self

    def transform(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the features, shape (rows, size)."""
        return np.asarray(np.sqrt(2) * np.cos(rows @ self.frequencies_ + self.phases_))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return frequencies and phases."""
        return {"frequencies": self.frequencies_, "phases": self.phases_}

    def take_state(self, arrays: Mapping[str, NDArray[Any]]) -> FourierFeatures:
        """Restore what `state` returned; raises KeyError if something is missing."""
        self.frequencies_, self.phases_ = arrays["frequencies"], arrays["phases"]
        return self


def neighbour_distance(rows: NDArray[Any], neighbour: int, rng: np.random.Generator) -> float:
    """Return the mean distance to the `neighbour`-th nearest other row, or to the farthest if there are
    fewer.

    With many rows only a sample is used; its neighbours are searched among all rows, in blocks. Raises
    ValueError for fewer than two rows.
    """
    if len(rows) < 2:
        raise ValueError(f"neighbours of {len(rows)} rows; expected 2 rows or more")
    chosen = rng.permutation(len(rows))[:NEIGHBOUR_SAMPLE]
    rank = min(neighbour, len(rows) - 1)
    distances = [
        _nearest(rows, chosen[start : start + _TOGETHER], rank) for start in range(0, len(chosen), _TOGETHER)
    ]
    return float(np.sqrt(np.concatenate(distances)).mean())


def _nearest(rows: NDArray[Any], chosen: NDArray[np.intp], rank: int) -> NDArray[np.float64]:
    """Return the squared distance of each chosen row to the other row with this rank, 1 for the nearest."""
    some = np.asarray(rows[chosen], np.float64)
    lengths = np.einsum("ij,ij->i", some, some)[:, None]
    nearest = np.empty((len(chosen), 0))
    for start in range(0, len(rows), _COMPARED):
        others = np.asarray(rows[start : start + _COMPARED], np.float64)
        squares = np.einsum("ij,ij->i", others, others)
        apart = np.maximum(lengths + squares - 2 * some @ others.T, 0.0)
        here = np.flatnonzero((chosen >= start) & (chosen < start + len(others)))
        apart[here, chosen[here] - start] = -1.0  # the row itself comes first
        nearest = np.concatenate([nearest, apart], axis=1)
        if nearest.shape[1] > rank + 1:
            nearest = np.partition(nearest, rank, axis=1)[:, : rank + 1]
    return np.asarray(nearest.max(axis=1))
