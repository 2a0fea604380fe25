"""Settings of the methods that tag images."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.grids import GRID_STEPS, GridSteps
from models_core.estimators.tagging.losses import LossName


@dataclass(frozen=True, slots=True)
class BilinearSettings(CheckedRecord):
    """Settings of the bilinear map. Printed: rate 0.0001, 10 epochs, the last one kept. Raises BadField."""

    loss: Annotated[
        LossName, Field(description="SJE with Delta I or II (eq. 3), or the listwise loss (eq. 6)")
    ] = "listwise"
    top: Annotated[int, Field(ge=1, description="K_top of the listwise loss")] = 5
    rates: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Learning rates of Adam that are tried"),
    ] = (0.0001, 0.001, 0.01)
    grid_steps: GridSteps = GRID_STEPS
    epochs: Annotated[int, Field(ge=1, description="Passes over the training images with each rate")] = 40
    choose_epoch: Annotated[
        bool, Field(description="Whether the epoch that is best on held-out images is kept, else the last")
    ] = True
    batch: Annotated[int, Field(ge=1, description="Images of a step")] = 16


@dataclass(frozen=True, slots=True)
class FrequencySettings:
    """The frequency of tags has nothing to choose. Raises BadField."""


@dataclass(frozen=True, slots=True)
class RandomSettings:
    """A random order of tags has nothing to choose. Raises BadField."""


@dataclass(frozen=True, slots=True)
class NeighbourSettings(CheckedRecord):
    """Settings of the votes of similar images. Raises BadField."""

    neighbours: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(strict=False, min_length=1, description="How many similar images vote; several are tried"),
    ] = (5, 10, 20, 50, 100)
    decays: Annotated[
        tuple[Annotated[float, Field(ge=0)], ...],
        Field(
            strict=False,
            min_length=1,
            description="How fast a vote loses weight with distance; 0: not at all; several are tried",
        ),
    ] = (0.0, 2.0, 8.0)
    grid_steps: GridSteps = GRID_STEPS


@dataclass(frozen=True, slots=True)
class TagSVMSettings(CheckedRecord):
    """Settings of a linear support vector machine for each tag. Raises BadField."""

    costs: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="What a wrong side costs (C); several are tried"),
    ] = (0.1, 1.0, 10.0)
    grid_steps: GridSteps = GRID_STEPS
    least_images: Annotated[
        int, Field(ge=1, description="How many training images have a tag, at least, that gets a classifier")
    ] = 3
    tolerance: Annotated[
        float,
        Field(gt=0, lt=1, description="Gradient, as a share of the first, at which training ends"),
    ] = 1e-4
    steps: Annotated[int, Field(ge=1, description="Steps at most")] = 500
