"""Sides that describe captions: kernels with the training captions, bags of words, and words in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import EdgeNumbers, Form, RaggedRows, View, WordNumbers
from models_core.features.bags import TfIdfBags
from models_core.features.text.edges import ROOT_WORD, Edge
from models_core.phase_cache import PhaseArrays, PhaseCache, digest_of_parts, from_json_array, to_json_array
from models_core.systems.caption_reading import CaptionWords
from models_core.systems.kernels import Resources, TextKernel, similarity_of, text_kernel
from models_core.systems.phrase_side import PhraseTexts
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_contracts import Arrays, DescribedSide, Owners, SideKind, training_texts
from models_core.systems.side_settings import BagSettings, EdgeSettings, TextSettings, WordSettings
from models_core.systems.tag_texts import TagTexts
from models_core.systems.vector_texts import VectorTexts
from phrasebox.kernels.grams import scaled_diagonal
from phrasebox.kernels.idf import Document
from phrasebox.kernels.similarity import WordKernel


@dataclass(frozen=True)
class KernelTexts:
    """Captions as a kernel with the training captions; the captions of an image are one item.

    `similarity` is None if words match exactly.
    """

    settings: TextSettings
    documents: Sequence[Document]
    similarity: WordKernel | None = None

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
    ) -> KernelTexts:
        """Learn from the training captions; word similarities are cached. Raises BadRecipe,
        WordNetMissing."""
        learned = tuple(image_captions[: recipe.text.captions] for image_captions in words)
        documents = [
            [[word.lemma for word in caption] for caption in image_captions] for image_captions in learned
        ]
        return cls(recipe.text, documents, similarity_of(recipe, learned, aids, cache))

    @cached_property
    def kernel(self) -> TextKernel:
        """The kernel, with the weights of the training captions."""
        return text_kernel(self.settings, self.documents, self.similarity)

    def digest_parts(self) -> dict[str, Any]:
        """The similarity of words."""
        alike = self.similarity
        return {"similarity": "" if alike is None else digest_of_parts(alike.words, alike.matrix)}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, provenance: Mapping[str, Any]
    ) -> DescribedSide:
        """Return the kernels of training and held-out items with the training items; the diagonal of the
        training kernel is scaled."""

        def kernels() -> PhaseArrays:
            kernels_computed = {"own": self.kernel.gram(self.documents, self.documents)}
            return (
                kernels_computed
                if queries is None
                else {**kernels_computed, "new": self.kernel.gram(queries, self.documents)}
            )

        arrays = store.arrays("text kernel", provenance, kernels)
        scaled = scaled_diagonal(arrays["own"], self.settings.diagonal)
        return DescribedSide(scaled, arrays.get("new"), np.arange(len(self.documents)))

    def describe(self, captions: Sequence[Document]) -> View:
        """Return the kernel, shape (captions, training items)."""
        return self.kernel.gram(captions, self.documents)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the training captions, and the similarity of words."""
        arrays: dict[str, NDArray[Any]] = {"documents": to_json_array(self.documents)}
        if self.similarity is not None:
            arrays["similarity.words"] = to_json_array(self.similarity.words)
            arrays["similarity"] = self.similarity.matrix
        return arrays, {}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> KernelTexts:
        """Restore what `state` returned; raises KeyError if something is missing."""
        alike = None
        if "similarity" in arrays:
            alike = WordKernel(from_json_array(arrays["similarity.words"]), arrays["similarity"])
        return cls(settings, from_json_array(arrays["documents"]), alike)


