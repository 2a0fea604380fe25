"""Embeddings that were computed elsewhere: vectors of images and captions in one space are compared as they
are.

Nothing is learned, so new items only need vectors of the same space (zero-shot ranking). For an image x and a
caption y the score is their cosine, their inner product x y', or -|x - y|^2 / 2.

Source: Radford et al. 2021, section 3.1.2 (from memory), for zero-shot ranking by cosines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import (
    CAPTION_NUMBERS,
    CAPTION_VIEW,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_CAPTIONS,
    TRAINING_IMAGES,
    Amounts,
    Dataset,
    FitContext,
    RankDirection,
    State,
    View,
    add_method,
)
from phrasebox.scoring.similarities import VectorSimilarity, similarity_scores
from phrasebox.scoring.tiles import Scores

#: The only phase of a fit.
_CHECKING = "checking vectors"
#: Number of rows that are checked at a time.
_ROWS = 8192


@dataclass(frozen=True, slots=True)
class UploadedSettings(CheckedRecord):
    """How given vectors are compared."""

    similarity: Annotated[VectorSimilarity, Field(description="What compares an image with a caption")] = (
        "cosine"
    )


class UploadedEmbeddings:
    """A method that compares given vectors of both sides; it learns only `dimensions_`, their width."""

    dimensions_: int

    def __init__(self, settings: UploadedSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> UploadedEmbeddings:
        """Check that both sides have the same width. Raises ValueError for different widths, and for a number
        that is not finite."""
        context.progress(_CHECKING, 0, 1)
        width, another = train.images.shape[1], train.captions.shape[1]
        if width != another:
            raise ValueError(
                f"images have vectors of {width} numbers, captions of {another}; expected those of one space"
            )
        for name, view in ((IMAGE_VIEW, train.images), (CAPTION_VIEW, train.captions)):
            _check_finite_rows(view, name)
        context.progress(_CHECKING, 1, 1)
        self.dimensions_ = width
        return self

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return cosines, inner products or half of the negative squared distances; rows are queries."""
        result = similarity_scores(
            np.asarray(data.images), np.asarray(data.captions), self.settings.similarity
        )
        return result if direction == "annotation" else result.turned()

    def state(self) -> State:
        """Return the width."""
        return {}, {"dimensions": self.dimensions_}

    @classmethod
    def from_state(cls, settings: UploadedSettings, state: State) -> UploadedEmbeddings:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.dimensions_ = int(state[1]["dimensions"])
        return restored


def _check_finite_rows(view: View, name: str) -> None:
    rows: Any = np.asarray(view)
    for start in range(0, len(rows), _ROWS):
        invalid = np.argwhere(~np.isfinite(rows[start : start + _ROWS]))
        if len(invalid):
            row, column = (int(index) for index in invalid[0])
            raise ValueError(
                f"row {start + row} of {name} is not finite in column {column}; every number must be finite"
            )


def vectors_memory(settings: UploadedSettings, amounts: Amounts) -> float:
    """Return the bytes for checking that all numbers of a block of rows are finite."""
    images = min(_ROWS, amounts[TRAINING_IMAGES]) * amounts[IMAGE_NUMBERS]
    return 2.0 * max(images, min(_ROWS, amounts[TRAINING_CAPTIONS]) * amounts[CAPTION_NUMBERS])


add_method(
    name="uploaded",
    title="given embeddings",
    settings=UploadedSettings,
    make=UploadedEmbeddings,
    load=UploadedEmbeddings.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "given"},
    source="Radford et al. 2021, section 3.1.2",
    phases=((_CHECKING, 1),),
    selects=False,
    memory=vectors_memory,
    recipes={
        "Embeddings": {"settings": {"similarity": "cosine"}, "printed": "cosine"},
        "Embeddings-dot": {"settings": {"similarity": "dot"}, "printed": "inner product"},
        "Embeddings-distance": {"settings": {"similarity": "euclidean"}, "printed": "Euclidean distance"},
    },
)
