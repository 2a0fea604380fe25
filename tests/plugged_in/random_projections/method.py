"""Random projections: captions in a few random directions, and images mapped there by least squares.

    Y R    and    X W,    W = argmin |X W - Y R|^2 + n |W|^2

on centred rows; R is drawn, its entries normal. Source: made up, for the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from models_core.checked_fields import check_fields
from models_core.estimators.base import Dataset, FitContext, Method, State, register_method
from models_core.estimators.covariances import ADDING_UP, sums_of_dataset
from models_core.estimators.embeddings import LinearEmbedder, LinearMap


@dataclass(frozen=True, slots=True)
class ProjectionSettings:
    """Settings of random projections."""

    directions: Annotated[int, Field(ge=1, description="How many directions are drawn")] = 64

    def __post_init__(self) -> None:
        check_fields(self)


class RandomProjections(LinearEmbedder):
    """Learned are `images_` and `captions_`."""

    cosine = True

    def __init__(self, settings: ProjectionSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> RandomProjections:
        """Draw the directions of captions, and solve for the images'; there is nothing to choose."""
        covariances = sums_of_dataset(train, context).covariances()
        size = len(covariances.y_mean)
        drawn = context.rng("directions").standard_normal((size, self.settings.directions))
        weights = np.linalg.solve(covariances.xx + np.eye(len(covariances.xx)), covariances.xy @ drawn)
        self.captions_ = LinearMap(covariances.y_mean, drawn)
        self.images_ = LinearMap(covariances.x_mean, np.asarray(weights, np.float64))
        return self

    def state(self) -> State:
        """Both maps."""
        return self.map_arrays(), {}

    @classmethod
    def from_state(cls, settings: ProjectionSettings, state: State) -> RandomProjections:
        """What `state` gave; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.take_maps(state[0])
        return restored


register_method(
    Method(
        name="random-projections",
        title="random projections",
        settings=ProjectionSettings,
        make=RandomProjections,
        load=RandomProjections.from_state,
        takes={"images": "vectors", "captions": "vectors"},
        source="made up, for the tests",
        phases=((ADDING_UP, 1),),
        selects=False,
        recipes={"Random": {}},
    )
)
