"""Request fields for adding outside data: arrays, their ids, and what it was trained on."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import FileUpload, Help, OperationContext
from annotation.common.roles import RESEARCHER
from annotation.selectors.corpora import CORPORA
from evaluation.comparison.provenance import Declaration
from evaluation.formats.unpacked import bytes_inside
from phrasebox.formats.scores import note_ids_file

#: An uploaded file of arrays, with the number of bytes that it may hold.
ARRAYS_UPLOAD = FileUpload(2**30, bytes_inside)
#: Files of ids, which are read together with the arrays.
IdsBeside = Annotated[
    tuple[Annotated[Path, FileUpload()], ...],
    Help(
        _("Ids"),
        _("Of the rows, if a file has none: NAME.ids.txt; of scores NAME.images.txt and NAME.captions.txt"),
    ),
]
#: What a model was trained on, as the account that adds it declares.
TrainedOn = Annotated[
    str,
    Field(max_length=500),
    Help(
        _("Trained on"),
        _("In your words; CORPUS:SPLIT of a corpus here counts its images, “nothing” says none"),
    ),
]


def declared_training(trained_on: str, context: OperationContext) -> Declaration:
    """Return the declaration; it may name the corpora that the account may see."""
    if context.actor is None:
        return Declaration(trained_on)
    return Declaration(trained_on, CORPORA.rows(context.actor, RESEARCHER).values_list("name", flat=True))


def count_ids_files(files: Iterable[Path]) -> None:
    """Count files of ids for the balance sheet: readers count those that they read as taken."""
    for file in files:
        note_ids_file(file)
