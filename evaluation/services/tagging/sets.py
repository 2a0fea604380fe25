"""Sets of ranked tags: listed, found by name, read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.common.by_command import with_known
from evaluation.models import TagSet
from evaluation.selectors import names_of
from evaluation.services.common import ImportRefused
from evaluation.services.predicting import PredictionSet, prediction_values
from evaluation.services.tags.ranked import ImageTags
from phrasebox.registry import UnknownName

#: Rows that are read at a time: each may hold a score for every tag.
_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSetSummary(PredictionSet):
    """Ranked tags of images: of a system, or of the collection that is their `source`."""

    source: str


def tag_set_summary(row: TagSet) -> TagSetSummary:
    """What lists say of tags."""
    return TagSetSummary(**prediction_values(row), source=row.source)


def tag_set_named(name: str, corpus: str = "") -> TagSet:
    """The published set. Raises UnknownName listing what exists, and ImportRefused where it is of another
    corpus than the one named."""
    there = TagSet.objects.filter(published=True).select_related("corpus", "made_by")
    found = there.filter(name=name).first()
    if found is None:
        raise with_known(UnknownName(f"unknown tag set {name!r}"), there.values_list("name", flat=True))
    if corpus and found.corpus.name != corpus:
        raise ImportRefused(
            f"tag set {name!r} is of corpus {found.corpus.name!r}, not of {corpus!r}; name that one"
        )
    return found


def tags_of_set(found: TagSet) -> Iterator[ImageTags]:
    """The images by the names we write, with their ranked tags, in the order of the set."""
    names = names_of(found.corpus.name).image_name
    rows = found.images.order_by("position").values_list("image_id", "tags")
    for image, tags in rows.iterator(_ROWS):
        yield ImageTags(names[image], [(tag, score) for tag, score in tags])


def tag_scores_of(found: TagSet) -> tuple[list[int], NDArray[np.float32]]:
    """The ids of the images' rows, and their scores for the vocabulary, shape (images, tags)."""
    rows = found.images.order_by("position").values_list("image_id", "scores")
    images: list[int] = []
    scores = np.empty((found.image_count, len(found.vocabulary)), np.float32)
    for place, (image, own) in enumerate(rows.iterator(_ROWS)):
        images.append(image)
        scores[place] = np.frombuffer(own, np.float32)
    return images, scores
