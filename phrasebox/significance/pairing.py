"""Values of systems on the same queries, side by side."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def paired(*systems: ArrayLike, queries: str = "query") -> NDArray[np.float64]:
    """Return the systems' values, shape (systems, queries that have a value).

    A query that has no value (NaN) for all systems is left out. Raises ValueError for systems on different
    numbers of queries, for a query that has a value for some systems only, and if no query is left.

    >>> paired([1, np.nan, 0], [0, np.nan, 0]).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values = [np.asarray(system, dtype=np.float64) for system in systems]
    if any(v.shape != values[0].shape or v.ndim != 1 for v in values):
        shapes = ", ".join(str(v.shape) for v in values)
        raise ValueError(f"the systems' values have shapes {shapes}; expected one value for each {queries}")
    table = np.stack(values)
    missing = np.isnan(table)
    uneven = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
    if len(uneven):
        system = int(np.flatnonzero(missing[:, uneven[0]])[0])
        raise ValueError(
            f"{queries} {uneven[0]} has no value for system {system} and one for another; "
            "compare systems under the same judgments"
        )
    complete = np.ascontiguousarray(table[:, ~missing.any(axis=0)])
    if not complete.shape[1]:
        raise ValueError(f"no {queries} has a value; there is nothing to compare")
    return complete


def shared_images(images: Sequence[Hashable] | None, first: ArrayLike) -> NDArray[np.int64] | None:
    """Return the image number of each query that has a value in `first`, shape (queries that have one,).

    None if no two queries share an image, or without `images`. Raises ValueError for another number of images
    than queries.

    >>> shared_images(["a", "a", "b"], [1.0, 0.0, np.nan])
    array([0, 0])
    """
    if images is None:
        return None
    defined = ~np.isnan(np.asarray(first, dtype=np.float64))
    if len(images) != len(defined):
        raise ValueError(f"{len(images)} images for {len(defined)} queries; name one for each query")
    numbers: dict[Hashable, int] = {}
    of = [
        numbers.setdefault(image, len(numbers))
        for image, is_defined in zip(images, defined, strict=True)
        if is_defined
    ]
    return np.array(of, dtype=np.int64) if len(numbers) < len(of) else None


def paired_differences(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return first minus second; two infinities (neither was retrieved) have no difference."""
    same = first == second
    return np.where(same, 0.0, np.subtract(first, second, where=~same, out=np.zeros(first.shape)))
