"""The two sides of a system as a method takes them: what describes captions, and what describes images.

A side is learned from the training items, describes them and new ones, and is stored with the system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models_core.device import CPU
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    Form,
    RaggedRows,
    UnitRows,
    View,
    WordNumbers,
)
from models_core.features.bags import TfIdfBags
from models_core.features.grams import scaled_diagonal
from models_core.features.image.descriptors import DESCRIPTORS
from models_core.features.image.vocabulary import CodebookSettings, Vocabulary
from models_core.features.text.documents import Document
from models_core.features.text.similarity import WordKernel
from models_core.phase_cache import PhaseArrays, PhaseCache, digest_of_parts, from_json_array, to_json_array
from models_core.systems.dataset import CaptionWords, CountedWords, Features, RegionVectors, Vectors
from models_core.systems.kernels import (
    Resources,
    TextKernel,
    check_features,
    image_gram,
    similarity_of,
    text_kernel,
)
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_settings import (
    BagSettings,
    PictureSettings,
    RegionSettings,
    TextSettings,
    VectorSettings,
    WordSettings,
)

Arrays = Mapping[str, NDArray[Any]]
#: The place of each item's owner: of captions, the row of their image.
Owners = NDArray[np.intp]


@dataclass(frozen=True)
class DescribedSide:
    """The training items and, where there are any, held-out ones, described; `owners` are the images of the
    training items' rows."""

    own: View
    new: View | None
    owners: Owners


class TextSide(Protocol):
    """What describes captions."""

    def digest_parts(self) -> Mapping[str, Any]:
        """What a phase's facts say of what this side learned; fits JSON."""

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, facts: Mapping[str, Any]
    ) -> DescribedSide:
        """The training captions, and held-out `queries`; costly kernels are kept in `store`."""

    def describe(self, captions: Sequence[Document]) -> View:
        """New captions, a row each."""

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What was learned."""


class ImageSide(Protocol):
    """What describes images; `training` are those it was learned from, where it holds them."""

    @property
    def training(self) -> Features | None:
        """The training images; None of a stored side that needs none."""

    def describe_training(
        self, held_out: Features | None, store: PhaseCache, facts: Mapping[str, Any], device: str = CPU
    ) -> DescribedSide:
        """The training images, and held-out ones; kernels are computed on `device`, kept in `store`."""

    def describe(self, images: Features) -> View:
        """New images, a row each."""

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What was learned."""


