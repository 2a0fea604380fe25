"""Localization sets: listing them, looking them up by name, packing and reading their rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.selectors.corpora import row_named
from evaluation.models import LocalizationSet, PhraseDetections, PhraseLocalization
from evaluation.selectors import names_of
from evaluation.services.common import ROWS_PER_INSERT
from evaluation.services.predicting import PredictionSet, packed_images, prediction_values
from models_core.phase_cache import digest_of_parts

#: The numbers of a packed region: xmin, ymin, xmax, ymax, score.
REGION_NUMBERS = 5
_FLOAT, _ID = np.dtype("<f4"), np.dtype("<i8")


@dataclass(frozen=True, slots=True)
class LocalizedMention:
    """The regions for a mention of an image (row id), best first; `regions` has shape (n, 5)."""

    image: int
    caption: int
    start: int
    end: int
    phrase: str
    regions: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DetectedPhrase:
    """The regions in which a phrase is detected among all images, best first; `images` are ids, `regions` has
    shape (n, 5)."""

    phrase: str
    images: NDArray[np.int64]
    regions: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationSetSummary(PredictionSet):
    """The regions in which a system finds the mentions of a layer, among those of the feature set `regions`.
    Both are empty for a set that was read from a file. `unknown` mentions have no word that the system
    knows."""

    layer: str
    regions: str
    mentions: int
    unknown: int


def localization_set_summary(row: LocalizationSet) -> LocalizationSetSummary:
    """Return the summary of a localization set, for lists."""
    return LocalizationSetSummary(**localization_set_values(row))


def localization_set_values(row: LocalizationSet) -> dict[str, Any]:
    """Return the fields of a LocalizationSetSummary."""
    return {
        **prediction_values(row),
        "layer": row.layer,
        "regions": row.regions,
        "mentions": row.mention_count,
        "unknown": row.unknown_count,
    }


def localization_set_named(name: str) -> LocalizationSet:
    """Return the published set; raises UnknownName listing what exists."""
    return row_named(LocalizationSet.objects.filter(published=True).select_related("corpus", "made_by"), name)


def write_rows(
    localization_set: LocalizationSet,
    mentions: Iterable[LocalizedMention],
    detections: Iterable[DetectedPhrase],
) -> None:
    """Write the rows of a new set, and set its counts and its digest; the caller calls `save`.

    The digest covers names of images instead of row ids: it does not depend on where the corpus is imported.
    """
    name_of = names_of(localization_set.corpus.name).image_name
    parts: list[Any] = []
    images: set[int] = set()
    for start, chunk in _chunks(mentions):
        rows = []
        for position, mention in enumerate(chunk, start=start):
            packed = np.asarray(mention.regions, _FLOAT).reshape(-1, REGION_NUMBERS)
            rows.append(
                PhraseLocalization(
                    localization_set=localization_set,
                    position=position,
                    image_id=mention.image,
                    caption=mention.caption,
                    start=mention.start,
                    end=mention.end,
                    phrase=mention.phrase,
                    regions=packed.tobytes(),
                )
            )
            key = [name_of[mention.image], mention.caption, mention.start, mention.end, mention.phrase]
            parts.append(digest_of_parts(key, packed))
            images.add(mention.image)
        PhraseLocalization.objects.bulk_create(rows)
    localization_set.mention_count, localization_set.image_count = len(parts), len(images)
    for start, seen in _chunks(detections):
        PhraseDetections.objects.bulk_create(
            PhraseDetections(
                localization_set=localization_set,
                position=position,
                phrase=detected.phrase,
                images=np.asarray(detected.images, _ID).tobytes(),
                regions=np.asarray(detected.regions, _FLOAT).tobytes(),
            )
            for position, detected in enumerate(seen, start=start)
        )
        for detected in seen:
            where = [name_of[int(image)] for image in detected.images]
            parts.append(digest_of_parts(detected.phrase, where, np.asarray(detected.regions, _FLOAT)))
    localization_set.digest = digest_of_parts(parts)


def _chunks(rows: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yield rows in lists of at most `ROWS_PER_INSERT`, with the position of the first."""
    stream, start = iter(rows), 0
    while part := list(islice(stream, ROWS_PER_INSERT)):
        yield start, part
        start += len(part)


def images_looked_at(localization_set: LocalizationSet) -> frozenset[int]:
    """Return the ids of the images that a set covers. Where that is unknown, as for a file without a
    declaration: those in which it has a mention."""
    packed = packed_images(localization_set)
    if packed is not None:
        return packed
    return frozenset(localization_set.mentions.values_list("image_id", flat=True))


def localized_mentions(
    localization_set: LocalizationSet, images: Iterable[int] | None = None
) -> Iterator[LocalizedMention]:
    """Yield the set's regions for each mention, in order; only for `images` if given."""
    rows = localization_set.mentions.order_by("position")
    if images is not None:
        rows = rows.filter(image_id__in=list(images))
    for row in rows.iterator(ROWS_PER_INSERT):
        regions = np.frombuffer(row.regions, _FLOAT).reshape(-1, REGION_NUMBERS)
        yield LocalizedMention(row.image_id, row.caption, row.start, row.end, row.phrase, regions)


def detections_of(localization_set: LocalizationSet) -> Iterator[DetectedPhrase]:
    """Yield the set's detections for each phrase, in order."""
    for row in localization_set.detections.order_by("position").iterator(ROWS_PER_INSERT):
        regions = np.frombuffer(row.regions, _FLOAT).reshape(-1, REGION_NUMBERS)
        yield DetectedPhrase(row.phrase, np.frombuffer(row.images, _ID), regions)
