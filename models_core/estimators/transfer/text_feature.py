"""CCA of images beside the mean text of similar weak images.

Source: Gong et al. 2014, section 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import (
    CAPTION_NUMBERS,
    FURTHER,
    FURTHER_IMAGE_NUMBERS,
    HELD_OUT,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_CAPTIONS,
    TRAINING_IMAGES,
    Amounts,
    Dataset,
    FitContext,
    RankDirection,
    State,
    View,
)
from models_core.estimators.cca import CCA
from models_core.estimators.covariances import covariance_memory
from models_core.estimators.transfer.weak_pairs import TextFeatureSettings, matching_scale, weak_pairs
from phrasebox.lazy import sparse
from phrasebox.scoring.tiles import Scores

#: Number of images, and of weak images, that are compared at a time.
_ROWS, _BLOCK = 256, 8192


def text_feature_memory(settings: TextFeatureSettings, amounts: Amounts) -> float:
    """`Method.memory`: images beside their texts, in single precision, and a block of distances."""
    images, captions = amounts[IMAGE_NUMBERS], amounts[CAPTION_NUMBERS]
    beside = 4.0 * (amounts[TRAINING_IMAGES] + amounts[HELD_OUT]) * (2 * images + 3 * captions)
    covariance = covariance_memory(images + captions, captions, amounts[TRAINING_CAPTIONS])
    weak = 4.0 * amounts[FURTHER] * amounts[FURTHER_IMAGE_NUMBERS]
    return beside + weak + max(40.0 * _ROWS * _BLOCK, covariance)


class TextFeature:
    """CCA of images beside the mean text of similar weak images; learned is `cca_`.

    It keeps the weak pairs, because new images are compared with them: `images_`, shape (n, d), and `texts_`,
    the mean bag of each, sparse (n, words).
    """

    cca_: CCA
    images_: NDArray[np.float32]
    texts_: sparse.csr_matrix
    scale_: float
    selection_: tuple[str, ...]

    def __init__(self, settings: TextFeatureSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> TextFeature:
        """Train on clean pairs; raises ValueError without weak pairs."""
        weak = weak_pairs(context)
        self.images_ = np.ascontiguousarray(weak.images, np.float32)
        count = len(self.images_)
        owner = sparse.csr_matrix(
            (np.ones(len(weak.image_of), np.float32), (weak.image_of, np.arange(len(weak.image_of)))),
            shape=(count, len(weak.image_of)),
        )
        several = np.maximum(np.asarray(owner.sum(axis=1)).ravel(), 1)
        self.texts_ = sparse.csr_matrix(sparse.diags(1 / several) @ owner @ sparse.csr_matrix(weak.captions))
        context.progress("looking for neighbours", 0, 1)
        self.scale_ = matching_scale(train.images, self.text_features(train.images))
        described = self._with_texts(train)
        context.progress("looking for neighbours", 1, 1)
        self.cca_ = CCA(self.settings.cca()).fit(
            described, None if validation is None else self._with_texts(validation), context
        )
        self.selection_ = self.cca_.selection_
        return self

    def _with_texts(self, data: Dataset) -> Dataset:
        texts = np.float32(self.scale_) * self.text_features(data.images)
        beside = np.hstack([np.asarray(data.images, np.float32), texts])
        return Dataset({**data.views, IMAGE_VIEW: beside}, data.links)

    def text_features(self, images: View) -> NDArray[np.float32]:
        """Return the mean text of each image's nearest weak images, shape (images, words)."""
        rows = np.asarray(images, np.float32)
        k = min(self.settings.neighbours, len(self.images_))
        lengths = np.einsum("ij,ij->i", self.images_, self.images_)
        text_features = np.empty((len(rows), self.texts_.shape[1]), np.float32)
        for start in range(0, len(rows), _ROWS):
            part = slice(start, start + _ROWS)
            places = self._nearest(rows[part], lengths, k)
            chosen = sparse.csr_matrix(
                (np.full(places.size, 1 / k, np.float32), places.ravel(), np.arange(len(places) + 1) * k),
                shape=(len(places), len(self.images_)),
            )
            text_features[part] = (chosen @ self.texts_).toarray()
        return text_features

    def _nearest(self, rows: NDArray[np.float32], lengths: NDArray[np.float32], k: int) -> NDArray[np.intp]:
        """Return the indices of the `k` nearest weak images of each row, the nearest first, shape (rows, k).

        Only one block of distances is in memory: the nearest k of each block of weak images are kept.
        """
        near = np.empty((len(rows), 0), np.float32)
        places = np.empty((len(rows), 0), np.intp)
        for start in range(0, len(self.images_), _BLOCK):
            part = slice(start, start + _BLOCK)
            # |x - f|^2 minus |x|^2 is enough for comparing.
            apart = lengths[part] - 2 * rows @ self.images_[part].T
            near = np.hstack([near, apart])
            values = np.arange(start, start + apart.shape[1])
            places = np.hstack([places, np.broadcast_to(values, apart.shape)])
            stored = np.argsort(near, axis=1, kind="stable")[:, :k]
            near, places = np.take_along_axis(near, stored, 1), np.take_along_axis(places, stored, 1)
        return places

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return cosines; rows are queries."""
        return self.cca_.score(self._with_texts(data), direction=direction)

    def state(self) -> State:
        """Return what CCA learned, and the weak pairs."""
        arrays, settings = self.cca_.state()
        texts = {"data": self.texts_.data, "indices": self.texts_.indices, "indptr": self.texts_.indptr}
        arrays |= {
            "weak.images": self.images_,
            **{f"weak.texts.{name}": text for name, text in texts.items()},
        }
        return arrays, {**settings, "words": self.texts_.shape[1], "scale": self.scale_}

    @classmethod
    def from_state(cls, settings: TextFeatureSettings, state: State) -> TextFeature:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.cca_ = CCA.from_state(settings.cca(), state)
        restored.images_, restored.scale_ = arrays["weak.images"], stored_settings["scale"]
        parts = tuple(arrays[f"weak.texts.{name}"] for name in ("data", "indices", "indptr"))
        restored.texts_ = sparse.csr_matrix(parts, shape=(len(restored.images_), stored_settings["words"]))
        return restored