@dataclass(frozen=True)
class BagTexts:
    """Captions as bags of words weighted by tf-idf, learned from the training captions.

    `training` are the training captions, a text for each row, and `owners` the images of the rows; both are
    needed while a system is trained, and not stored.
    """

    settings: BagSettings
    bags: TfIdfBags
    training: Sequence[Sequence[str]] = ()
    owners: Owners = field(default_factory=lambda: np.empty(0, np.intp))

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
    ) -> BagTexts:
        """Learn the vocabulary and idf of the training captions."""
        settings: BagSettings = recipe.text
        texts, owners = [], []
        for image, image_captions in enumerate(words):
            lemmas = [[word.lemma for word in caption] for caption in image_captions[: settings.captions]]
            joined = [[word for caption in lemmas for word in caption]] if settings.together else lemmas
            texts += joined
            owners += [image] * len(joined)
        bags = TfIdfBags(settings.words, normalised=settings.normalised).fit(texts)
        return cls(settings, bags, texts, np.asarray(owners, np.intp))

    def digest_parts(self) -> dict[str, Any]:
        """Nothing: all is in the training captions."""
        return {}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, provenance: Mapping[str, Any]
    ) -> DescribedSide:
        """Return the bags of training and held-out captions."""
        bags = self.bags.transform(self.training)
        return DescribedSide(bags, None if queries is None else self.describe(queries), self.owners)

    def describe(self, captions: Sequence[Document]) -> View:
        """Return the bags, shape (captions, words); several captions of an item are one text."""
        return self.bags.transform(
            [[word for caption in image_captions for word in caption] for image_captions in captions]
        )

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return words and weights."""
        arrays, settings = self.bags.state()
        return {f"text.{name}": array for name, array in arrays.items()}, {"text": settings}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> BagTexts:
        """Restore what `state` returned; raises KeyError if something is missing."""
        bag_arrays = {name.removeprefix("text."): a for name, a in arrays.items() if name.startswith("text.")}
        return cls(settings, TfIdfBags.from_state(bag_arrays, stored["text"]))


@dataclass(frozen=True, kw_only=True)
class _NumberedTexts(ABC):
    """Captions as numbers of their words or edges.

    `training`, `owners` and `vectors`, the words' vectors if given, are needed while a system is trained, and
    not stored.
    """

    vocabulary: Sequence[str]
    training: Sequence[Document] = ()
    owners: Owners = field(default_factory=lambda: np.empty(0, np.intp))
    vectors: NDArray[np.floating] | None = None

    def digest_parts(self) -> dict[str, Any]:
        """The vectors of the words."""
        return {"words": "" if self.vectors is None else digest_of_parts(self.vectors)}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, provenance: Mapping[str, Any]
    ) -> DescribedSide:
        """Return the numbers of training and held-out captions."""
        new = None if queries is None else self.describe(queries)
        return DescribedSide(self.describe(self.training), new, self.owners)

    @abstractmethod
    def describe(self, captions: Sequence[Document]) -> View:
        """Return new captions, a row each."""


@dataclass(frozen=True, kw_only=True)
class WordTexts(_NumberedTexts):
    """Captions as the numbers of their words, in order; words outside of the vocabulary are left out."""

    settings: WordSettings

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
    ) -> WordTexts:
        """Learn the vocabulary of the training captions: the most frequent word first, equally frequent ones
        in alphabetical order.

        Raises BadRecipe if no word is frequent enough.
        """
        settings: WordSettings = recipe.text
        texts, owners = training_texts(words, settings.captions)
        known = _frequent(
            Counter(word for text in texts for word in text[0]), settings.least_count, recipe.name
        )
        word_vectors = aids.word_vectors
        vectors = None if word_vectors is None else word_vectors.of(known)
        return cls(settings=settings, vocabulary=known, training=texts, owners=owners, vectors=vectors)

    def describe(self, captions: Sequence[Document]) -> View:
        """Return a row for each word; several captions of an item are one text."""
        number_of = {word: number for number, word in enumerate(self.vocabulary)}
        texts = [
            [number_of[word] for caption in image_captions for word in caption if word in number_of]
            for image_captions in captions
        ]
        rows = RaggedRows.of_counts(
            np.asarray([number for text in texts for number in text], np.int64), [len(text) for text in texts]
        )
        return WordNumbers(rows.values, rows.begin, rows.end, len(self.vocabulary), self.vectors)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the vocabulary."""
        return {"vocabulary": to_json_array(list(self.vocabulary))}, {}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> WordTexts:
        """Restore what `state` returned; raises KeyError if something is missing."""
        return cls(settings=settings, vocabulary=from_json_array(arrays["vocabulary"]))


