"""Paired vectors made from a few common topics, so that both sides correlate."""

import numpy as np
from scipy import sparse

from models_core.estimators.base import Dataset

LINK = ("captions", "images")


def paired(images=120, *, captions=2, x=9, y=7, topics=3, noise=0.5, seed=0, held_out=0):
    """Return a dataset of `images` with `captions` each; and another of `held_out` images with one caption
    each."""
    rng = np.random.default_rng(seed)
    to_x, to_y = rng.standard_normal((topics, x)), rng.standard_normal((topics, y))

    def created(count, item):
        about = rng.standard_normal((count, topics))
        of = np.repeat(np.arange(count), item)
        pictures = about @ to_x + noise * rng.standard_normal((count, x)) + 2
        texts = about[of] @ to_y + noise * rng.standard_normal((count * item, y)) - 1
        return Dataset({"images": pictures, "captions": texts}, {LINK: of})

    return created(images, captions), created(held_out, 1)


def in_one_space(images, *, numbers=6, noise=0.5, seed=0):
    """Return a dataset of `images` with a caption each, whose vectors are near those of their images."""
    rng = np.random.default_rng(seed)
    pictures = rng.standard_normal((images, numbers))
    texts = pictures + noise * rng.standard_normal((images, numbers))
    return Dataset({"images": pictures, "captions": texts}, {LINK: np.arange(images)})


def with_sparse_captions(data):
    """Return the same dataset with its captions as a sparse matrix."""
    return Dataset({**data.views, "captions": sparse.csr_matrix(data.captions)}, data.links)


def every_pair(data):
    """Return images and captions row by row, as float64."""
    return np.asarray(data.images)[data.image_of], np.asarray(data.captions)


def all_scores(model, data, direction):
    """Return the whole matrix of scores; rows are queries."""
    whole = slice(0, None)
    return np.asarray(model.score(data, direction=direction).tile(whole, whole))
