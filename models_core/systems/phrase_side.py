"""Descriptions of phrases: the mean of their words' vectors, or Fisher vectors; word vectors are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.features.principal_axes import PrincipalAxes
from models_core.features.text.fisher import FisherVectors
from models_core.features.text.mixtures import MixtureSettings, WordMixture
from models_core.features.text.phrases import (
    DescribePhrases,
    PhraseRows,
    mean_vectors,
    numbered_phrases,
    phrase_words,
)
from models_core.phase_cache import PhaseCache, digest_of_parts, from_json_array, to_json_array
from models_core.systems.dataset import CaptionWords
from models_core.systems.kernels import Resources, WordVectorTable
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_contracts import Arrays, DescribedSide, Owners
from models_core.systems.side_settings import PhraseSettings
from phrasebox.kernels.idf import Document

#: Maximum number of phrases from which principal axes are learned; of more, a sample is drawn.
_AXES_FROM = 8192
_STATE = "phrases."


@dataclass(frozen=True)
class _PhrasePlaces:
    """Phrases as word numbers, the input of Fisher vectors."""

    values: NDArray[np.intp]
    begin: NDArray[np.intp]
    end: NDArray[np.intp]


@dataclass(frozen=True)
class PhraseTexts:
    """Phrases as vectors; words without a vector are left out.

    `vectors` has a row for each word of `vocabulary`. `fisher` and `axes` are learned if the settings require
    them. `training`, the phrases item by item, and `owners` are not stored.
    """

    settings: PhraseSettings
    vocabulary: Sequence[str]
    vectors: NDArray[np.float32]
    fisher: FisherVectors | None = None
    axes: PrincipalAxes | None = None
    training: Sequence[Document] = ()
    owners: Owners = field(default_factory=lambda: np.empty(0, np.intp))

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
    ) -> PhraseTexts:
        """Keep the vectors of the training phrases' words and of the first others; learn the mixture. The
        seed determines its initial clusters, and the sample of a large number of rows.

        Raises BadRecipe without word vectors, and if no training phrase has a word with a vector.
        """
        settings: PhraseSettings = recipe.text
        word_vectors = aids.word_vectors
        if word_vectors is None:
            raise BadRecipe(f"recipe {recipe.name!r} describes phrases by word vectors; give some")
        most = settings.captions
        training: list[Document] = [
            [[w.lemma for w in text]] for image_texts in words for text in image_texts[:most]
        ]
        owners = np.repeat(np.arange(len(words)), [len(image_texts[:most]) for image_texts in words])
        word_counts = Counter(word for text in training for word in phrase_words(text[0]))
        vocabulary, vectors = _selected_words(word_vectors, word_counts, settings.vocabulary)
        if not any(word in word_counts for word in vocabulary):
            raise BadRecipe(
                f"recipe {recipe.name!r}: no word of the training phrases has a vector; give word vectors of "
                "this language"
            )
        texts_without_mixture = cls(settings, vocabulary, vectors, training=training, owners=owners)
        return (
            texts_without_mixture
            if settings.vectors == "mean"
            else texts_without_mixture._with_mixture(word_counts, cache, aids.seed)
        )

    def _with_mixture(self, word_counts: Counter[str], cache: PhaseCache, seed: int) -> PhraseTexts:
        settings = self.settings
        known_words = [index for index, word in enumerate(self.vocabulary) if word in word_counts]
        rows = self.vectors[known_words]
        counts = np.asarray([word_counts[self.vocabulary[index]] for index in known_words], np.float64)
        mixture_settings = MixtureSettings(settings.family, settings.mixture, seed=seed)
        provenance = {
            "rows": digest_of_parts(rows, counts),
            "settings": [mixture_settings.family, mixture_settings.components],
            "seed": seed,
        }

        def learn() -> dict[str, NDArray[Any]]:
            mixture = WordMixture(mixture_settings).fit(rows, counts=counts, progress=cache.progress)
            arrays, settings_of_both = FisherVectors(mixture).state()
            return {**arrays, "said": to_json_array(settings_of_both)}

        arrays = dict(cache.arrays("learning a mixture of word vectors", provenance, learn))
        fisher = FisherVectors.from_state(arrays, from_json_array(arrays.pop("said")))
        phrase_texts = PhraseTexts(
            settings, self.vocabulary, self.vectors, fisher, training=self.training, owners=self.owners
        )
        if not settings.axes:
            return phrase_texts
        rows_of_all = phrase_texts.describe(phrase_texts.training).distinct
        drawn = np.random.default_rng(seed).permutation(len(rows_of_all))[:_AXES_FROM]
        axes = PrincipalAxes.fit(rows_of_all[np.sort(drawn)], settings.axes)
        return PhraseTexts(settings, self.vocabulary, self.vectors, fisher, axes, self.training, self.owners)

    def digest_parts(self) -> dict[str, Any]:
        """The vectors of the words."""
        return {"words": digest_of_parts(list(self.vocabulary), self.vectors)}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, provenance: Mapping[str, Any]
    ) -> DescribedSide:
        """Return rows of training and held-out phrases, computed when they are read."""
        new: Any = None if queries is None else self.describe(queries)
        described: Any = self.describe(self.training)
        return DescribedSide(described, new, self.owners)

    def describe(self, captions: Sequence[Document]) -> PhraseRows:
        """Return a row for each phrase; several captions of an item are one phrase."""
        texts = [
            phrase_words([word for caption in image_captions for word in caption])
            for image_captions in captions
        ]
        phrase_of, words, begin, end = numbered_phrases(texts, self._number_of)
        return PhraseRows(phrase_of, words, begin, end, self.vectors, self._numbers, self._described)

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary)}

    @property
    def _numbers(self) -> int:
        if self.axes is not None:
            return int(self.axes.axes.shape[1])
        return self.vectors.shape[1] if self.fisher is None else self.fisher.size

    @property
    def _described(self) -> DescribePhrases:
        return mean_vectors if self.fisher is None else self._fisher_rows

    def _fisher_rows(
        self,
        words: NDArray[np.intp],
        begin: NDArray[np.intp],
        end: NDArray[np.intp],
        vectors: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        assert self.fisher is not None
        if not len(words):
            return np.zeros((len(begin), self._numbers), np.float32)
        blocks = self.fisher.blocks(_PhrasePlaces(words, begin, end), vectors)
        reduced = blocks if self.axes is None else map(self.axes.transform, blocks)
        return np.concatenate(list(reduced))

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return words, their vectors, the mixture and the axes."""
        arrays: dict[str, NDArray[Any]] = {
            f"{_STATE}vocabulary": to_json_array(list(self.vocabulary)),
            f"{_STATE}vectors": self.vectors,
        }
        settings: dict[str, Any] = {}
        if self.fisher is not None:
            fisher_arrays, settings = self.fisher.state()
            arrays |= {f"{_STATE}fisher.{name}": array for name, array in fisher_arrays.items()}
        if self.axes is not None:
            arrays |= {f"{_STATE}axes": self.axes.axes, f"{_STATE}axes.mean": self.axes.mean}
        return arrays, {"phrases": settings}

    @classmethod
    def from_state(cls, settings: Any, arrays: Arrays, stored: Mapping[str, Any]) -> PhraseTexts:
        """Restore what `state` returned; raises KeyError if something is missing."""
        fisher = axes = None
        if stored["phrases"]:
            start = f"{_STATE}fisher."
            fisher_arrays = {
                name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)
            }
            fisher = FisherVectors.from_state(fisher_arrays, stored["phrases"])
        if f"{_STATE}axes" in arrays:
            axes = PrincipalAxes(arrays[f"{_STATE}axes.mean"], arrays[f"{_STATE}axes"])
        vocabulary = from_json_array(arrays[f"{_STATE}vocabulary"])
        return cls(settings, vocabulary, arrays[f"{_STATE}vectors"], fisher, axes)


def _selected_words(
    word_vectors: WordVectorTable, word_counts: Mapping[str, int], first: int
) -> tuple[list[str], NDArray[np.float32]]:
    """Return the words of the set that are in captions or among its `first`, with their vectors."""
    places: dict[str, int] = {}
    for index, word in enumerate(word_vectors.words):
        if index < first or word in word_counts:
            places.setdefault(word, index)
    rows = np.asarray(word_vectors.vectors[list(places.values())], np.float32)
    return list(places), rows.reshape(len(places), -1)
