"""What every method that writes captions is to the rest, and how it is told to write."""

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, Self

from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import Dataset, FitContext, State

#: The most probable sentence that a search finds, or one that is drawn.
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
    """The numbers of its words, and the logarithm of its probability; 0 where a method has none."""

    words: tuple[int, ...]
    log_probability: float = 0.0


class Captioner(Protocol):
    """What writes a sentence for each image. Learned attributes end in an underscore."""

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> Self:
        """Learn from `train`; settings are chosen on `validation`."""

    def write(self, data: Dataset, how: WritingSettings) -> list[WrittenSentence]:
        """A sentence for each image of `data`, whose captions are not looked at."""

    def state(self) -> State:
        """What was learned; `Method.load` takes it back, to the bit."""
