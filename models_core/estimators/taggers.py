"""What every method that tags images is to the rest, and among which tags it is asked to choose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import Dataset, FitContext, Matrix, State, View

#: What tags are ranked by: the method's own score (of a bilinear map: equation 1 of structured listwise
#: tagging), or s1 and s2 of its equation 10, or the mean of both.
TagScore = Literal["own", "s1", "s2", "mean"]


@dataclass(frozen=True, slots=True)
class CandidateTags:
    """Tags by name, each with its number among those learned from, -1 where it is none of them, and its
    vector, shape (tags, numbers), where the system has word vectors."""

    names: Sequence[str]
    numbers: NDArray[np.intp]
    vectors: NDArray[np.floating] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def spread(self, known: NDArray[Any], unseen: float) -> Matrix:
        """Scores of the tags learned from, shape (images, tags learned from), as scores of these; `unseen`
        for tags that are none of them."""
        spread = np.full((len(known), len(self)), unseen)
        there = self.numbers >= 0
        spread[:, there] = known[:, self.numbers[there]]
        return spread


class ImageTagger(Protocol):
    """What scores tags for images. Learned attributes end in an underscore."""

    #: By what it can rank tags.
    scores: ClassVar[tuple[TagScore, ...]]

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Learn from `train`, whose captions are `TagNumbers`; settings are chosen on `validation`."""

    def score_tags(self, images: View, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """How well each tag fits each image, shape (images, tags): higher is better."""

    def state(self) -> State:
        """What was learned; `Method.load` takes it back, to the bit."""


def check_score(by: str, known: Sequence[str], name: str) -> None:
    """Raise ValueError unless a tagger of this name ranks tags `by` this score."""
    if by not in known:
        raise ValueError(f"{name} does not rank tags by {by!r}; it ranks by: {', '.join(known)}")
