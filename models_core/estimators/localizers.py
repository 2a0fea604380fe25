"""What every method that localizes phrases is to the rest, and which training pairs it keeps."""

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import Dataset, FitContext, RaggedRows, State
from models_core.features.text.phrases import PhraseRows
from phrasebox.scoring.tiles import Scores


class Localizer(Protocol):
    """What scores the regions of an image for each phrase. Learned attributes end in an underscore.

    `data.images` are images as RaggedRows of their regions, `data.captions` phrases as PhraseRows, and
    `data.image_of` the image of each. To learn from, an item of `images` is one region.
    """

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Learn from `train`; settings are chosen on `validation`."""

    def localize(self, data: Dataset) -> RaggedRows:
        """Scores of the regions of each phrase's image, in their order; larger is better."""

    def detect(self, data: Dataset) -> Scores:
        """Scores of every region of all images for each phrase; rows are phrases, columns regions."""

    def state(self) -> State:
        """What was learned; `Method.load` takes it back, to the bit."""


def resampled(phrase_of: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows of at most `most` exemplars of each phrase, drawn without replacement; ascending. 0: all rows.

    Source: Plummer et al. 2015, section 3.2 (N-resampling) and Table 4.
    """
    if most == 0:
        return np.arange(len(phrase_of))
    shuffled = rng.permutation(len(phrase_of))
    ordered = shuffled[np.argsort(phrase_of[shuffled], kind="stable")]
    ordered_phrases = phrase_of[ordered]
    rank = np.arange(len(ordered_phrases)) - np.searchsorted(ordered_phrases, ordered_phrases, side="left")
    return np.sort(ordered[rank < most])


def region_phrase_views(pairs: Dataset | None) -> tuple[RaggedRows, PhraseRows, NDArray[np.intp]]:
    """Regions, phrases, and the region of each phrase; raises ValueError where there are none."""
    if pairs is None:
        raise ValueError("the method learns from regions with phrases too; give regions and a layer")
    regions, phrases = pairs.images, pairs.captions
    if not isinstance(regions, RaggedRows) or not isinstance(phrases, PhraseRows):
        raise ValueError("pairs to learn from are regions and phrases; describe them by a system's sides")
    return regions, phrases, pairs.image_of
