"""An origin of systems: its title, what is stored of such a system, and how it ranks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.models import System
from evaluation.selectors import CorpusNames
from evaluation.services.systems.sources import Sources
from models_core.phase_cache import PhaseProgress
from models_core.systems.caption_reading import ImageExample
from phrasebox.formats.scores import ScoreMatrix
from phrasebox.metrics.protocols import select
from phrasebox.registry import Registry


@dataclass(frozen=True, slots=True)
class RankRequest:
    """A request to rank the images `split` of `corpus`, with the captions that `protocol` includes. An empty
    `split` means all images that can be used.

    `sources` replace those that the system remembers; `seed` is that of folds.
    """

    system: System
    corpus: str
    split: str
    protocol: str
    sources: Sources | None
    seed: int
    progress: PhaseProgress


#: Both directions, one after the other, each with its scores; both may share one matrix object.
Matrices = Iterator[tuple[str, ScoreMatrix]]


@dataclass(frozen=True, slots=True)
class Origin:
    """An origin. `title` and `explained` are translated. `stored` is the kind of model stored for such a
    system, "" for none; `matrices` computes the rankings, None if such systems cannot rank."""

    key: str
    title: Any
    explained: Any
    stored: str = ""
    matrices: Callable[[RankRequest], Matrices] | None = None

    @property
    def ranks(self) -> bool:
        """Whether such a system can rank."""
        return self.matrices is not None


ORIGINS: Registry[Origin] = Registry("origin")


def of_stored(kind: str) -> Origin | None:
    """Return the origin whose systems are stored as models of `kind`, or None."""
    return next((origin for origin in ORIGINS if kind and origin.stored == kind), None)


def captions_taking_part(
    protocol: str, images: Sequence[ImageExample], names: CorpusNames
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return the captions of `images` that the protocol includes: their positions among all of them in order,
    and their names."""
    names_of_image: dict[int, list[str]] = {}
    for caption, image in names.owner.items():
        names_of_image.setdefault(image, []).append(names.caption_name[caption])
    called = [names_of_image[names.image[example.name]] for example in images]
    owner = np.repeat(np.arange(len(images)), [len(captions) for captions in called])
    chosen = select(protocol, owner, images=[example.name for example in images]).captions
    every = [name for captions in called for name in captions]
    return chosen, tuple(every[index] for index in chosen)
