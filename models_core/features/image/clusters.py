"""k-means: the centres that serve as words, and the nearest centre of each point.

Lloyd's algorithm from a k-means++ start (Arthur and Vassilvitskii 2007), in single precision, whole passes
over the points in blocks; the seed determines the result. A cluster that loses all its points starts again at
the point farthest from its centre.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]

_BLOCK = 1 << 22  # number of distances in memory at a time


def nearest(points: Points, centres: Points) -> tuple[NDArray[np.intp], Points]:
    """Return the nearest centre of each point, for (points, dimensions), and the squared distance to it; both
    (points,).

    Of equally near centres the first is taken.
    """
    assigned = np.empty(len(points), dtype=np.intp)
    distances = np.empty(len(points), dtype=np.float32)
    half_squares = (centres**2).sum(axis=1) / 2
    step = max(1, _BLOCK // len(centres))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        closeness = block @ centres.T
        closeness -= half_squares
        best = closeness.argmax(axis=1)
        assigned[start : start + step] = best
        close = closeness[np.arange(len(block)), best]
        distances[start : start + step] = np.maximum((block**2).sum(axis=1) - 2 * close, 0)
    return assigned, distances


def k_means(
    points: Points,
    number: int,
    *,
    seed: int,
    most_passes: int = 60,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Points:
    """Return `number` centres of (points, dimensions), shape (number, dimensions).

    Ends when no point changes its cluster, when a pass improves the sum of squared distances by less than a
    ten-thousandth, or after `most_passes`; `progress` is called with the passes done and their maximum.
    Raises ValueError if there are fewer different points than centres.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    rng = np.random.default_rng(seed)
    centres = _start(points, number, rng)
    before = np.inf
    for done in range(1, most_passes + 1):
        owner, distances = nearest(points, centres)
        total = float(distances.sum(dtype=np.float64))
        progress(done, most_passes)
        if before - total <= 1e-4 * total:
            break
        before = total
        sizes = np.bincount(owner, minlength=number)
        # After sorting, each cluster is a run of rows; sums of runs are computed in double precision.
        order = np.argsort(owner, kind="stable")
        filled = np.flatnonzero(sizes)
        starts = np.searchsorted(owner[order], filled)
        sums = np.add.reduceat(points[order], starts, axis=0, dtype=np.float64)
        centres[filled] = sums / sizes[filled, None]
        for empty in np.flatnonzero(sizes == 0):
            worst = int(distances.argmax())
            centres[empty], distances[worst] = points[worst], 0
    return centres


def _start(points: Points, number: int, rng: np.random.Generator) -> Points:
    """Choose initial centres by k-means++: each further centre is a point, drawn in proportion to its squared
    distance to the nearest so far."""
    centres = np.empty((number, points.shape[1]), dtype=np.float32)
    squares = (points**2).sum(axis=1)
    left = np.full(len(points), np.inf)
    chosen = int(rng.integers(len(points))) if len(points) else 0
    for index in range(number):
        if index:
            total = float(left.sum())
            if not total > 0:
                raise ValueError(
                    f"{number} clusters were requested, but there are only {index} different points; "
                    "request fewer, or give more pictures"
                )
            drawn = np.searchsorted(np.cumsum(left), rng.random() * total, side="right")
            chosen = int(min(drawn, np.flatnonzero(left)[-1]))
        elif not len(points):
            raise ValueError(f"{number} clusters were requested, but there are no points")
        centres[index] = points[chosen]
        distances = squares + squares[chosen] - 2 * (points @ points[chosen])
        # Rounding errors must not allow a point to be drawn twice.
        distances[distances <= 1e-5 * (squares + squares[chosen])] = 0
        left = np.minimum(left, distances)
    return centres
