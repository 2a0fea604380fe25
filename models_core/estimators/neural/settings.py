"""Settings of the neural methods, and the recipes of their papers."""

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
#: Which wrong items of a batch a hinge loss counts.
Negatives = Literal["hardest", "all"]


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


@dataclass(frozen=True, slots=True)
class EmbedderSettings(CheckedRecord):
    """Settings of the heads that embed vectors of images and captions in one space; of several rates and
    decays the best pair is chosen on held-out images."""

    size: Annotated[int, Field(ge=1, description="Numbers of an embedding")] = 256
    hidden: Annotated[
        int, Field(ge=0, description="Numbers of the hidden layer of each head; 0: the heads are linear")
    ] = 0
    rates: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Learning rates that are tried"),
    ] = (3e-4, 1e-3, 3e-3)
    grid_steps: GridSteps = GRID_STEPS
    decays: Annotated[
        tuple[Annotated[float, Field(ge=0)], ...],
        Field(strict=False, min_length=1, description="Weight decays that are tried"),
    ] = (1e-2,)
    dropout: Annotated[
        float, Field(ge=0, lt=1, description="Share of the numbers of a vector and a hidden layer left out")
    ] = 0.2
    clip: Annotated[float, Field(gt=0, description="Gradients are clipped to this, number by number")] = 5.0
    batch: Annotated[int, Field(ge=2, description="Pairs of a batch")] = 128
    epochs: Annotated[int, Field(ge=1, description="Passes over the training pairs")] = 20
    trial_epochs: Annotated[int, Field(ge=1, description="Passes before settings are compared")] = 3

    @property
    def members(self) -> int:
        """The number of stored models: one."""
        return 1


@dataclass(frozen=True, slots=True)
class MarginSettings(EmbedderSettings):
    """Settings of the hinge losses. Source: Faghri et al. 2018, sections 3.1 and 4 (a margin of 0.2)."""

    negatives: Annotated[
        Negatives,
        Field(description="Wrong items that count: the hardest of a batch, or all of them (eq. 9)"),
    ] = "hardest"
    margin: Annotated[
        float, Field(gt=0, description="By how much a right pair should score above a wrong one")
    ] = 0.2


@dataclass(frozen=True, slots=True)
class ContrastiveSettings(EmbedderSettings):
    """Settings of InfoNCE. Source: Radford et al. 2021, sections 2.3 and 2.4 (it begins with 0.07)."""

    temperature: Annotated[
        float, Field(gt=0, description="What cosines are divided by at first; it is learned")
    ] = 0.07


#: The hinge losses of Table 1: with the hardest negatives, and with all.
MARGIN_EMBEDDERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "VSE++": {"printed": "VSE++"},
        "VSE0": {"settings": {"negatives": "all"}, "printed": "VSE0"},
    }
)
CONTRASTIVE_EMBEDDERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"InfoNCE": {"printed": "CLIP's objective"}}
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
        """The number of stored models: one."""
        return 1


#: The captioners of Tables 2 and 3.
CAPTIONERS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"mRNN": {"printed": "Our model"}})
REGION_CAPTIONERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"mRNN-regions": {"text": {"captions": 1000}, "printed": "RNN: Region level model"}}
)
