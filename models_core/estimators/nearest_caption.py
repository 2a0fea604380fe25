"""Captions copied from the most similar training image: the baseline of systems that write captions.

Images are compared by the Euclidean distance of their vectors; of equally near ones the first is used.

Source: Karpathy and Fei-Fei 2015, section 4.2 and Table 2 ("Nearest Neighbor").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_NUMBERS,
    IMAGE_VIEW,
    TRAINING_IMAGES,
    Amounts,
    Dataset,
    FitContext,
    State,
    WordNumbers,
    add_method,
    checked_numbers,
)
from models_core.estimators.predictors import WritingSettings, WrittenSentence

#: Number of images whose distances are in memory at a time.
_TOGETHER = 512


@dataclass(frozen=True, slots=True)
class NearestCaptionSettings(CheckedRecord):
    """Settings of nearest captions. Raises BadField."""

    caption: Annotated[
        int, Field(ge=0, description="Which caption of the similar image, counted from 0; the last at most")
    ] = 0


class NearestCaption:
    """Learned are `vectors_`, shape (images, numbers), and `sentences_`, the word numbers of each."""

    vectors_: NDArray[Any]
    sentences_: list[tuple[int, ...]]

    def __init__(self, settings: NearestCaptionSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> NearestCaption:
        """Store the training images; nothing is chosen. Raises ValueError for numbers that are not finite."""
        vectors, words = train.images, train.captions
        assert isinstance(vectors, np.ndarray) and isinstance(words, WordNumbers)
        checked_numbers(vectors, "images")
        context.progress("remembering captions", 0, 1)
        self.vectors_, self.sentences_ = vectors, []
        for image in range(len(vectors)):
            captions_of_image = np.flatnonzero(train.image_of == image)
            index = captions_of_image[min(self.settings.caption, len(captions_of_image) - 1)]
            self.sentences_.append(tuple(words.item(int(index)).tolist()))
        return self

    def write(self, data: Dataset, how: WritingSettings) -> list[WrittenSentence]:
        """Return the caption of the nearest training image; `how` is ignored."""
        images = np.asarray(data.images)
        sentences: list[WrittenSentence] = []
        for start in range(0, len(images), _TOGETHER):
            nearest = self._nearest(images[start : start + _TOGETHER])
            sentences += [WrittenSentence(self.sentences_[index]) for index in nearest]
        return sentences

    def _nearest(self, images: NDArray[Any]) -> NDArray[np.intp]:
        vectors = np.asarray(self.vectors_, np.float64)
        # |a - b|^2 minus |a|^2, which is the same for all b.
        distances = np.einsum("ij,ij->i", vectors, vectors) - 2 * np.asarray(images, np.float64) @ vectors.T
        return np.asarray(distances.argmin(axis=1))

    def state(self) -> State:
        """Return vectors and sentences."""
        return {"vectors": np.asarray(self.vectors_)}, {
            "sentences": [list(sentence) for sentence in self.sentences_]
        }

    @classmethod
    def from_state(cls, settings: NearestCaptionSettings, state: State) -> NearestCaption:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.vectors_ = state[0]["vectors"]
        restored.sentences_ = [tuple(sentence) for sentence in state[1]["sentences"]]
        return restored


def caption_memory(settings: NearestCaptionSettings, amounts: Amounts) -> float:
    """Return the size of the images in double precision."""
    return 8.0 * amounts[TRAINING_IMAGES] * amounts[IMAGE_NUMBERS]


add_method(
    name="nearest-caption",
    title="Caption of the most similar image",
    settings=NearestCaptionSettings,
    make=NearestCaption,
    load=NearestCaption.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "words"},
    source="Karpathy and Fei-Fei 2015, section 4.2",
    phases=(("remembering captions", 1),),
    selects=False,
    memory=caption_memory,
    recipes={"NN-caption": {"text": {"least_count": 1}, "printed": "Nearest Neighbor"}},
    predicts="captions",
)
