"""Tags that a system gave images elsewhere, read from a file as a tag set.

Tags are lower-cased, as those of captions are; two tags of an image that differ only so are one, with the
higher score.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import LEAVE_UNUSED, Help, OperationContext, with_sheet
from annotation.common.readers import stream
from evaluation.models import TagSet
from evaluation.services.imported_sets import (
    PREDICTIONS_UPLOAD,
    SetImport,
    by_image,
    images_to_store,
    origin_of,
)
from evaluation.services.request_fields import NamedBy, name_spaces
from evaluation.services.stored import get_or_publish
from evaluation.services.tagging.sets import TagSetSummary, fill_tag_set, tag_set_summary
from phrasebox.balance import DUPLICATE, NAMED_IMAGES, OF_LEFT, TAGS, BalanceSheet, current_tally
from phrasebox.formats.tag_lists import TagsOfImage, read_tag_lists


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsImport(SetImport):
    """Tags made elsewhere: JSON lines or a list of {"image": NAME, "tags": [[TAG, SCORE], ...]}, or a table
    with the columns image, tag and score; scores decide the order, and without them that of the file does.
    All of them are stored, or none. Without a system, one with the set's name is created, with a declaration
    of its training data."""

    file: Annotated[
        Path,
        PREDICTIONS_UPLOAD,
        Help(_("Tags"), _("JSON Lines, a JSON list or a table (jsonl, json, csv, tsv, each also gz)")),
    ]
    named_by: NamedBy = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTags(TagSetSummary):
    """A tag set with the balance of its file; `reordered` images had their tags in another order than that of
    the scores. `unchanged`: the same file was read before."""

    reordered: int
    unchanged: bool
    sheet: BalanceSheet = BalanceSheet()


@with_sheet
def import_tags(request: TagsImport, context: OperationContext) -> ImportedTags:
    """Import a file of tags as a set; reading the same file again changes nothing.

    Raises Invalid, UnknownName, InputError, BadSubset, Busy, and FormatError naming line or entry.
    """
    origin = origin_of(request, context, "tags")
    number, lists = 0, []
    for tags_of_image in stream(read_tag_lists, request.file):
        number += len(tags_of_image.tags)
        lists.append(tags_of_image)
    of_image, unknown = by_image(lists, origin.names, request.file, name_spaces(request.named_by))
    stored = images_to_store(origin, of_image, unknown, NAMED_IMAGES, leave_unused=request.leave_unused)
    ranked = {pk: _lower_cased(tags_of_image) for pk, tags_of_image in stored.items()}
    _count_tags(number, stored, ranked)

    def fill(tag_set: TagSet) -> None:
        fill_tag_set(tag_set, ((pk, tags, b"") for pk, tags in ranked.items()))
        origin.note_images(tag_set)

    row, created = get_or_publish(TagSet, request.name, origin.columns, fill)
    origin.link(row, context)
    return ImportedTags(
        **asdict(tag_set_summary(row)),
        reordered=sum(tags_of_image.reordered for tags_of_image in stored.values()),
        unchanged=not created,
    )


def _lower_cased(tags_of_image: TagsOfImage) -> list[list[Any]]:
    best: dict[str, float] = {}
    for tag, score in tags_of_image.tags:
        best.setdefault(tag.lower(), score)
    return [list(pair) for pair in best.items()]


def _count_tags(number: int, stored: dict[int, TagsOfImage], ranked: dict[int, list[list[Any]]]) -> None:
    """Count the tags of a file: `number` in all."""
    tally = current_tally()
    of_stored, taken = sum(len(item.tags) for item in stored.values()), sum(map(len, ranked.values()))
    tally.count(TAGS, number)
    tally.take(TAGS, taken)
    tally.leave(TAGS, OF_LEFT, number - of_stored)
    tally.leave(TAGS, DUPLICATE, of_stored - taken)
