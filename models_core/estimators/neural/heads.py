"""Heads that embed vectors of images and of captions: linear, or with a hidden layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Matrix, View
from models_core.estimators.embeddings import LinearMap

HEAD_VIEWS = (IMAGE_VIEW, CAPTION_VIEW)


@dataclass(frozen=True)
class EmbeddingHead:
    """Embeds vectors x as W (x - mean) / scale + b, or, with a hidden layer, V max(0, that) + c.

    `weights` are its arrays by the names of its layers in the network.
    """

    mean: Matrix
    scale: float
    weights: Mapping[str, NDArray[Any]]

    def __call__(self, features: View) -> Matrix:
        """Return shape (rows, components); raises ValueError for another width."""
        entry = LinearMap(self.mean, self.weights["entry.weight"].T.astype(np.float64) / self.scale)
        embedded = entry(features) + self.weights["entry.bias"]
        if "output.weight" in self.weights:
            embedded = np.maximum(embedded, 0) @ self.weights["output.weight"].T.astype(np.float64)
            embedded += self.weights["output.bias"]
        return embedded

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays."""
        return {"mean": self.mean, "scale": np.array([self.scale]), **self.weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> EmbeddingHead:
        """Restore what `arrays` returned; raises KeyError if something is missing."""
        weights = {name: array for name, array in arrays.items() if name not in ("mean", "scale")}
        return cls(arrays["mean"], float(arrays["scale"][0]), weights)