@dataclass(frozen=True, kw_only=True)
class EdgeTexts(_NumberedTexts):
    """Captions as the numbers of their dependency edges; edges with an unknown word or relation are left out.
    The first entry of the `vocabulary` stands for the head of the root of a tree."""

    settings: EdgeSettings
    relations: Sequence[str]

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
    ) -> EdgeTexts:
        """Learn the vocabulary and the relations of the training captions, the most frequent first.

        Raises BadRecipe if no word is frequent enough.
        """
        settings: EdgeSettings = recipe.text
        texts, owners = training_texts(words, settings.captions)
        edges = [Edge.of_token(token) for text in texts for token in text[0]]
        known = _frequent(Counter(edge.word for edge in edges), settings.least_count, recipe.name)
        relations = _frequent(Counter(edge.relation for edge in edges), settings.least_count, recipe.name)
        word_vectors, vectors = aids.word_vectors, None
        if word_vectors is not None:
            of_words = word_vectors.of(known)
            vectors = np.concatenate([np.zeros_like(of_words[:1]), of_words])
        return cls(
            settings=settings,
            vocabulary=[ROOT_WORD, *known],
            relations=relations,
            training=texts,
            owners=owners,
            vectors=vectors,
        )

    def describe(self, captions: Sequence[Document]) -> View:
        """Return a row of three numbers for each edge; several captions of an item are one text."""
        word_number = {word: number for number, word in enumerate(self.vocabulary)}
        relation_number = {relation: number for number, relation in enumerate(self.relations)}
        texts = [
            [
                (relation_number[edge.relation], word_number[edge.head], word_number[edge.word])
                for caption in image_captions
                for edge in map(Edge.of_token, caption)
                if edge.relation in relation_number and edge.head in word_number and edge.word in word_number
            ]
            for image_captions in captions
        ]
        numbers = np.asarray([edge for text in texts for edge in text], np.int64).reshape(-1, 3)
        rows = RaggedRows.of_counts(numbers, [len(text) for text in texts])
        return EdgeNumbers(
            rows.values, rows.begin, rows.end, len(self.vocabulary), self.vectors, len(self.relations)
        )

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the vocabulary and the relations."""
        return {
            "vocabulary": to_json_array(list(self.vocabulary)),
            "relations": to_json_array(list(self.relations)),
        }, {}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> EdgeTexts:
        """Restore what `state` returned; raises KeyError if something is missing."""
        vocabulary, relations = (from_json_array(arrays[name]) for name in ("vocabulary", "relations"))
        return cls(settings=settings, vocabulary=vocabulary, relations=relations)


def _frequent(counted: Counter[str], least: int, recipe: str) -> list[str]:
    """Return the items counted at least `least` times: the most frequent first, equally frequent ones in
    alphabetical order.

    Raises BadRecipe if there are none.
    """
    known = sorted(
        (word for word, count in counted.items() if count >= least), key=lambda word: (-counted[word], word)
    )
    if not known:
        raise BadRecipe(
            f"recipe {recipe!r}: no word stands {least} times in the training captions; lower "
            "text.least_count"
        )
    return known


#: The form in which a method takes captions -> the class that describes them so.
TEXT_SIDES: Mapping[Form, SideKind] = {
    "kernel": SideKind(KernelTexts.learn, KernelTexts.from_state),
    "vectors": SideKind(BagTexts.learn, BagTexts.from_state),
    "words": SideKind(WordTexts.learn, WordTexts.from_state),
    "edges": SideKind(EdgeTexts.learn, EdgeTexts.from_state),
    "tags": SideKind(TagTexts.learn, TagTexts.from_state),
    "given": SideKind(VectorTexts.learn, VectorTexts.from_state),
    "phrases": SideKind(PhraseTexts.learn, PhraseTexts.from_state),
}
