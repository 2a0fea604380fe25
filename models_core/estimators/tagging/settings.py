"""Settings of the methods that tag images."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.grids import GRID_STEPS, GridSteps

_Floats = NDArray[np.float64]
#: SJE with the first or the second structured term, or the listwise loss.
LossName = Literal["sje-1", "sje-2", "listwise"]


def delta_one(size: int) -> _Floats:
    """Return Delta of equation 4 for places k (rows) and i (columns), shape (size, size)."""
    return 1.0 - np.eye(size)


def delta_two(size: int) -> _Floats:
    """Return Delta of equation 5 for places k (rows) and i >= k (columns), shape (size, size); 0 below the
    diagonal."""
    ahead = np.arange(size) - np.arange(size)[:, None]
    return np.where(ahead > 0, 1 - 1 / (np.maximum(ahead, 0) + 1), 0.0)


@dataclass(frozen=True, slots=True)
class TagLoss:
    """A loss by name; `top` is K_top of the listwise loss."""

    name: LossName
    top: int = 5

    def of(self, scores: _Floats, there: NDArray[np.bool_]) -> tuple[_Floats, _Floats]:
        """Return the loss of each image, shape (images,), and its gradient with respect to the scores, shape
        (images, places).

        `scores` has a row of each image's tags, the most relevant first, and `there` says which of them are
        tags.
        """
        size = scores.shape[1]
        heads = min(self.top, size) if self.name == "listwise" else 1
        delta = (delta_one if self.name == "sje-1" else delta_two)(size)[:heads]
        later = np.arange(size) > np.arange(heads)[:, None]
        counted = later & there[:, None, :] & there[:, :heads, None]
        terms = delta + scores[:, None, :] - scores[:, :heads, None]
        active = counted & (terms > 0)
        if self.name != "listwise":
            first = np.where(active, terms, 0.0)[:, 0].argmax(axis=1)
            active &= np.arange(size) == first[:, None, None]
        gradient = active.sum(axis=1, dtype=np.float64)
        gradient[:, :heads] -= active.sum(axis=2)
        return np.where(active, terms, 0.0).sum(axis=(1, 2)), gradient


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
