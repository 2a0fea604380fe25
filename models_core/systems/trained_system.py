"""A trained system, which ranks new images and captions; stored as one folder, without pickle.

A system has its recipe, the names of its training images, both sides, and the model of its method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from models_core import storage
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    PHRASE_VIEW,
    REGION_VIEW,
    Dataset,
    Form,
    Matrix,
    Prediction,
    RaggedRows,
    RankDirection,
    Retriever,
)
from models_core.estimators.inputs import check_inputs
from models_core.estimators.predictors import (
    CandidateTags,
    Captioner,
    ImageTagger,
    Localizer,
    TagScore,
    WritingSettings,
)
from models_core.extras import installed_versions
from models_core.features.image.vocabulary import Vocabulary
from models_core.phase_cache import PhaseArrays, from_json_array, to_json_array
from models_core.systems.dataset import CountedWords, Features
from models_core.systems.image_sides import IMAGE_SIDES
from models_core.systems.kernels import CaptionVectorTable
from models_core.systems.recipe import BadRecipe, Recipe, of_dict
from models_core.systems.side_contracts import ImageSide, Owners, SideKind, TextSide
from models_core.systems.text_sides import TEXT_SIDES, WordTexts
from models_core.systems.vector_texts import VectorTexts
from phrasebox.kernels.idf import Document
from phrasebox.scoring.tiles import Scores

#: Kind of item -> the form in which a method takes it -> the side.
SIDES: Mapping[str, Mapping[Form, SideKind]] = {CAPTION_VIEW: TEXT_SIDES, IMAGE_VIEW: IMAGE_SIDES}


SYSTEM_KIND = "system"
_PACKAGES = ("numba", "HanTa", "opencv-contrib-python-headless")


@dataclass(frozen=True, slots=True)
class WrittenWords:
    """The words of a caption, and its log-probability; 0 if its method has none."""

    words: tuple[str, ...]
    log_probability: float

    @property
    def text(self) -> str:
        """Its words with spaces between them."""
        return " ".join(self.words)


def check_predicts(recipe: Recipe, prediction: Prediction) -> None:
    """Raise BadRecipe if the recipe does not give this `prediction`."""
    if recipe.kind.predicts != prediction:
        raise BadRecipe(f"recipe {recipe.name!r} predicts {recipe.kind.predicts}, not {prediction}")


@dataclass(frozen=True)
class TrainedSystem:
    """What training made: both sides, and the `model` of its method.

    `metadata` go into the manifest: what it was trained on and when. `seen` has the identities of images that
    it learned from and chose settings on, as the person who trained it knows images; they are stored with it.
    """

    recipe: Recipe
    names: tuple[str, ...]
    texts: TextSide
    images: ImageSide
    model: Retriever | Captioner | Localizer | ImageTagger
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seen: PhaseArrays = field(default_factory=dict)

    @property
    def codebooks(self) -> Vocabulary | None:
        """What describes new pictures; None if they come as vectors."""
        held = self.images.training
        return held.codebooks if isinstance(held, CountedWords) else None

    def describe(
        self,
        images: Features,
        captions: Sequence[Document],
        image_of: NDArray[np.intp] | None = None,
    ) -> Dataset:
        """New items as the method takes them; the n-th caption belongs to the n-th image where None.

        Raises BadRecipe if the pictures were described otherwise than those it was trained on, and
        NumbersOutOfRange.
        """
        owners = np.arange(len(captions)) if image_of is None else image_of
        views = {IMAGE_VIEW: self.images.describe(images), CAPTION_VIEW: self.texts.describe(captions)}
        data = Dataset(views, {(CAPTION_VIEW, IMAGE_VIEW): owners})
        check_inputs(self.recipe.kind, data)
        return data

    def reading(self, captions: CaptionVectorTable) -> TrainedSystem:
        """The same, which describes captions by given vectors. Raises ValueError for another width, and
        BadRecipe if its method takes captions otherwise."""
        if not isinstance(self.texts, VectorTexts):
            raise BadRecipe(f"recipe {self.recipe.name!r} does not look at vectors of captions; give none")
        return replace(self, texts=self.texts.reading(captions))

    def with_parts(
        self, data: Dataset, regions: RaggedRows, phrases: Sequence[Document], caption_of: Owners
    ) -> Dataset:
        """What `describe` gave, with the regions of its images and the phrases of its captions; `caption_of`
        is the caption of each phrase, whose words are its only caption."""
        views: dict[str, Any] = {
            **data.views,
            REGION_VIEW: regions,
            PHRASE_VIEW: self.texts.describe(phrases),
        }
        return Dataset(views, {**data.links, (PHRASE_VIEW, CAPTION_VIEW): caption_of})

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Scores of what `describe` gave; rows are queries.

        Where its method is not `comparable`, they compare within a query only, and may depend on the pool.
        Raises BadRecipe if its method does not rank.
        """
        check_predicts(self.recipe, "rankings")
        return cast(Retriever, self.model).score(data, direction=direction)

    def write(self, images: Features, how: WritingSettings) -> list[WrittenWords]:
        """A caption for each image (or region). Raises BadRecipe if its method does not write."""
        check_predicts(self.recipe, "captions")
        assert isinstance(self.texts, WordTexts)
        vocabulary = self.texts.vocabulary
        sentences = cast(Captioner, self.model).write(self.describe(images, []), how)
        return [
            WrittenWords(tuple(vocabulary[n] for n in sentence.words), sentence.log_probability)
            for sentence in sentences
        ]

    def localize(self, regions: Features, phrases: Sequence[Document], image_of: Owners) -> RaggedRows:
        """Scores of the regions of each phrase's image, an item a phrase; larger is better.

        `phrases` have one caption each, their words. Raises BadRecipe if its method does not localize.
        """
        check_predicts(self.recipe, "localizations")
        return cast(Localizer, self.model).localize(self.describe(regions, phrases, image_of))

    def detect(self, regions: Features, phrases: Sequence[Document]) -> Scores:
        """Scores of all regions of these images for each phrase; rows are phrases. Raises as `localize`."""
        check_predicts(self.recipe, "localizations")
        nowhere = np.zeros(len(phrases), np.intp)
        return cast(Localizer, self.model).detect(self.describe(regions, phrases, nowhere))

    def score_tags(self, images: Features, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """How well each of the tags fits each image, shape (images, tags). Raises BadRecipe if its method
        does not tag, and ValueError if it does not rank `by` that score."""
        check_predicts(self.recipe, "tags")
        return cast(ImageTagger, self.model).score_tags(self.describe(images, []).images, tags, by)

    def score_pairs(
        self, images: Features, captions: Sequence[Document], *, direction: RankDirection
    ) -> NDArray[Any]:
        """Scores of every image with every caption for one direction, shape (images, captions)."""
        scores = self.score(self.describe(images, captions), direction=direction)
        turned = scores if direction == "annotation" else scores.turned()
        rows, columns = turned.shape
        return np.ascontiguousarray(turned.tile(slice(0, rows), slice(0, columns)))

    def save(self, folder: Path) -> None:
        """Write the system to a new folder, which is whole once it is there (see storage.save)."""
        kind = self.recipe.kind
        arrays: PhaseArrays = {"names": to_json_array(self.names), **self.seen}
        settings: dict[str, Any] = {"recipe": self.recipe.as_dict(), "pairs": len(self.names)}
        for side in (self.texts, self.images):
            side_arrays, side_settings = side.state()
            arrays |= side_arrays
            settings |= side_settings
        if kind.learns:
            learned, settings[kind.stored] = self.model.state()
            arrays |= {f"{kind.stored}.{name}": array for name, array in learned.items()}
        storage.save_model(
            folder,
            SYSTEM_KIND,
            arrays,
            settings,
            {**self.metadata, "versions": installed_versions(_PACKAGES)},
        )

    @classmethod
    def load(cls, folder: Path) -> TrainedSystem:
        """What `save` wrote; raises storage.BadModel."""
        stored = storage.load_model(folder, SYSTEM_KIND)
        arrays, settings = stored.arrays, stored.settings
        try:
            names = tuple(from_json_array(arrays["names"]))
            recipe = of_dict(settings["recipe"]["name"], settings["recipe"])
            kind = recipe.kind
            prefix = f"{kind.stored}."
            learned = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            model_settings = settings[kind.stored] if kind.learns else {}
            return cls(
                recipe,
                names,
                SIDES[CAPTION_VIEW][kind.takes[CAPTION_VIEW]].load(recipe.text, arrays, settings),
                SIDES[IMAGE_VIEW][kind.takes[IMAGE_VIEW]].load(recipe.image, arrays, settings),
                kind.load(recipe.settings, (learned, model_settings)),
                stored.manifest["metadata"],
            )
        except KeyError as missing:
            raise storage.BadModel(f"{folder} lacks {missing} of a system; train it again") from missing
