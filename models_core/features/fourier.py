"""Random Fourier features: rows whose inner products near those of a Gaussian kernel.

    phi(x) = sqrt(2) cos(x R + b)

By default R ~ Normal(0, 1 / sigma^2) and b ~ Unif[0, 2 pi], as Rahimi and Recht 2007 derive them;
`as_printed` takes R ~ Normal(0, sigma^2) and b ~ Unif[0, 1], which is what Gong et al. 2014, section 4.1,
print. sigma is the mean distance of a row to its 50th nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Rows among which neighbours are looked for; more are drawn from.
NEIGHBOUR_SAMPLE = 2000


class FourierFeatures:
    """Learned are `frequencies_`, shape (numbers of a row, size), and `phases_`, shape (size,)."""

    frequencies_: NDArray[np.float64]
    phases_: NDArray[np.float64]

    def __init__(self, size: int = 3000, *, neighbour: int = 50, as_printed: bool = False) -> None:
        if min(size, neighbour) < 1:
            raise ValueError(f"{size} features by neighbour {neighbour}; expected 1 or more of both")
        self.size, self.neighbour, self.as_printed = size, neighbour, as_printed

    def fit(self, rows: NDArray[Any], dice: np.random.Generator) -> FourierFeatures:
        """Learn sigma of rows, shape (rows, d), and draw. Raises ValueError where all rows are the same."""
        sigma = neighbour_distance(rows, self.neighbour, dice)
        if not sigma > 0:
            raise ValueError(f"{len(rows)} rows have no distance from each other; no width can be learned")
        width, turn = (sigma, 1.0) if self.as_printed else (1 / sigma, 2 * np.pi)
        self.frequencies_ = width * dice.standard_normal((rows.shape[1], self.size))
        self.phases_ = turn * dice.random(self.size)
        return self

    def transform(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Shape (rows, size)."""
        return np.asarray(np.sqrt(2) * np.cos(rows @ self.frequencies_ + self.phases_))

    def state(self) -> dict[str, NDArray[Any]]:
        """Frequencies and phases."""
        return {"frequencies": self.frequencies_, "phases": self.phases_}

    def take_state(self, arrays: Mapping[str, NDArray[Any]]) -> FourierFeatures:
        """What `state` gave; raises KeyError where something is missing."""
        self.frequencies_, self.phases_ = arrays["frequencies"], arrays["phases"]
        return self


def neighbour_distance(rows: NDArray[Any], neighbour: int, dice: np.random.Generator) -> float:
    """The mean distance to the `neighbour`-th nearest other row, or to the farthest where there are fewer.

    Of many rows those of a sample are looked at. Raises ValueError for fewer than two rows.
    """
    if len(rows) < 2:
        raise ValueError(f"neighbours of {len(rows)} rows; expected 2 rows or more")
    chosen = dice.permutation(len(rows))[:NEIGHBOUR_SAMPLE]
    some = np.asarray(rows[chosen], np.float64)
    squares = np.einsum("ij,ij->i", some, some)
    apart = np.maximum(squares[:, None] + squares - 2 * some @ some.T, 0.0)
    np.fill_diagonal(apart, -1.0)  # itself comes first
    place = min(neighbour, len(some) - 1)
    return float(np.sqrt(np.partition(apart, place, axis=1)[:, place]).mean())
