"""What linear methods share: a map into the common space, scores of embeddings, and their held-out recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import (
    CAPTION_VIEW,
    DIRECTIONS,
    IMAGE_VIEW,
    Dataset,
    Matrix,
    RankDirection,
    View,
)
from phrasebox.lazy import sparse
from phrasebox.scoring import ranking
from phrasebox.scoring.similarities import similarity_scores
from phrasebox.scoring.tiles import Scores

#: Cut-offs of the recall that selects settings, in both directions.
SELECTION_CUTOFFS = (1, 5, 10)
#: The name of the figure of `recall_of_scores`.
RECALL = "mean of R@1, R@5 and R@10"
#: Number of rows mapped at a time, and for wide rows the maximum of their numbers in double precision.
_ROWS, _NUMBERS = 8192, 2**25


@dataclass(frozen=True)
class LinearMap:
    """Rows minus their mean, times weights of shape (numbers of a row, components)."""

    mean: Matrix
    weights: Matrix

    def __call__(self, features: View, *, single: bool = False) -> Matrix:
        """Return shape (rows, components), in double precision, or in `single`; sparse rows stay sparse.
        Raises ValueError for another width."""
        if features.shape[1] != len(self.mean):
            raise ValueError(
                f"features of {features.shape[1]} numbers against {len(self.mean)}; expected the same"
            )
        kind: Any = np.float32 if single else np.float64
        mean, weights = self.mean.astype(kind, copy=False), self.weights.astype(kind, copy=False)
        if isinstance(features, sparse.csr_matrix):
            moved = np.asarray(self.mean @ self.weights, kind)
            return np.asarray(features @ weights - moved)
        mapped: NDArray[Any] = np.empty((features.shape[0], weights.shape[1]), kind)
        step = min(_ROWS, max(1, _NUMBERS // len(self.mean)))
        for start in range(0, len(mapped), step):
            part = np.asarray(features[start : start + step], kind)
            mapped[start : start + step] = (part - mean) @ weights
        return mapped

    def scaled(self, scale: Matrix) -> LinearMap:
        """Return the map with each component times its `scale`, shape (components,)."""
        return LinearMap(self.mean, self.weights * scale)


def embedded_scores(
    images: NDArray[Any], captions: NDArray[Any], *, direction: RankDirection, cosine: bool
) -> Scores:
    """Return cosines of embeddings, or half of their negative squared distances; rows are queries."""
    scores = similarity_scores(images, captions, "cosine" if cosine else "euclidean")
    return scores if direction == "annotation" else scores.turned()


class LinearEmbedder:
    """Embeds both sides in one space by a linear map each; learned are `images_` and `captions_`."""

    images_: LinearMap
    captions_: LinearMap

    @property
    def cosine(self) -> bool:
        """Whether embeddings are compared by cosine instead of distance."""
        return False

    def embed(self, view: str, features: View) -> Matrix:
        """Return the embeddings of "images" or "captions", shape (items, components)."""
        return (self.images_ if view == IMAGE_VIEW else self.captions_)(features)

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return `embedded_scores`; rows are queries.

        Features of single precision are embedded, and cosines multiplied, in single precision.
        """
        single = data.images.dtype == data.captions.dtype == np.float32
        images = self.images_(data.images, single=single)
        captions = self.captions_(data.captions, single=single)
        return embedded_scores(images, captions, direction=direction, cosine=self.cosine)

    def held_out_recall(self, validation: Dataset | None) -> float:
        """Return `recall_of_embeddings` on held-out pairs; 0 without any."""
        if validation is None:
            return 0.0
        images = self.embed(IMAGE_VIEW, validation.images)
        captions = self.embed(CAPTION_VIEW, validation.captions)
        return recall_of_embeddings(images, captions, validation.image_of, cosine=self.cosine)

    def map_arrays(self) -> dict[str, NDArray[Any]]:
        """Return both maps as arrays for `take_maps`."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, side in ((IMAGE_VIEW, self.images_), (CAPTION_VIEW, self.captions_)):
            arrays |= {f"{name}.mean": side.mean, f"{name}.weights": side.weights}
        return arrays

    def take_maps(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore both maps. Raises KeyError if something is missing."""
        self.images_, self.captions_ = (
            LinearMap(arrays[f"{name}.mean"], arrays[f"{name}.weights"])
            for name in (IMAGE_VIEW, CAPTION_VIEW)
        )


def recall_of_embeddings(
    images: Matrix, captions: Matrix, image_of: NDArray[np.intp], *, cosine: bool
) -> float:
    """Return `recall_of_scores` of embeddings."""
    return recall_of_scores(
        embedded_scores(images, captions, direction="annotation", cosine=cosine), image_of
    )


def recall_of_scores(scores: Scores, image_of: NDArray[np.intp]) -> float:
    """Return the mean of R@1, R@5 and R@10 over both directions, a share; any of an image's captions counts.

    Rows of `scores` are images.
    """
    shares: list[Any] = []
    for direction in DIRECTIONS:
        directed = scores if direction == "annotation" else scores.turned()
        ranks = ranks_of_originals(directed, image_of, direction)
        shares += [np.mean(ranks <= cutoff) for cutoff in SELECTION_CUTOFFS]
    return float(np.mean(shares))


def ranks_of_originals(scores: Scores, image_of: NDArray[np.intp], direction: RankDirection) -> Matrix:
    """Return the rank of each caption's image, or of the best of each image's captions; shape (queries,)."""
    if direction == "search":
        return ranking.ranks(scores, image_of)
    (better, equal), _ = ranking.count(scores, in_rows=(image_of, np.arange(len(image_of))))
    ranks = np.full(scores.shape[0], np.inf)
    np.minimum.at(ranks, image_of, 1 + better + (equal - 1) / 2)
    return ranks
