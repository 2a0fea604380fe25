"""Describe captions by vectors that the user provides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import View
from models_core.phase_cache import PhaseCache, digest_of_parts
from models_core.systems.caption_reading import CaptionWords
from models_core.systems.kernels import CaptionVectorTable, Resources, check_resources
from models_core.systems.recipe import Recipe
from models_core.systems.side_contracts import Arrays, DescribedSide, Owners, training_texts
from models_core.systems.side_settings import VectorTextSettings
from phrasebox.kernels.idf import Document


@dataclass(frozen=True)
class VectorTexts:
    """Captions as vectors of `dimensions` numbers that the user provides, looked up by the captions' names.

    `caption_vectors` holds these vectors; a stored side has none (see `reading`). `training` and `owners` are
    needed during training, and not stored.
    """

    settings: VectorTextSettings
    dimensions: int
    caption_vectors: CaptionVectorTable | None = None
    training: Sequence[Document] = ()
    owners: Owners = field(default_factory=lambda: np.empty(0, np.intp))

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
    ) -> VectorTexts:
        """Raise BadRecipe if there are no vectors."""
        check_resources(recipe, aids)
        assert aids.caption_vectors is not None
        texts, owners = training_texts(words, recipe.text.captions)
        return cls(recipe.text, aids.caption_vectors.vectors.shape[1], aids.caption_vectors, texts, owners)

    def reading(self, caption_vectors: CaptionVectorTable) -> VectorTexts:
        """Return a copy that describes captions by these vectors. Raises ValueError for another width."""
        if caption_vectors.vectors.shape[1] != self.dimensions:
            raise ValueError(
                f"captions of {caption_vectors.vectors.shape[1]} numbers against {self.dimensions}; "
                "expected the same"
            )
        return replace(self, caption_vectors=caption_vectors)

    def digest_parts(self) -> dict[str, Any]:
        """Return the vectors of the training captions."""
        return {"captions": digest_of_parts(self.describe(self.training))}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, provenance: Mapping[str, Any]
    ) -> DescribedSide:
        """Return the vectors of training captions and queries."""
        new = None if queries is None else self.describe(queries)
        return DescribedSide(self.describe(self.training), new, self.owners)

    def describe(self, captions: Sequence[Document]) -> View:
        """Return vectors of shape (captions, dimensions); an item with several captions has their mean.

        Raises ValueError for a caption that has no vector.
        """
        assert self.caption_vectors is not None, "a stored side is given vectors before it describes captions"
        names = [name for image_captions in captions for caption in image_captions for name in caption]
        vectors = self.caption_vectors.of(names)
        if len(names) == len(captions):
            return vectors
        begin = np.cumsum([0, *(len(image_captions) for image_captions in captions[:-1])])
        return (
            np.add.reduceat(vectors, begin)
            / np.array([len(image_captions) for image_captions in captions])[:, None]
        )

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the width."""
        return {}, {"text": {"dimensions": self.dimensions}}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> VectorTexts:
        """Restore the side from the result of `state`; raise KeyError if something is missing."""
        return cls(settings, int(stored["text"]["dimensions"]))
