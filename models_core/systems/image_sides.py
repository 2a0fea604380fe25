"""Descriptions of images: kernels with the training images, vectors, and regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import Form, RaggedRows, UnitRows, View, rows_of_length_1
from models_core.features.image.descriptors import DESCRIPTORS
from models_core.features.image.vocabulary import CodebookSettings, Vocabulary
from models_core.phase_cache import PhaseArrays, PhaseCache
from models_core.systems.dataset import CountedWords, Features, RegionVectors, Vectors
from models_core.systems.kernels import check_features, image_gram
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_contracts import Arrays, DescribedSide, SideKind
from models_core.systems.side_settings import PictureSettings, RegionSettings, VectorSettings
from phrasebox.device import CPU


@dataclass(frozen=True)
class KernelImages:
    """Images as a kernel with the training images, which this object stores."""

    settings: PictureSettings
    training: Features

    @classmethod
    def learn(cls, recipe: Recipe, features: Features) -> KernelImages:
        """Keep the training images; raises BadRecipe if the kernel is for other features."""
        check_features(recipe.image, features)
        return cls(recipe.image, features)

    def describe_training(
        self, held_out: Features | None, store: PhaseCache, provenance: Mapping[str, Any], device: str = CPU
    ) -> DescribedSide:
        """Return the kernels of training and held-out images with the training images."""

        def kernels() -> PhaseArrays:
            kernels_computed = {"own": image_gram(self.settings, self.training, self.training, device)}
            if held_out is not None:
                kernels_computed["new"] = image_gram(self.settings, held_out, self.training, device)
            return kernels_computed

        arrays = store.arrays("image kernel", provenance, kernels)
        return DescribedSide(arrays["own"], arrays.get("new"), np.arange(len(self.training)))

    def describe(self, images: Features) -> View:
        """Return the kernel, shape (images, training items). Raises BadRecipe for images with other
        features."""
        return image_gram(self.settings, images, self.training)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the training images as words with their codebooks, or as vectors."""
        if isinstance(self.training, CountedWords):
            books = self.training.codebooks
            arrays = {f"codebook.{k}": c for k, c in zip(DESCRIPTORS, books.centres, strict=True)}
            return {"counts": self.training.counts, **arrays}, {"codebooks": asdict(books.settings)}
        assert isinstance(self.training, Vectors)
        return {"vectors": np.asarray(self.training.values)}, {}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> KernelImages:
        """Restore what `state` returned; raises KeyError if something is missing."""
        if "vectors" in arrays:
            return cls(settings, Vectors(arrays["vectors"]))
        codebooks = stored["codebooks"]
        books = Vocabulary(
            tuple(arrays[f"codebook.{kind}"] for kind in DESCRIPTORS),
            CodebookSettings(**codebooks | {"words": tuple(codebooks["words"])}),
        )
        return cls(settings, CountedWords(arrays["counts"], books))


@dataclass(frozen=True)
class _VectorImages(ABC):
    """Images as given vectors with `dimensions` numbers each.

    `training` is needed while a system is trained, and not stored.
    """

    settings: Any
    dimensions: int
    training: Features | None = None

    def describe_training(
        self, held_out: Features | None, store: PhaseCache, provenance: Mapping[str, Any], device: str = CPU
    ) -> DescribedSide:
        """Return the vectors of training and held-out images."""
        assert self.training is not None, "a stored side is not trained again"
        described = self.describe(self.training)
        new = None if held_out is None else self.describe(held_out)
        return DescribedSide(described, new, np.arange(len(self.training)))

    @abstractmethod
    def describe(self, images: Features) -> View:
        """Return new images, a row each."""

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the width."""
        return {}, {"image": {"dimensions": self.dimensions}}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> Self:
        """Restore what `state` returned; raises KeyError if something is missing."""
        return cls(settings, int(stored["image"]["dimensions"]))


@dataclass(frozen=True)
class VectorImages(_VectorImages):
    """Images as the vectors of a feature file, with `dimensions` numbers each."""

    settings: VectorSettings

    @classmethod
    def learn(cls, recipe: Recipe, features: Features) -> VectorImages:
        """Keep the training vectors; raises BadRecipe if the pictures are described by words."""
        if not isinstance(features, Vectors):
            raise BadRecipe(f"recipe {recipe.name!r} is for vectors of images; give a feature file")
        return cls(recipe.image, features.values.shape[1], features)

    def describe(self, images: Features) -> View:
        """Return the vectors, shape (images, dimensions). Raises BadRecipe for other features, ValueError for
        another width."""
        if not isinstance(images, Vectors):
            raise BadRecipe("the system is for vectors of images; give a feature file")
        vectors = np.asarray(images.values)
        if vectors.shape[1] != self.dimensions:
            raise ValueError(
                f"features of {vectors.shape[1]} dimensions against {self.dimensions}; expected the same"
            )
        return rows_of_length_1(vectors) if self.settings.normalised else vectors


@dataclass(frozen=True)
class RegionImages(_VectorImages):
    """Images as the vectors of their regions, with `dimensions` numbers each; one vector is one region."""

    settings: RegionSettings

    @classmethod
    def learn(cls, recipe: Recipe, features: Features) -> RegionImages:
        """Keep the training regions; raises BadRecipe if the pictures are described by words."""
        return cls(recipe.image, _rows_of(features, recipe.name).shape[1], features)

    def describe(self, images: Features) -> View:
        """Return a row for each region, without copies. Raises BadRecipe for other features, ValueError for
        another width."""
        rows = _rows_of(images, "trained")
        if rows.shape[1] != self.dimensions:
            raise ValueError(
                f"regions of {rows.shape[1]} dimensions against {self.dimensions}; expected the same"
            )
        return UnitRows(rows.values, rows.begin, rows.end) if self.settings.normalised else rows


def _rows_of(features: Features, recipe: str) -> RaggedRows:
    """Return the regions, or whole images as one region each."""
    if isinstance(features, RegionVectors):
        return features.rows
    if isinstance(features, Vectors):
        return RaggedRows.of_counts(features.values, np.ones(len(features), np.intp))
    raise BadRecipe(
        f"recipe {recipe!r} is for regions of images, or for whole images as vectors; give regions or "
        "features"
    )


#: The form in which a method takes images -> the class that describes them so.
IMAGE_SIDES: Mapping[Form, SideKind] = {
    "kernel": SideKind(KernelImages.learn, KernelImages.from_state),
    "vectors": SideKind(VectorImages.learn, VectorImages.from_state),
    "regions": SideKind(RegionImages.learn, RegionImages.from_state),
}
