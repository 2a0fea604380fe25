"""Captions that a system wrote elsewhere, read from a file as a caption set."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import LEAVE_UNUSED, Help, OperationContext, with_sheet
from annotation.common.readers import stream
from evaluation.models import CaptionSet, WrittenCaption
from evaluation.services.captions.sets import CaptionSetSummary, caption_set_summary, write_caption_rows
from evaluation.services.imported_sets import (
    PREDICTIONS_UPLOAD,
    SetImport,
    by_image,
    images_to_store,
    origin_of,
)
from evaluation.services.request_fields import NamedBy, name_spaces
from evaluation.services.stored import get_or_publish
from phrasebox.balance import CAPTIONS, BalanceSheet
from phrasebox.formats.candidate_captions import read_candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsImport(SetImport):
    """Captions made elsewhere, one for each image: COCO's results, JSON lines {"image": NAME, "caption":
    TEXT}, or a table with the columns image and caption; log_probability where it is known. All of them are
    stored, or none. Without a system, one with the set's name is created, with a declaration of its training
    data."""

    file: Annotated[
        Path,
        PREDICTIONS_UPLOAD,
        Help(_("Captions"), _("COCO’s results, JSON Lines or a table (json, jsonl, csv, tsv, each also gz)")),
    ]
    named_by: NamedBy = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCaptions(CaptionSetSummary):
    """A caption set with the balance of its file. `unchanged`: the same file was read before."""

    unchanged: bool
    sheet: BalanceSheet = BalanceSheet()


@with_sheet
def import_captions(request: CaptionsImport, context: OperationContext) -> ImportedCaptions:
    """Import a file of captions as a set; reading the same file again changes nothing.

    Raises Invalid, UnknownName, InputError, BadSubset, Busy, and FormatError naming line or entry.
    """
    origin = origin_of(request, context, "captions")
    candidates = stream(read_candidates, request.file)
    of_image, unknown = by_image(candidates, origin.names, request.file, name_spaces(request.named_by))
    stored = images_to_store(origin, of_image, unknown, CAPTIONS, leave_unused=request.leave_unused)

    def fill(caption_set: CaptionSet) -> None:
        rows = (
            WrittenCaption(
                image_id=pk, text=candidate.caption, log_probability=candidate.log_probability or 0.0
            )
            for pk, candidate in stored.items()
        )
        write_caption_rows(caption_set, rows)
        origin.note_images(caption_set)

    row, created = get_or_publish(CaptionSet, request.name, origin.columns, fill)
    origin.link(row, context)
    return ImportedCaptions(**asdict(caption_set_summary(row)), unchanged=not created)
