"""What whoever brings something from elsewhere sends: arrays, and what it was trained on."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FileUpload, Help, OperationContext
from annotation.common.roles import RESEARCHER
from annotation.selectors.stored_kinds import CORPORA
from evaluation.comparison.provenance import Declaration
from evaluation.formats.unpacked import bytes_inside

#: A file of arrays, and the bytes that it may hold where it is sent.
ARRAYS_SENT = FileUpload(2**30, bytes_inside)
#: The words of a field that holds files of ids.
IDS_BESIDE = Help(
    _("Ids"),
    _("Of rows, where a file has none: files of its name that end in .ids.txt; a command finds them itself"),
)
#: The words of a field that says what something learned from.
DECLARED_TRAINING = Help(
    _("Trained on"),
    _("In your words, or CORPUS:SPLIT of a corpus here, whose images are then counted; “nothing” if so"),
)


def declared_training(trained_on: str, context: OperationContext) -> Declaration:
    """What is declared; it may name the corpora that whoever asks may see."""
    if context.actor is None:
        return Declaration(trained_on)
    return Declaration(trained_on, CORPORA.rows(context.actor, RESEARCHER).values_list("name", flat=True))
