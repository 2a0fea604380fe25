"""Images as vectors, with ranked tags of their content."""

import numpy as np

from models_core.estimators.base import Dataset, RaggedRows, TagNumbers
from tests.models_core.estimators.neural.sentences import LINK


def tagged_pictures(images=20, *, things=8, numbers=10, noise=0.1, seed=0, held_out=0):
    """Return a dataset of `images`, and another of `held_out` ones, or None.

    An image shows two to four of the `things`, most often the first ones; its tags name them, the largest
    first. Things have vectors of 6 numbers.
    """
    rng = np.random.default_rng(seed)
    looks, vectors = rng.standard_normal((things, numbers)), rng.standard_normal((things, 6))
    shares = 1 / np.arange(1, things + 1)

    def created(count):
        pictures, item = [], []
        for _ in range(count):
            displayed = rng.choice(things, rng.integers(2, 5), replace=False, p=shares / shares.sum())
            sizes = 1 / np.arange(1, len(displayed) + 1)
            pictures.append(sizes @ looks[displayed] + noise * rng.standard_normal(numbers))
            item.append(displayed)
        views = {"images": np.asarray(pictures, np.float32), "captions": tags_of(item, things, vectors)}
        return Dataset(views, {LINK: np.arange(count)})

    return created(images), created(held_out) if held_out else None


def tags_of(item, vocabulary, vectors=None):
    """Return images with these tag numbers."""
    rows = RaggedRows.of_counts(
        np.concatenate([np.asarray(value, np.int64) for value in item]), [len(value) for value in item]
    )
    return TagNumbers(rows.values, rows.begin, rows.end, vocabulary, vectors)
