"""Sets of captions that systems wrote: listing them, looking them up by name, writing them to files."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.database import chunks
from annotation.common.operations import Help, Named, NewFile, OperationContext
from annotation.formats.fields import is_number
from annotation.selectors.corpora import row_named
from evaluation.models import CaptionSet, WrittenCaption
from evaluation.selectors import names_of
from evaluation.services.common import ROWS_PER_INSERT
from evaluation.services.predicting import PredictionSet, prediction_values
from evaluation.services.stored_kinds import CAPTION_SETS
from models_core.phase_cache import digest_of_parts
from phrasebox.text_files import whole_file


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionSetSummary(PredictionSet):
    """Captions that one system wrote. `regions` is the feature set whose regions were described, empty for
    whole images; `in_training` is the number of captions that occur word for word among its training
    captions, None where these are unknown."""

    regions: str
    captions: int
    distinct: int
    in_training: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadCaptionSetRequest:
    """The captions of a system, as COCO results."""

    caption_set: Annotated[str, Named(CAPTION_SETS), Help(_("Caption set"))]


def caption_set_summary(row: CaptionSet) -> CaptionSetSummary:
    """Return the summary of a caption set."""
    return CaptionSetSummary(
        **prediction_values(row),
        regions=row.regions,
        captions=row.caption_count,
        distinct=row.distinct,
        in_training=row.in_training,
    )


def download_caption_set(request: DownloadCaptionSetRequest, context: OperationContext) -> NewFile:
    """The captions as COCO results."""
    row = caption_set_named(request.caption_set)
    return NewFile(f"{row.name}.json", lambda path: write_coco_results(row, path))


def caption_set_named(name: str) -> CaptionSet:
    """Return the published set; raises UnknownName listing what exists."""
    return row_named(CaptionSet.objects.filter(published=True).select_related("corpus", "made_by"), name)


def write_caption_rows(caption_set: CaptionSet, captions: Iterable[WrittenCaption]) -> list[str]:
    """Write the captions of a new set in their order, and set its counts and its digest; the caller calls
    `save`. Return their texts.

    The digest covers names of images instead of row ids: it does not depend on where the corpus is imported.
    """
    name_of = names_of(caption_set.corpus.name).image_name
    parts: list[list[Any]] = []
    images: set[int] = set()
    for chunk in chunks(captions, ROWS_PER_INSERT):
        for position, row in enumerate(chunk, start=len(parts)):
            row.caption_set, row.position = caption_set, position
            images.add(row.image_id)
        WrittenCaption.objects.bulk_create(chunk)
        parts += [[name_of[row.image_id], row.box, row.text] for row in chunk]
    texts = [text for *_place, text in parts]
    caption_set.caption_count, caption_set.image_count = len(parts), len(images)
    caption_set.distinct = len(set(texts))
    caption_set.digest = digest_of_parts(parts)
    return texts


def coco_results(caption_set: CaptionSet) -> Iterator[dict[str, Any]]:
    """Yield the entries of COCO's results: image and caption, and for a region its box as x, y, width,
    height.

    Images have COCO's numbers if all of them do, else the names that we write.
    """
    names = names_of(caption_set.corpus.name).image_name
    numbers = dict(caption_set.corpus.images.values_list("pk", "external_id"))
    by_number = all(map(is_number, numbers.values())) and len(set(numbers.values())) == len(numbers)
    rows = caption_set.captions.order_by("position").values_list("image_id", "box", "text", "log_probability")
    for image, box, text, score in rows.iterator(ROWS_PER_INSERT):
        entry: dict[str, Any] = {
            "image_id": int(numbers[image]) if by_number else names[image],
            "caption": text,
        }
        if score:
            entry["log_probability"] = score
        if box:
            left, top, right, bottom = box
            entry["bbox"] = [left, top, right - left, bottom - top]
        yield entry


def write_coco_results(caption_set: CaptionSet, path: Path) -> None:
    """Write the entries to a new file. Raises FormatError if it exists already, and OSError."""
    with whole_file(path) as part, part.open("w", encoding="utf-8") as stream:
        json.dump(list(coco_results(caption_set)), stream, ensure_ascii=False, indent=1)
