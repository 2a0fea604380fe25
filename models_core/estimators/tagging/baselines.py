"""Baseline taggers: the most frequent tags, tags in random order, and tags of similar images.

Tags that were not trained have the lowest score, so all of them are tied.
"""

from __future__ import annotations

import zlib
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import IMAGE_VIEW, Dataset, FitContext, Matrix, State, View, checked_numbers
from models_core.estimators.grids import Axis, Grid
from models_core.estimators.predictors import CandidateTags, TagScore, check_score
from models_core.estimators.tagging.held_out import (
    PRECISION_OF_OWN,
    held_out_precision,
    known_tags,
    presence,
    tags_of,
)
from models_core.estimators.tagging.settings import FrequencySettings, NeighbourSettings, RandomSettings

#: Weight of a tag's frequency beside the votes: enough to order tags that no similar image has.
_LITTLE = 1e-6
#: Number of images whose distances are in memory at a time.
_TOGETHER = 512


class TagFrequency:
    """The same order of tags for every image. Learned are `shares_`, the share of training images that have
    each tag."""

    scores: ClassVar[tuple[TagScore, ...]] = ("own",)
    shares_: Matrix

    def __init__(self, settings: FrequencySettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> TagFrequency:
        """Count the tags; nothing is chosen. Raises ValueError for images that are not finite, as all methods
        do."""
        checked_numbers(train.images, IMAGE_VIEW)
        context.progress("counting tags", 0, 1)
        self.shares_ = presence(tags_of(train)).mean(axis=0)
        context.progress("counting tags", 1, 1)
        return self

    def score_tags(self, images: View, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """Return the share of training images that have the tag; 0 for other tags."""
        check_score(by, self.scores, "the frequency of tags")
        return tags.spread(np.broadcast_to(self.shares_, (images.shape[0], len(self.shares_))), 0.0)

    def state(self) -> State:
        """Return the shares."""
        return {"shares": self.shares_}, {}

    @classmethod
    def from_state(cls, settings: FrequencySettings, state: State) -> TagFrequency:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.shares_ = state[0]["shares"]
        return restored


class RandomTags:
    """A random order of tags for each image, the same each time. Learned is `seed_`."""

    scores: ClassVar[tuple[TagScore, ...]] = ("own",)
    seed_: int

    def __init__(self, settings: RandomSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> RandomTags:
        """Store the seed. Raises ValueError for images that are not finite, as all methods do."""
        checked_numbers(train.images, IMAGE_VIEW)
        context.progress("remembering the seed", 1, 1)
        self.seed_ = context.seed
        return self

    def score_tags(self, images: View, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """Return scores from 0 to 1 that depend only on the seed and the image's numbers."""
        check_score(by, self.scores, "a random order")
        rows = np.asarray(images, np.float32)
        generators = (np.random.default_rng([self.seed_, zlib.crc32(row.tobytes())]) for row in rows)
        return np.array([rng.random(len(tags)) for rng in generators]).reshape(len(rows), len(tags))

    def state(self) -> State:
        """Return the seed."""
        return {}, {"seed": self.seed_}

    @classmethod
    def from_state(cls, settings: RandomSettings, state: State) -> RandomTags:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.seed_ = state[1]["seed"]
        return restored


class NeighbourVotes:
    """Similar training images vote for their tags, with weights that decrease with distance.

    The weight of a neighbour at distance d is exp(-decay d / r), with r the distance of the last neighbour
    that votes; weights add up to 1. Number and decay are chosen on held-out images. TagProp learns such
    weights by likelihood, and another weight for each tag; this is a simpler form of it. Tags that no
    neighbour has are ordered by frequency. Learned are `vectors_` of the training images, `present_` (their
    tags), and `neighbours_` and `decay_`, with `tried_`, a row (neighbours, decay, held-out precision) for
    each.

    Source: Guillaumin et al. 2009 (TagProp), section 3; the baseline of structured listwise tagging, Table 5.
    """

    scores: ClassVar[tuple[TagScore, ...]] = ("own",)
    vectors_: NDArray[Any]
    present_: NDArray[np.uint8]
    neighbours_: int
    decay_: float
    tried_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: NeighbourSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> NeighbourVotes:
        """Store the training images; choose the settings on `validation`, the first of equally good ones.

        Raises ValueError for numbers that are not finite, and if there is something to choose but no held-out
        images.
        """
        settings = self.settings
        neighbours = Axis("neighbours", settings.neighbours, whole=True, most=train.images.shape[0])
        choice = Grid((neighbours, Axis("decay", settings.decays)), PRECISION_OF_OWN, settings.grid_steps)
        if validation is None and choice.size > 1:
            raise ValueError("neighbours are chosen on held-out images; give some, or one number and decay")
        self.vectors_ = np.asarray(checked_numbers(train.images, IMAGE_VIEW), np.float32)
        self.present_ = presence(tags_of(train)).astype(np.uint8)
        tried: list[tuple[float, float, float]] = []
        while (setting := choice.next_setting(tried)) is not None:
            context.progress("trying neighbours", len(tried), max(choice.size, len(tried) + 1))
            self.neighbours_, self.decay_ = int(setting[0]), setting[1]
            figure = 0.0
            if validation is not None:
                tags = tags_of(validation)
                figure = held_out_precision(self.score_tags(validation.images, known_tags(tags)), tags)
            tried.append((self.neighbours_, self.decay_, figure))
        context.progress("trying neighbours", len(tried), len(tried))
        self.tried_, self.selection_ = np.asarray(tried, np.float64), choice.remarks(tried)
        best = choice.best(tried)
        self.neighbours_, self.decay_ = int(best[0]), best[1]
        return self

    def score_tags(self, images: View, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """Return the weight of the neighbours that have the tag, from 0 to 1. Raises ValueError for vectors
        of another width than in training, and for numbers that are not finite."""
        check_score(by, self.scores, "the votes of similar images")
        queries = checked_numbers(images, IMAGE_VIEW)
        if queries.shape[1] != self.vectors_.shape[1]:
            raise ValueError(
                f"images of {queries.shape[1]} numbers against {self.vectors_.shape[1]}; expected the same"
            )
        present = np.asarray(self.present_, np.float64)
        often = _LITTLE * present.mean(axis=0)
        votes = [
            self._weights(queries[start : start + _TOGETHER]) @ present + often
            for start in range(0, len(queries), _TOGETHER)
        ]
        return tags.spread(np.concatenate(votes) if votes else np.empty((0, present.shape[1])), 0.0)

    def _weights(self, queries: Matrix) -> Matrix:
        """Return the weight of each training image for each query, 0 unless it votes; shape (images, training
        images)."""
        vectors = np.asarray(self.vectors_, np.float64)
        squares = (queries**2).sum(axis=1)[:, None] - 2 * queries @ vectors.T + (vectors**2).sum(axis=1)
        count = min(self.neighbours_, len(vectors))
        nearest = np.argsort(squares, axis=1, kind="stable")[:, :count]
        distances = np.sqrt(np.maximum(np.take_along_axis(squares, nearest, axis=1), 0))
        last = distances[:, -1:]
        weights = np.exp(-self.decay_ * distances / np.where(last > 0, last, 1))
        result = np.zeros_like(squares)
        np.put_along_axis(result, nearest, weights / weights.sum(axis=1, keepdims=True), axis=1)
        return result

    def state(self) -> State:
        """Return images, tags, and the chosen settings."""
        arrays = {"vectors": self.vectors_, "present": self.present_, "tried": self.tried_}
        return arrays, {"neighbours": self.neighbours_, "decay": self.decay_}

    @classmethod
    def from_state(cls, settings: NeighbourSettings, state: State) -> NeighbourVotes:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.vectors_, restored.present_, restored.tried_ = (
            arrays[name] for name in ("vectors", "present", "tried")
        )
        restored.neighbours_, restored.decay_ = stored_settings["neighbours"], stored_settings["decay"]
        return restored
