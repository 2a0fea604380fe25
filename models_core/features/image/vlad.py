"""VLAD: a picture's local descriptors as one vector, by how they lie around the centres of a codebook.

Each descriptor goes to its nearest centre; each centre adds up the differences of its descriptors from it;
these sums, one centre after the other, are brought to length 1. Source: Jegou et al. 2010, section 3.

Before that, descriptors are reduced to fewer numbers by PCA.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_core.features.image.clusters import Points, k_means, nearest
from models_core.features.principal_axes import PrincipalAxes, unit_rows


@dataclass(frozen=True, slots=True)
class LocalCodebook:
    """How descriptors are reduced, and the centres of what comes of it, shape (words, numbers)."""

    axes: PrincipalAxes
    centres: Points

    def pool(self, points: Points, power: float = 1.0) -> NDArray[np.float32]:
        """One vector of a picture's descriptors, shape (points, dimensions): (words * numbers,)."""
        return vlad(self.axes.transform(points), self.centres, power)


def learn_codebook(points: Points, *, words: int, numbers: int, seed: int) -> LocalCodebook:
    """A codebook of descriptors, shape (points, dimensions), reduced to at most `numbers` numbers.

    Raises ValueError where there are fewer different descriptors than words.
    """
    axes = PrincipalAxes.fit(points, numbers)
    return LocalCodebook(axes, k_means(axes.transform(points), words, seed=seed))


def vlad(points: Points, centres: Points, power: float = 1.0) -> NDArray[np.float32]:
    """Sums of differences from the nearest centres, shape (words * dimensions,), of length 1.

    `points` is (points, dimensions), `centres` (words, dimensions). Of each number of the sums the power
    `power` is taken, its sign kept (1: none, as in the paper; 0.5: the signed square root). All zeros where
    every point is a centre.
    """
    owner, _ = nearest(points, centres)
    members = (owner == np.arange(len(centres))[:, None]).astype(np.float64)
    sums = members @ points.astype(np.float64) - members.sum(axis=1)[:, None] * centres
    if power != 1:
        sums = np.sign(sums) * np.abs(sums) ** power
    return np.asarray(unit_rows(sums.reshape(1, -1))[0], np.float32)
