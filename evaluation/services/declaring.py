"""What whoever adds something made elsewhere declares that it was trained on."""

from __future__ import annotations

from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OperationContext
from annotation.common.roles import RESEARCHER
from annotation.selectors.stored_kinds import CORPORA
from evaluation.comparison.provenance import Declaration

TrainedOnField = Annotated[
    str,
    Field(max_length=500),
    Help(
        _("What it was trained on"),
        _(
            "In your words, or CORPUS:SPLIT of a corpus here: then its images are counted in every figure. "
            "“nothing” for what learns from none"
        ),
    ),
]


def declaration(trained_on: str, context: OperationContext) -> Declaration:
    """What is declared; it may name the corpora that whoever declares it may see."""
    if context.actor is None:
        return Declaration(trained_on)
    return Declaration(trained_on, list(CORPORA.names(context.actor, [RESEARCHER])))
