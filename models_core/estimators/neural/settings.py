"""Settings of the neural methods, and the recipes of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.grids import GRID_STEPS, GridSteps

#: The phases of training in progress reports: short trials, then the long run; and their shares of the time.
TRYING, LEARNING = "trying rates", "learning"
PHASES = ((TRYING, 1.0), (LEARNING, 2.0))
#: How words and regions give the score of a sentence with an image: eq. 8, or eq. 7 with multiple instances.
Objective = Literal["best-region", "fragments"]


@dataclass(frozen=True, slots=True)
class AlignmentSettings(CheckedRecord):
    """Settings of the alignment of regions and words; of several rates and decays the best pair is chosen on
    held-out images. Source: Karpathy and Fei-Fei 2015, sections 3.1 and 3.3."""

    objective: Annotated[
        Objective,
        Field(
            description="What scores a sentence: each word's best region (eq. 8), or all fragments (eq. 7)"
        ),
    ] = "best-region"
    size: Annotated[int, Field(ge=1, description="Numbers of a region, of a word, of a hidden layer (h)")] = (
        300
    )
    word_size: Annotated[
        int, Field(ge=1, description="Numbers of a word's vector, where no word vectors are given")
    ] = 300
    learn_words: Annotated[bool, Field(description="Whether word vectors that are given are learned on")] = (
        False
    )
    rates: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Learning rates that are tried"),
    ] = (2e-5, 5e-5, 1e-4)
    grid_steps: GridSteps = GRID_STEPS
    decays: Annotated[
        tuple[Annotated[float, Field(ge=0)], ...],
        Field(strict=False, min_length=1, description="Weight decays that are tried"),
    ] = (0.0,)
    momentum: Annotated[float, Field(ge=0, lt=1, description="Momentum of the gradient steps")] = 0.9
    dropout: Annotated[
        float, Field(ge=0, lt=1, description="Share of numbers left out outside of the recurrent layer")
    ] = 0.2
    clip: Annotated[float, Field(gt=0, description="Gradients are clipped to this, number by number")] = 5.0
    batch: Annotated[int, Field(ge=2, description="Pairs of a batch")] = 100
    epochs: Annotated[int, Field(ge=1, description="Passes over the training pairs")] = 20
    trial_epochs: Annotated[int, Field(ge=1, description="Passes before settings are compared")] = 3
    members: Annotated[
        int, Field(ge=1, description="How many models, the best ones on held-out images, are kept")
    ] = 5
    multiple_instances: Annotated[
        float, Field(ge=0, description="Weight of the multiple-instance term beside eq. 7")
    ] = 1.0


#: The alignments of words in Table 1.
ALIGNMENTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "BRNN": {"printed": "Our model: BRNN"},
    }
)
#: The alignments of dependency edges.
EDGE_ALIGNMENTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "DepTree": {"printed": "Our model: DepTree edges"},
        "DeFrag": {"settings": {"objective": "fragments"}, "printed": "Our implementation of DeFrag"},
    }
)


#: The held-out figure in learning curves of captioners; lower is better.
PERPLEXITY = "perplexity"


@dataclass(frozen=True, slots=True)
class CaptionerSettings(CheckedRecord):
    """Settings of the network that writes captions; of several rates and decays the best pair is chosen on
    held-out captions. Source: Karpathy and Fei-Fei 2015, sections 3.2 and 3.3."""

    size: Annotated[int, Field(ge=1, description="Numbers of the hidden layer")] = 512
    word_size: Annotated[
        int, Field(ge=1, description="Numbers of a word's vector, where no word vectors are given")
    ] = 300
    learn_words: Annotated[bool, Field(description="Whether word vectors that are given are learned on")] = (
        True
    )
    rectified: Annotated[
        bool, Field(description="Whether image and words go through max(0, x) on their way in")
    ] = False
    rates: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Learning rates that are tried"),
    ] = (3e-4, 1e-3)
    grid_steps: GridSteps = GRID_STEPS
    decays: Annotated[
        tuple[Annotated[float, Field(ge=0)], ...],
        Field(strict=False, min_length=1, description="Weight decays that are tried"),
    ] = (0.0,)
    smoothing: Annotated[
        float, Field(ge=0, lt=1, description="Share of the old in the running mean of squared gradients")
    ] = 0.99
    dropout: Annotated[
        float, Field(ge=0, lt=1, description="Share of numbers left out outside of the recurrent layer")
    ] = 0.5
    clip: Annotated[float, Field(gt=0, description="Gradients are clipped to this, number by number")] = 5.0
    batch: Annotated[int, Field(ge=1, description="Captions of a batch")] = 100
    epochs: Annotated[int, Field(ge=1, description="Passes over the training captions")] = 20
    trial_epochs: Annotated[int, Field(ge=1, description="Passes before settings are compared")] = 3

    @property
    def members(self) -> int:
        """The number of models kept: one."""
        return 1


#: The captioners of Tables 2 and 3.
CAPTIONERS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"mRNN": {"printed": "Our model"}})
REGION_CAPTIONERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"mRNN-regions": {"text": {"captions": 1000}, "printed": "RNN: Region level model"}}
)
