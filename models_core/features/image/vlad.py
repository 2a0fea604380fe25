"""VLAD: a picture's local descriptors as one vector of differences from the centres of a codebook.

Each descriptor is assigned to its nearest centre; each centre sums the differences of its descriptors from
it; these sums are concatenated and normalized to length 1. Source: Jegou et al. 2010, section 3.

Before that, PCA reduces the dimensions of the descriptors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_core.features.image.clusters import Points, k_means, nearest
from models_core.features.principal_axes import PrincipalAxes, unit_rows


@dataclass(frozen=True, slots=True)
class LocalCodebook:
    """Axes that reduce descriptors, and centres of the reduced descriptors, shape (words, numbers)."""

    axes: PrincipalAxes
    centres: Points

    def pool(self, points: Points, power: float = 1.0) -> NDArray[np.float32]:
        """Return one vector of shape (words * numbers,) for a picture's descriptors, shape (points,
        dimensions)."""
        return vlad(self.axes.transform(points), self.centres, power)


def learn_codebook(points: Points, *, words: int, numbers: int, seed: int) -> LocalCodebook:
    """Learn a codebook from descriptors, shape (points, dimensions), reduced to at most `numbers` dimensions.

    Raises ValueError if there are fewer distinct descriptors than words.
    """
    axes = PrincipalAxes.fit(points, numbers)
    return LocalCodebook(axes, k_means(axes.transform(points), words, seed=seed))


def vlad(points: Points, centres: Points, power: float = 1.0) -> NDArray[np.float32]:
    """Return sums of differences from the nearest centres, shape (words * dimensions,), of length 1.

    `points` is (points, dimensions), `centres` (words, dimensions). Each number of the sums is raised to
    `power` with its sign kept (1: unchanged, as in the paper; 0.5: the signed square root). All zeros if
    every point is a centre.
    """
    owner, _ = nearest(points, centres)
    members = (owner == np.arange(len(centres))[:, None]).astype(np.float64)
    sums = members @ points.astype(np.float64) - members.sum(axis=1)[:, None] * centres
    if power != 1:
        sums = np.sign(sums) * np.abs(sums) ** power
    return np.asarray(unit_rows(sums.reshape(1, -1))[0], np.float32)
