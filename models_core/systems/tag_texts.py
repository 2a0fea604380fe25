"""The side that describes captions as the ranked tags of their image, with a vector for each tag.

The paper's tags are lemmas, and a compound's vector is the mean of its words'. A tag with a word that has no
vector has no vector itself: if word vectors are given, such a tag is unknown, and is not used in training.

Source: structured listwise tagging, sections 3.2 and 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import RaggedRows, TagNumbers
from models_core.estimators.predictors import CandidateTags
from models_core.features.text.tags import TagPosition, ranked_tags
from models_core.phase_cache import PhaseCache, digest_of_parts, from_json_array, to_json_array
from models_core.systems.dataset import CaptionWords
from models_core.systems.kernels import Resources, WordVectorTable
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_contracts import Arrays, DescribedSide
from models_core.systems.side_settings import TagSettings
from phrasebox.kernels.idf import Document


class UnknownTag(ValueError):
    """The tag was not trained and has no word vector; the message is one line with the remedy."""


@dataclass(frozen=True, kw_only=True)
class TagTexts:
    """Captions as ranked tags. The `vocabulary` has the tags of the training images, the most frequent first;
    `vectors` has a row for each, if word vectors were given: then `without_vector` further tags of the
    training images have no vector and are left out. `training` are the training captions, which are not
    stored."""

    settings: TagSettings
    vocabulary: Sequence[str]
    vectors: NDArray[np.float32] | None = None
    without_vector: int = 0
    training: Sequence[Document] = ()

    @classmethod
    def learn(
        cls, recipe: Recipe, words: Sequence[CaptionWords], aids: Resources, cache: PhaseCache
    ) -> TagTexts:
        """Learn the tags that enough training images have, and their vectors. Raises BadRecipe if none is
        left."""
        settings: TagSettings = recipe.text
        training: list[Document] = [
            [[word.lemma for word in caption] for caption in image_captions] for image_captions in words
        ]
        counted = Counter(tag for image_captions in training for tag in _ranked(image_captions, settings))
        known = sorted(
            (tag for tag, images in counted.items() if images >= settings.least_count),
            key=lambda tag: (-counted[tag], tag),
        )
        if not known:
            raise BadRecipe(
                f"recipe {recipe.name!r}: no tag stands in the captions of {settings.least_count} training "
                "images; lower text.least_count"
            )
        if aids.word_vectors is None:
            return cls(settings=settings, vocabulary=known, training=training)
        vectors = _directed(aids.word_vectors.of_phrases(known), settings)
        there = np.asarray(vectors.any(axis=1))
        if not there.any():
            raise BadRecipe(
                f"recipe {recipe.name!r}: none of the {len(known)} tags of the training captions has a word "
                "vector; train vectors on these captions, or import others"
            )
        return cls(
            settings=settings,
            vocabulary=[tag for tag, has in zip(known, there, strict=True) if has],
            vectors=vectors[there],
            without_vector=int((~there).sum()),
            training=training,
        )

    def digest_parts(self) -> dict[str, Any]:
        """The vectors of the tags."""
        return {"words": "" if self.vectors is None else digest_of_parts(self.vectors)}

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, provenance: Mapping[str, Any]
    ) -> DescribedSide:
        """Return the tags of training and held-out images."""
        new = None if queries is None else self.describe(queries)
        return DescribedSide(self.describe(self.training), new, np.arange(len(self.training)))

    def describe(self, captions: Sequence[Document]) -> TagNumbers:
        """Return the known tags of each image, from all its given captions, the most relevant first."""
        number_of = {tag: number for number, tag in enumerate(self.vocabulary)}
        tag_numbers = [
            [number_of[tag] for tag in _ranked(image_captions, self.settings) if tag in number_of]
            for image_captions in captions
        ]
        rows = RaggedRows.of_counts(
            np.asarray([number for image_captions in tag_numbers for number in image_captions], np.int64),
            [len(image_captions) for image_captions in tag_numbers],
        )
        return TagNumbers(rows.values, rows.begin, rows.end, len(self.vocabulary), self.vectors)

    def candidates(
        self, tags: Sequence[str] | None = None, words: WordVectorTable | None = None
    ) -> CandidateTags:
        """Return the candidate tags for images: the trained tags if None, else these by name.

        `words` are vectors of the same kind as in training, for tags that were not trained. Raises UnknownTag
        for such a tag without a vector, and ValueError for a duplicate.
        """
        if tags is None:
            return CandidateTags(tuple(self.vocabulary), np.arange(len(self.vocabulary)), self.vectors)
        if len(set(tags)) != len(tags):
            twice = next(tag for tag, times in Counter(tags).items() if times > 1)
            raise ValueError(f"tag {twice!r} is given twice; expected each once")
        number_of = {tag: number for number, tag in enumerate(self.vocabulary)}
        numbers = np.asarray([number_of.get(tag, -1) for tag in tags], np.intp)
        if self.vectors is None:
            return CandidateTags(tuple(tags), numbers, None)
        vectors = np.zeros((len(tags), self.vectors.shape[1]), np.float32)
        vectors[numbers >= 0] = self.vectors[numbers[numbers >= 0]]
        new = np.flatnonzero(numbers < 0).tolist()
        if len(new) and words is not None:
            vectors[new] = _directed(words.of_phrases([tags[index] for index in new]), self.settings)
        lacking = [tags[index] for index in new if not vectors[index].any()]
        if lacking:
            raise UnknownTag(
                f"tag {lacking[0]!r} is none of the training's, and has no word vector ({len(lacking)} such "
                "tags); leave it out, or give word vectors that have it"
            )
        return CandidateTags(tuple(tags), numbers, vectors)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the vocabulary with its vectors."""
        arrays: dict[str, NDArray[Any]] = {"vocabulary": to_json_array(list(self.vocabulary))}
        if self.vectors is not None:
            arrays["vocabulary.vectors"] = self.vectors
        return arrays, {"tags": {"known": len(self.vocabulary), "without_vector": self.without_vector}}

    @classmethod
    def from_state(cls, settings: TagSettings, arrays: Arrays, stored: Mapping[str, Any]) -> TagTexts:
        """Restore what `state` returned; raises KeyError if something is missing."""
        return cls(
            settings=settings,
            vocabulary=from_json_array(arrays["vocabulary"]),
            vectors=arrays.get("vocabulary.vectors"),
            without_vector=stored["tags"]["without_vector"],
        )


def _ranked(captions: Document, settings: TagSettings) -> list[str]:
    """Return the tags of an image, the most relevant first."""
    places = ([TagPosition.of_token(token) for token in caption] for caption in captions)
    return [tag for tag, _ in ranked_tags(places, settings.weight)]


def _directed(vectors: NDArray[np.float32], settings: TagSettings) -> NDArray[np.float32]:
    """Return the vectors with length 1, if the settings require it; zeros stay."""
    if not settings.normalised:
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
