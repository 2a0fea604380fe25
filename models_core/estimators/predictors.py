"""The interfaces of methods that write captions, tag images or localize phrases: settings for writing,
candidate tags, and the choice of training pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import Dataset, FitContext, Matrix, RaggedRows, State, View
from models_core.features.text.phrases import PhraseRows
from phrasebox.scoring.tiles import Scores

#: What tags are ranked by: the method's own score (for a bilinear map, equation 1 of structured listwise
#: tagging), s1 or s2 of its equation 10, or the mean of both.
TagScore = Literal["own", "s1", "s2", "mean"]


@dataclass(frozen=True, slots=True)
class CandidateTags:
    """Tags by name. Each has its number among the trained tags, or -1, and its vector, shape (tags, numbers),
    if the system has word vectors."""

    names: Sequence[str]
    numbers: NDArray[np.intp]
    vectors: NDArray[np.floating] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def spread(self, known: NDArray[Any], unseen: float) -> Matrix:
        """Return scores of the trained tags, shape (images, trained tags), as scores of these tags, with
        `unseen` for tags that were not trained."""
        spread = np.full((len(known), len(self)), unseen)
        there = self.numbers >= 0
        spread[:, there] = known[:, self.numbers[there]]
        return spread


class ImageTagger(Protocol):
    """A method that scores tags for images. Learned attributes end in an underscore."""

    #: The scores by which it can rank tags.
    scores: ClassVar[tuple[TagScore, ...]]

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Train on `train`, whose captions are `TagNumbers`; settings are chosen on `validation`."""

    def score_tags(self, images: View, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """Return how well each tag fits each image, shape (images, tags): higher is better."""

    def state(self) -> State:
        """Return the learned state; `Method.load` restores it bitwise."""


def check_score(by: str, known: Sequence[str], name: str) -> None:
    """Raise ValueError unless the tagger of this name can rank tags `by` this score."""
    if by not in known:
        raise ValueError(f"{name} does not rank tags by {by!r}; it ranks by: {', '.join(known)}")


#: The most probable sentence that a search finds, or a sampled one.
ChoiceOfWords = Literal["search", "draw"]


@dataclass(frozen=True, slots=True)
class WritingSettings(CheckedRecord):
    """How sentences are found. Source: Karpathy and Fei-Fei 2015, section 3.2. Raises BadField."""

    words: Annotated[
        ChoiceOfWords, Field(description="The most probable sentence found (search), or one drawn (draw)")
    ] = "search"
    beam: Annotated[
        int, Field(ge=1, le=1000, description="How many beginnings the search keeps; 1 is greedy")
    ] = 7
    limit: Annotated[int, Field(ge=1, le=200, description="Words of a sentence, at most")] = 20
    temperature: Annotated[
        float, Field(gt=0, description="Of drawn words; below 1, probable ones are preferred")
    ] = 1.0
    seed: Annotated[int, Field(ge=0, description="Of what is drawn")] = 0


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """The numbers of a sentence's words, and its log-probability; 0 if the method has none."""

    words: tuple[int, ...]
    log_probability: float = 0.0


class Captioner(Protocol):
    """A method that writes a sentence for each image. Learned attributes end in an underscore."""

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Train on `train`; settings are chosen on `validation`."""

    def write(self, data: Dataset, how: WritingSettings) -> list[WrittenSentence]:
        """Return a sentence for each image of `data`, whose captions are ignored."""

    def state(self) -> State:
        """Return the learned state; `Method.load` restores it bitwise."""


class Localizer(Protocol):
    """A method that scores the regions of an image for each phrase. Learned attributes end in an underscore.

    `data.images` are images as RaggedRows of their regions, `data.captions` are phrases as PhraseRows, and
    `data.image_of` is the image of each. For training, an item of `images` is one region.
    """

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Train on `train`; settings are chosen on `validation`."""

    def localize(self, data: Dataset) -> RaggedRows:
        """Return scores of the regions of each phrase's image, in their order; higher is better."""

    def detect(self, data: Dataset) -> Scores:
        """Return scores of every region of all images for each phrase; rows are phrases, columns regions."""

    def state(self) -> State:
        """Return the learned state; `Method.load` restores it bitwise."""


def resampled(phrase_of: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows of at most `most` exemplars of each phrase, drawn without replacement, ascending; all
    rows if `most` is 0.

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
    """Return regions, phrases, and the region of each phrase; raises ValueError if there are none."""
    if pairs is None:
        raise ValueError("the method learns from regions with phrases too; give regions and a layer")
    regions, phrases = pairs.images, pairs.captions
    if not isinstance(regions, RaggedRows) or not isinstance(phrases, PhraseRows):
        raise ValueError("pairs to learn from are regions and phrases; describe them by a system's sides")
    return regions, phrases, pairs.image_of
