"""The data of a proposer: square pictures, and phrases with the boxes that people accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from models_core.estimators.neural.proposer.network import PhraseBatch
from models_core.extras import LazyExtra

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


#: Boxes as shares of the picture's width and height: left, top, right, bottom, shape (boxes, 4).
ShareBoxes = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainingPhrase:
    """The wordings of one entity in captions, each as its words, and the boxes accepted for it."""

    wordings: tuple[tuple[str, ...], ...]
    boxes: ShareBoxes


@dataclass(frozen=True, slots=True)
class TrainingPicture:
    """A picture scaled to a square of pixels (side, side, 3), and the entities in its captions.

    `image` is its name, for callers that need one.
    """

    colours: NDArray[np.uint8]
    phrases: tuple[TrainingPhrase, ...] = ()
    image: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """The vocabulary of a proposer, numbered from 1; 0 is any other word. Case is ignored."""

    numbers: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, phrases: Iterable[Sequence[str]]) -> Words:
        """Build the vocabulary of these phrases, the most frequent word first."""
        counts = Counter(word.lower() for phrase in phrases for word in phrase)
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls({word: number for number, word in enumerate(ordered, 1)})

    def with_more(self, phrases: Iterable[Sequence[str]]) -> Words:
        """Return the same words with their numbers, plus the new words of `phrases`."""
        new = [word for word in Words.of(phrases).numbers if word not in self.numbers]
        more = {word: len(self.numbers) + index for index, word in enumerate(new, 1)}
        return Words({**self.numbers, **more})

    def batch(self, phrases: Sequence[Sequence[str]], pictures: Sequence[int]) -> PhraseBatch:
        """Return these phrases, each of the picture with that index, as a batch. Raises ValueError for one
        without words."""
        words: list[int] = []
        begins, last = [], []
        for phrase in phrases:
            if not phrase:
                raise ValueError("a phrase has no words; expected one word or more in each")
            begins.append(len(words))
            words += [self.numbers.get(word.lower(), 0) for word in phrase]
            last.append(words[-1])
        return PhraseBatch(
            *(torch.tensor(values, dtype=torch.long) for values in (words, begins, last, pictures))
        )


def pictures_tensor(colours: Sequence[NDArray[np.uint8]]) -> Any:
    """Return pixels as the network's input, (pictures, 3, side, side) from -0.5 to 0.5."""
    return torch.from_numpy(np.stack(colours)).permute(0, 3, 1, 2).float() / 255 - 0.5


def mirrored(boxes: ShareBoxes) -> ShareBoxes:
    """Return the boxes (n, 4) in the mirrored picture."""
    return np.stack([1 - boxes[:, 2], boxes[:, 1], 1 - boxes[:, 0], boxes[:, 3]], 1)


def smaller(colours: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Return a square picture with a side of at most `side` pixels."""
    if colours.shape[0] <= side:
        return colours
    return np.asarray(cv2.resize(colours, (side, side), interpolation=cv2.INTER_AREA), np.uint8)