@dataclass(frozen=True)
class KernelTexts:
    """Captions as a kernel with the training captions, of which an image's make one item.

    `similarity` is None where words match exactly.
    """

    settings: TextSettings
    documents: Sequence[Document]
    similarity: WordKernel | None = None

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, kept: PhaseCache
    ) -> KernelTexts:
        """From the training captions; word similarities are kept. Raises BadRecipe, WordNetMissing."""
        learned = tuple(own[: recipe.text.captions] for own in words)
        documents = [[[word.lemma for word in caption] for caption in own] for own in learned]
        return cls(recipe.text, documents, similarity_of(recipe, learned, aids, kept))

    @cached_property
    def kernel(self) -> TextKernel:
        """The kernel, with the weights of the training captions."""
        return text_kernel(self.settings, self.documents, self.similarity)

    def digest_parts(self) -> dict[str, Any]:
        """The similarity of words."""
        alike = self.similarity
        return {"similarity": "" if alike is None else digest_of_parts(alike.words, alike.matrix)}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, facts: Mapping[str, Any]
    ) -> DescribedSide:
        """Kernels of both with the training items; the diagonal of the training kernel is scaled."""

        def kernels() -> PhaseArrays:
            made = {"own": self.kernel.gram(self.documents, self.documents)}
            return made if queries is None else {**made, "new": self.kernel.gram(queries, self.documents)}

        found = store.arrays("text kernel", facts, kernels)
        own = scaled_diagonal(found["own"], self.settings.diagonal)
        return DescribedSide(own, found.get("new"), np.arange(len(self.documents)))

    def describe(self, captions: Sequence[Document]) -> View:
        """Shape (captions, training items)."""
        return self.kernel.gram(captions, self.documents)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The training captions, and the similarity of words."""
        arrays: dict[str, NDArray[Any]] = {"documents": to_json_array(self.documents)}
        if self.similarity is not None:
            arrays["similarity.words"] = to_json_array(self.similarity.words)
            arrays["similarity"] = self.similarity.matrix
        return arrays, {}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> KernelTexts:
        """What `state` gave; raises KeyError where something is missing."""
        alike = None
        if "similarity" in arrays:
            alike = WordKernel(from_json_array(arrays["similarity.words"]), arrays["similarity"])
        return cls(settings, from_json_array(arrays["documents"]), alike)


@dataclass(frozen=True)
class BagTexts:
    """Captions as bags of words weighted by tf-idf, learned from the training captions.

    `training` are these, a text for each row, and `owners` the images of the rows; both are needed while a
    system is trained, and not stored.
    """

    settings: BagSettings
    bags: TfIdfBags
    training: Sequence[Sequence[str]] = ()
    owners: Owners = field(default_factory=lambda: np.empty(0, np.intp))

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, kept: PhaseCache
    ) -> BagTexts:
        """The vocabulary and idf of the training captions."""
        settings: BagSettings = recipe.text
        texts, owners = [], []
        for image, own in enumerate(words):
            said = [[word.lemma for word in caption] for caption in own[: settings.captions]]
            joined = [[word for caption in said for word in caption]] if settings.together else said
            texts += joined
            owners += [image] * len(joined)
        bags = TfIdfBags(settings.words, normalised=settings.normalised).fit(texts)
        return cls(settings, bags, texts, np.asarray(owners, np.intp))

    def digest_parts(self) -> dict[str, Any]:
        """Nothing: all is in the training captions."""
        return {}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, facts: Mapping[str, Any]
    ) -> DescribedSide:
        """Bags of both."""
        own = self.bags.transform(self.training)
        return DescribedSide(own, None if queries is None else self.describe(queries), self.owners)

    def describe(self, captions: Sequence[Document]) -> View:
        """Shape (captions, words); several captions of an item are one text."""
        return self.bags.transform([[word for caption in own for word in caption] for own in captions])

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Words and weights."""
        arrays, settings = self.bags.state()
        return {f"text.{name}": array for name, array in arrays.items()}, {"text": settings}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> BagTexts:
        """What `state` gave; raises KeyError where something is missing."""
        own = {name.removeprefix("text."): a for name, a in arrays.items() if name.startswith("text.")}
        return cls(settings, TfIdfBags.from_state(own, stored["text"]))


