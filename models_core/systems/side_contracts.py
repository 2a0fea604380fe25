"""The interfaces of the two sides of a system, which describe captions and images.

A side is learned from the training items, describes them and new ones, and is stored with the system.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import View
from models_core.phase_cache import PhaseCache
from models_core.systems.caption_reading import CaptionWords
from models_core.systems.dataset import Features
from phrasebox.device import CPU
from phrasebox.kernels.idf import Document

Arrays = Mapping[str, NDArray[Any]]
#: The index of each item's owner: for captions, the row of their image.
Owners = NDArray[np.intp]


@dataclass(frozen=True)
class DescribedSide:
    """The described training items and, if there are any, held-out ones; `owners` are the images of the
    training items' rows."""

    training: View
    new: View | None
    owners: Owners


class TextSide(Protocol):
    """The side that describes captions."""

    def digest_parts(self) -> Mapping[str, Any]:
        """What a phase's facts say of what this side learned; fits JSON."""

    def describe_training(
        self, queries: Sequence[Document] | None, store: PhaseCache, provenance: Mapping[str, Any]
    ) -> DescribedSide:
        """Return the training captions, and held-out `queries`; costly kernels are cached in `store`."""

    def describe(self, captions: Sequence[Document]) -> View:
        """Return new captions, a row each."""

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the learned state."""


class ImageSide(Protocol):
    """The side that describes images; `training` are its training images, if it stores them."""

    @property
    def training(self) -> Features | None:
        """The training images; None for a stored side that does not need them."""

    def describe_training(
        self, held_out: Features | None, store: PhaseCache, provenance: Mapping[str, Any], device: str = CPU
    ) -> DescribedSide:
        """Return the training images, and held-out ones; kernels are computed on `device` and cached in
        `store`."""

    def describe(self, images: Features) -> View:
        """Return new images, a row each."""

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the learned state."""


def training_texts(words: Sequence[CaptionWords], captions: int) -> tuple[list[Document], Owners]:
    """Return the first `captions` of each image, a text for each, and the image of each."""
    texts: list[Document] = [
        [[w.lemma for w in caption]] for image_captions in words for caption in image_captions[:captions]
    ]
    return texts, np.repeat(
        np.arange(len(words)), [len(image_captions[:captions]) for image_captions in words]
    )


@dataclass(frozen=True, slots=True)
class SideKind:
    """How a side is learned and loaded."""

    learn: Callable[..., Any]
    load: Callable[[Any, Arrays, Mapping[str, Any]], Any]
