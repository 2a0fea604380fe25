"""A trained system: ranks images and captions it has never seen; stored as one folder, without pickle.

A system holds its recipe, its training captions and pictures (kernels are with those), the word kernel
if it has one, codebooks for new pictures, and what was learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core import storage
from models_core.estimators import nearest_neighbour
from models_core.estimators.base import RankDirection
from models_core.estimators.kcca.selection import SelectedKCCA
from models_core.features.grams import FloatMatrix
from models_core.features.image.descriptors import DESCRIPTORS
from models_core.features.image.vocabulary import CodebookSettings, Vocabulary
from models_core.features.text.documents import Document
from models_core.features.text.similarity import WordKernel
from models_core.phase_cache import PhaseArrays, from_json_array, to_json_array
from models_core.systems.dataset import CountedWords, Features, Vectors
from models_core.systems.kernels import TextKernel, image_gram, text_kernel
from models_core.systems.recipe import Recipe, of_dict

SYSTEM_KIND = "system"
_PACKAGES = ("numba", "HanTa", "opencv-python-headless")


@dataclass(frozen=True)
class TrainedSystem:
    """What training made. `kcca` is None for nearest neighbours, `similarity` where words match exactly.

    `facts` go into the manifest: what it was trained on and when.
    """

    recipe: Recipe
    names: tuple[str, ...]
    documents: Sequence[Document]
    features: Features
    similarity: WordKernel | None = None
    kcca: SelectedKCCA | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def text(self) -> TextKernel:
        """The text's kernel, with the weights of the training captions."""
        return text_kernel(self.recipe.text, self.documents, self.similarity)

    def kernels(self, images: Features, captions: Sequence[Document]) -> tuple[FloatMatrix, FloatMatrix]:
        """Both sides of new items with the training items: (images, pairs) and (captions, pairs)."""
        return (
            image_gram(self.recipe.image, images, self.features),
            self.text.gram(captions, self.documents),
        )

    def score_pairs(
        self, images: Features, captions: Sequence[Document], *, direction: RankDirection
    ) -> NDArray[Any]:
        """Scores of every image with every caption for one direction, shape (images, captions).

        They compare within a query only; KCCA's are Borda counts and depend on the whole pool. Raises
        BadRecipe where the pictures were described otherwise than those it was trained on.
        """
        return self.scores(*self.kernels(images, captions), direction=direction)

    def scores(self, images: FloatMatrix, captions: FloatMatrix, *, direction: RankDirection) -> NDArray[Any]:
        """The same from `kernels`, which both directions share."""
        if self.kcca is None:
            return nearest_neighbour.score_pairs(images, captions, direction=direction)
        return self.kcca.score_pairs(images, captions, direction=direction)

    def save(self, folder: Path) -> None:
        """Write the system to a new folder, which is whole once it is there (see storage.save)."""
        arrays: PhaseArrays = {"names": to_json_array(self.names), "documents": to_json_array(self.documents)}
        settings: dict[str, Any] = {"recipe": self.recipe.as_dict(), "pairs": len(self.names)}
        if isinstance(self.features, CountedWords):
            arrays["counts"] = self.features.counts
            books = self.features.codebooks
            arrays |= {f"codebook.{k}": c for k, c in zip(DESCRIPTORS, books.centres, strict=True)}
            settings["codebooks"] = asdict(books.settings)
        else:
            arrays["vectors"] = np.asarray(self.features.values)
        if self.similarity is not None:
            arrays |= {
                "similarity.words": to_json_array(self.similarity.words),
                "similarity": self.similarity.matrix,
            }
        if self.kcca is not None:
            learned, settings["kcca"] = self.kcca.state()
            arrays |= {f"kcca.{name}": array for name, array in learned.items()}
        versions = {name: version(name) for name in _PACKAGES}
        storage.save_model(folder, SYSTEM_KIND, arrays, settings, {**self.facts, "versions": versions})

    @classmethod
    def load(cls, folder: Path) -> TrainedSystem:
        """What `save` wrote; raises storage.BadModel."""
        stored = storage.load_model(folder, SYSTEM_KIND)
        arrays, settings = stored.arrays, stored.settings
        try:
            return cls(
                of_dict(settings["recipe"]["name"], settings["recipe"]),
                tuple(from_json_array(arrays["names"])),
                from_json_array(arrays["documents"]),
                _features(arrays, settings),
                WordKernel(from_json_array(arrays["similarity.words"]), arrays["similarity"])
                if "similarity" in arrays
                else None,
                SelectedKCCA.of_state(
                    {n.removeprefix("kcca."): a for n, a in arrays.items() if n.startswith("kcca.")},
                    settings["kcca"],
                )
                if "kcca" in settings
                else None,
                stored.manifest["facts"],
            )
        except KeyError as missing:
            raise storage.BadModel(f"{folder} lacks {missing} of a system; train it again") from missing


def _features(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Features:
    if "vectors" in arrays:
        return Vectors(arrays["vectors"])
    given = settings["codebooks"]
    books = Vocabulary(
        tuple(arrays[f"codebook.{kind}"] for kind in DESCRIPTORS),
        CodebookSettings(**given | {"words": tuple(given["words"])}),
    )
    return CountedWords(arrays["counts"], books)