@dataclass(frozen=True)
class WordTexts:
    """Captions as the numbers of their words, in order; words that are not of the vocabulary are left out.

    `training`, `owners` and `vectors`, the words' vectors where some are given, are needed while a system is
    trained, and not stored.
    """

    settings: WordSettings
    vocabulary: Sequence[str]
    training: Sequence[Document] = ()
    owners: Owners = field(default_factory=lambda: np.empty(0, np.intp))
    vectors: NDArray[np.floating] | None = None

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, kept: PhaseCache
    ) -> WordTexts:
        """The vocabulary of the training captions: the most frequent word first, equal ones by the alphabet.

        Raises BadRecipe where no word is frequent enough.
        """
        settings: WordSettings = recipe.text
        texts = [[[w.lemma for w in caption]] for own in words for caption in own[: settings.captions]]
        owners = np.repeat(np.arange(len(words)), [len(own[: settings.captions]) for own in words])
        counted = Counter(word for text in texts for word in text[0])
        known = sorted(
            (word for word, count in counted.items() if count >= settings.least_count),
            key=lambda word: (-counted[word], word),
        )
        if not known:
            raise BadRecipe(
                f"recipe {recipe.name!r}: no word stands {settings.least_count} times in the training "
                "captions; lower text.least_count"
            )
        given = aids.word_vectors
        return cls(settings, known, texts, owners, None if given is None else given.of(known))

    def digest_parts(self) -> dict[str, Any]:
        """The vectors of the words."""
        return {"words": "" if self.vectors is None else digest_of_parts(self.vectors)}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, facts: Mapping[str, Any]
    ) -> DescribedSide:
        """The numbers of both."""
        new = None if queries is None else self.describe(queries)
        return DescribedSide(self.describe(self.training), new, self.owners)

    def describe(self, captions: Sequence[Document]) -> View:
        """A row for each word; several captions of an item are one text."""
        number_of = {word: number for number, word in enumerate(self.vocabulary)}
        texts = [
            [number_of[word] for caption in own for word in caption if word in number_of] for own in captions
        ]
        rows = RaggedRows.of_counts(
            np.asarray([number for text in texts for number in text], np.int64), [len(text) for text in texts]
        )
        return WordNumbers(rows.values, rows.begin, rows.end, len(self.vocabulary), self.vectors)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The vocabulary."""
        return {"vocabulary": to_json_array(list(self.vocabulary))}, {}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> WordTexts:
        """What `state` gave; raises KeyError where something is missing."""
        return cls(settings, from_json_array(arrays["vocabulary"]))


@dataclass(frozen=True)
class KernelImages:
    """Images as a kernel with the training images, which it holds."""

    settings: PictureSettings
    training: Features

    @classmethod
    def learn(cls, recipe: Recipe, features: Features) -> KernelImages:
        """Raises BadRecipe where the kernel is for other features."""
        check_features(recipe.image, features)
        return cls(recipe.image, features)

    def describe_training(
        self, held_out: Features | None, store: PhaseCache, facts: Mapping[str, Any], device: str = CPU
    ) -> DescribedSide:
        """Kernels of both with the training items."""

        def kernels() -> PhaseArrays:
            made = {"own": image_gram(self.settings, self.training, self.training, device)}
            if held_out is not None:
                made["new"] = image_gram(self.settings, held_out, self.training, device)
            return made

        found = store.arrays("image kernel", facts, kernels)
        return DescribedSide(found["own"], found.get("new"), np.arange(len(self.training)))

    def describe(self, images: Features) -> View:
        """Shape (images, training items). Raises BadRecipe where they are described otherwise."""
        return image_gram(self.settings, images, self.training)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The training images as words with their codebooks, or as vectors."""
        if isinstance(self.training, CountedWords):
            books = self.training.codebooks
            arrays = {f"codebook.{k}": c for k, c in zip(DESCRIPTORS, books.centres, strict=True)}
            return {"counts": self.training.counts, **arrays}, {"codebooks": asdict(books.settings)}
        assert isinstance(self.training, Vectors)
        return {"vectors": np.asarray(self.training.values)}, {}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> KernelImages:
        """What `state` gave; raises KeyError where something is missing."""
        if "vectors" in arrays:
            return cls(settings, Vectors(arrays["vectors"]))
        given = stored["codebooks"]
        books = Vocabulary(
            tuple(arrays[f"codebook.{kind}"] for kind in DESCRIPTORS),
            CodebookSettings(**given | {"words": tuple(given["words"])}),
        )
        return cls(settings, CountedWords(arrays["counts"], books))


