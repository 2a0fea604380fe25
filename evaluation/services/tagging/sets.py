"""Sets of ranked tags: listing them, looking them up by name, reading them, and their own pages and files."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray

from annotation.common.database import chunks
from annotation.common.operations import Help, Named, NewFile, OneOf, OperationContext
from annotation.selectors.corpora import row_named
from evaluation.models import TaggedImage, TagSet
from evaluation.selectors import names_of
from evaluation.services.common import InputError
from evaluation.services.predicting import PredictionSet, prediction_values
from evaluation.services.stored_kinds import TAG_SETS
from evaluation.services.tags.ranked import ImageTags, tag_layouts, write_ranked_tags
from models_core.phase_cache import digest_of_parts

#: Number of rows read or written at a time: each may hold a score for every tag.
_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSetSummary(PredictionSet):
    """Ranked tags of images."""


def tag_set_summary(row: TagSet) -> TagSetSummary:
    """Return the summary of a tag set, for lists."""
    return TagSetSummary(**prediction_values(row))


def tag_set_named(name: str, corpus: str = "") -> TagSet:
    """Return the published set. Raises UnknownName listing what exists, and InputError if it is of another
    corpus than the given one."""
    rows = TagSet.objects.filter(published=True).select_related("corpus", "made_by")
    tag_set = row_named(rows, name)
    if corpus and tag_set.corpus.name != corpus:
        raise InputError(
            f"tag set {name!r} is of corpus {tag_set.corpus.name!r}, not of {corpus!r}; name that one"
        )
    return tag_set


def fill_tag_set(row: TagSet, tags_of_images: Iterator[tuple[int, list[list[Any]], bytes]]) -> None:
    """Write the rows of a new set: for each image its row id, its ranked tags, and all its scores."""
    digests = []
    rows = (
        TaggedImage(tag_set=row, position=position, image_id=image, tags=tags, scores=scores)
        for position, (image, tags, scores) in enumerate(tags_of_images)
    )
    for chunk in chunks(rows, _ROWS):
        TaggedImage.objects.bulk_create(chunk)
        digests += [[item.image_id, item.tags, bytes(item.scores).hex()] for item in chunk]
    row.image_count = len(digests)
    row.digest = digest_of_parts([digest_of_parts(item) for item in digests])


def tags_of_set(tag_set: TagSet) -> Iterator[ImageTags]:
    """Yield the images by the names that we write, with their ranked tags, in the order of the set."""
    names = names_of(tag_set.corpus.name).image_name
    rows = tag_set.images.order_by("position").values_list("image_id", "tags")
    for image, tags in rows.iterator(_ROWS):
        yield ImageTags(names[image], [(tag, score) for tag, score in tags])


def tag_scores_of(tag_set: TagSet) -> tuple[list[int], NDArray[np.float32]]:
    """Return the row ids of the images, and their scores for the vocabulary, shape (images, tags)."""
    rows = tag_set.images.order_by("position").values_list("image_id", "scores")
    images: list[int] = []
    scores = np.empty((tag_set.image_count, len(tag_set.vocabulary)), np.float32)
    for index, (image, packed) in enumerate(rows.iterator(_ROWS)):
        images.append(image)
        scores[index] = np.frombuffer(packed, np.float32)
    return images, scores


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSetDetail(TagSetSummary):
    """Ranked tags with their settings, and the figures that were last stored with them."""

    settings: dict[str, Any]
    figures: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadTagSetRequest:
    """Ranked tags of images, as JSON Lines or as a table."""

    tag_set: Annotated[str, Named(TAG_SETS), Help(_("Tag set"))]
    layout: Annotated[str, OneOf(tag_layouts), Help(_("Layout"))] = "jsonl"


def tag_set_detail(row: TagSet) -> TagSetDetail:
    """Return all that is stored of a tag set."""
    summary = asdict(tag_set_summary(row))
    return TagSetDetail(**summary, settings=row.settings, figures=row.figures)


def download_tag_set(request: DownloadTagSetRequest, context: OperationContext) -> NewFile:
    """Return the tags, best first, as a file."""
    row, layout = tag_set_named(request.tag_set), request.layout
    return NewFile(f"{row.name}.{layout}", lambda path: write_ranked_tags(tags_of_set(row), path, layout))
