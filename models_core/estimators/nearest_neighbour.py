"""The nearest-neighbour systems: the query is answered by the closest training pair.

Source: Hodosh et al. 2013, section 3.1, eq. 2. A system is a pair of similarities: the image kernel, and one
of the text similarities F1, F1 with idf, or a text kernel (bag of words, trigram), all between new items and
training items, in the form that KCCA takes. The four systems of Table 11 differ only in the text similarity.
There is nothing to fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from models_core.checked_fields import BadField
from models_core.estimators.base import (
    Dataset,
    FitContext,
    Matrix,
    RankDirection,
    State,
    add_method,
    checked_numbers,
)
from models_core.estimators.kcca.method import KernelSelection
from phrasebox.lazy import sparse
from phrasebox.scoring.tiles import Dense


def score_pairs(images: ArrayLike, sentences: ArrayLike, *, direction: RankDirection) -> Matrix:
    """Return scores of every pair, shape (images, sentences), by eq. 2 for one direction.

    `images` holds similarities of new images with the training images, shape (images, pairs), `sentences`
    those of new sentences with the training sentences, shape (sentences, pairs). For `annotation` the query
    is answered by the training pair with the nearest image, for `search` by the one with the nearest
    sentence; of equally near ones by the first. Raises ValueError for different widths.
    """
    left, right = (
        checked_numbers(images, "image similarities"),
        checked_numbers(sentences, "text similarities"),
    )
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1] or not left.shape[1]:
        raise ValueError(
            f"image similarities have shape {left.shape}, text similarities {right.shape}; "
            "expected a column for each training pair in both"
        )
    if direction == "annotation":
        return np.ascontiguousarray(right[:, left.argmax(axis=1)].T)
    if direction == "search":
        return np.ascontiguousarray(left[:, right.argmax(axis=1)])
    raise ValueError(f"direction {direction!r} is unknown; expected annotation or search")


def f1_similarity(
    new: sparse.spmatrix, training: sparse.spmatrix, weights: ArrayLike | None = None
) -> Matrix:
    """Return F1 of two bags of words, shape (new, training): 2 overlap / (size + size).

    Both are word counts, shape (texts, words); the overlap counts a word as often as both have it. `weights`
    (words,) are the idf of NN5-F1-idf, 1 each where None; negative ones must be clipped before. The F1 of two
    texts without weight is 0.
    """
    left, right = (sparse.csr_matrix(side, dtype=np.float64) for side in (new, training))
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"texts have {left.shape[1]} and {right.shape[1]} words; expected one vocabulary")
    worth = np.ones(left.shape[1]) if weights is None else checked_numbers(weights, "word weights")
    if worth.shape != (left.shape[1],) or (worth < 0).any():
        raise ValueError(
            f"word weights have shape {worth.shape} or are below 0; expected ({left.shape[1]},), 0 or more"
        )
    overlap = np.zeros((left.shape[0], right.shape[0]))
    # min(a, b) is the number of t for which both have the word at least t times.
    for times in range(1, int(min(left.max(), right.max())) + 1 if left.nnz and right.nnz else 1):
        often = [sparse.csr_matrix(side >= times, dtype=np.float64) for side in (left, right)]
        overlap += (often[0].multiply(worth).tocsr() @ often[1].T).toarray()
    sizes = (left @ worth)[:, None] + right @ worth
    return np.asarray(2 * overlap / np.where(sizes > 0, sizes, 1.0))


class NearestNeighbours:
    """Answers a query by the nearest training pair. There is nothing to fit."""

    def __init__(self, settings: KernelSelection) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> NearestNeighbours:
        """Return self: kernels with the training items are all that it needs."""
        return self

    def score(self, data: Dataset, *, direction: RankDirection) -> Dense:
        """Return eq. 2; rows are queries."""
        scores = score_pairs(data.images, data.captions, direction=direction)
        return Dense(scores if direction == "annotation" else np.ascontiguousarray(scores.T))

    def state(self) -> State:
        """Return an empty state."""
        return {}, {}


def _check(text: Any, image: Any) -> None:
    if text.kernel == "f1" and text.weighting == "sqrt-idf":
        raise BadField("text.kernel", "f1", "nearest-neighbour with weighting none or idf")


# The grid of KCCA is part of these recipes, and not part of the method.
add_method(
    name="nearest-neighbour",
    title="nearest neighbours",
    settings=KernelSelection,
    make=NearestNeighbours,
    load=lambda settings, state: NearestNeighbours(settings),
    takes={"images": "kernel", "captions": "kernel"},
    source="Hodosh et al. 2013, section 3.1",
    learns=False,
    selects=False,
    comparable=False,
    check=_check,
    table="selection",
)