@dataclass(frozen=True)
class VectorImages:
    """Images as the vectors of a feature file, `dimensions` numbers each.

    `training` is needed while a system is trained, and not stored.
    """

    settings: VectorSettings
    dimensions: int
    training: Features | None = None

    @classmethod
    def learn(cls, recipe: Recipe, features: Features) -> VectorImages:
        """Raises BadRecipe where the pictures are described by words."""
        if not isinstance(features, Vectors):
            raise BadRecipe(f"recipe {recipe.name!r} is for vectors of images; give a feature file")
        return cls(recipe.image, features.values.shape[1], features)

    def describe_training(
        self, held_out: Features | None, store: PhaseCache, facts: Mapping[str, Any], device: str = CPU
    ) -> DescribedSide:
        """The vectors of both."""
        assert self.training is not None, "a stored side is not trained again"
        own = self.describe(self.training)
        new = None if held_out is None else self.describe(held_out)
        return DescribedSide(own, new, np.arange(len(self.training)))

    def describe(self, images: Features) -> View:
        """Shape (images, dimensions). Raises BadRecipe for other features, ValueError for another width."""
        if not isinstance(images, Vectors):
            raise BadRecipe("the system is for vectors of images; give a feature file")
        found = np.asarray(images.values)
        if found.shape[1] != self.dimensions:
            raise ValueError(
                f"features of {found.shape[1]} dimensions against {self.dimensions}; expected the same"
            )
        if not self.settings.normalised:
            return found
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
        return np.asarray(found / np.where(lengths > 0, lengths, 1.0)[:, None])

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The width."""
        return {}, {"image": {"dimensions": self.dimensions}}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> VectorImages:
        """What `state` gave; raises KeyError where something is missing."""
        return cls(settings, int(stored["image"]["dimensions"]))


@dataclass(frozen=True)
class RegionImages:
    """Images as the vectors of their regions, `dimensions` numbers each; one vector is one region.

    `training` is needed while a system is trained, and not stored.
    """

    settings: RegionSettings
    dimensions: int
    training: Features | None = None

    @classmethod
    def learn(cls, recipe: Recipe, features: Features) -> RegionImages:
        """Raises BadRecipe where the pictures are described by words."""
        return cls(recipe.image, _rows_of(features, recipe.name).shape[1], features)

    def describe_training(
        self, held_out: Features | None, store: PhaseCache, facts: Mapping[str, Any], device: str = CPU
    ) -> DescribedSide:
        """The regions of both."""
        assert self.training is not None, "a stored side is not trained again"
        new = None if held_out is None else self.describe(held_out)
        return DescribedSide(self.describe(self.training), new, np.arange(len(self.training)))

    def describe(self, images: Features) -> View:
        """A row for each region; none is copied. Raises BadRecipe for other features, ValueError for another
        width."""
        found = _rows_of(images, "trained")
        if found.shape[1] != self.dimensions:
            raise ValueError(
                f"regions of {found.shape[1]} dimensions against {self.dimensions}; expected the same"
            )
        return UnitRows(found.values, found.begin, found.end) if self.settings.normalised else found

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The width."""
        return {}, {"image": {"dimensions": self.dimensions}}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> RegionImages:
        """What `state` gave; raises KeyError where something is missing."""
        return cls(settings, int(stored["image"]["dimensions"]))


def _rows_of(features: Features, recipe: str) -> RaggedRows:
    """Regions, or whole images as one region each."""
    if isinstance(features, RegionVectors):
        return features.rows
    if isinstance(features, Vectors):
        return RaggedRows.of_counts(features.values, np.ones(len(features), np.intp))
    raise BadRecipe(
        f"recipe {recipe!r} is for regions of images, or for whole images as vectors; give --regions or "
        "--features"
    )


@dataclass(frozen=True, slots=True)
class SideKind:
    """How a side is learned and loaded."""

    learn: Callable[..., Any]
    load: Callable[[Any, Arrays, Mapping[str, Any]], Any]


#: Kind of item -> the form that a method takes it in -> the side.
SIDES: Mapping[str, Mapping[Form, SideKind]] = {
    CAPTION_VIEW: {
        "kernel": SideKind(KernelTexts.learn, KernelTexts.from_state),
        "vectors": SideKind(BagTexts.learn, BagTexts.from_state),
        "words": SideKind(WordTexts.learn, WordTexts.from_state),
    },
    IMAGE_VIEW: {
        "kernel": SideKind(KernelImages.learn, KernelImages.from_state),
        "vectors": SideKind(VectorImages.learn, VectorImages.from_state),
        "regions": SideKind(RegionImages.learn, RegionImages.from_state),
    },
}
