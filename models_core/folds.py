"""Folds of images for cross-validation, dealt by a seed."""

import numpy as np
from numpy.typing import NDArray

FOLDS = 5


def make_folds(images: int, number: int = FOLDS, *, seed: int = 0) -> list[NDArray[np.intp]]:
    """Return the images of each fold, in ascending order. Raises ValueError for fewer than 3 folds."""
    if not 3 <= number <= images:
        raise ValueError(
            f"{images} images in {number} folds; expected at least 3 folds (for training, selection and "
            "testing) with an image in each"
        )
    order = np.random.default_rng(seed).permutation(images)
    return [np.sort(order[fold::number]) for fold in range(number)]
