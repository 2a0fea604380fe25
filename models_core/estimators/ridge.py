"""Ridge regression from images to captions: the simplest common space.

Captions are projected on their leading principal directions U, and images are mapped there by

    W = (X'X + lambda I)^-1 X' Y U

on centred rows; lambda is r times the mean variance of the images' columns, chosen on held-out images.
Embeddings are compared by Euclidean distance.

Source: Gong et al. 2014, section 3.2, "Ridge Regression".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import (
    CAPTION_VIEW,
    IMAGE_VIEW,
    Dataset,
    FitContext,
    Matrix,
    State,
    add_method,
)
from models_core.estimators.covariances import COVARIANCE_PHASES, memory_of_pairs, sums_of_dataset
from models_core.estimators.embeddings import RECALL, LinearEmbedder, LinearMap
from models_core.estimators.grids import GRID_STEPS, UNUSABLE, Axis, Grid, GridSteps
from phrasebox.lazy import linalg


@dataclass(frozen=True, slots=True)
class RidgeSettings(CheckedRecord):
    """Settings of ridge regression; of several ridges the best is chosen on held-out images."""

    components: Annotated[int, Field(ge=1, description="Principal directions of the captions (c)")] = 96
    ridges: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Ridges that are tried, in mean variances"),
    ] = (1e-4, 1e-2, 1e-1, 1.0, 10.0)
    grid_steps: GridSteps = GRID_STEPS


class RidgeRegression(LinearEmbedder):
    """The method. Learned are `images_`, `captions_`, `ridge_`, and `tried_`, a row (ridge, mean recall) for
    each ridge, with -1 if the covariance had no inverse."""

    ridge_: float
    tried_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: RidgeSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> RidgeRegression:
        """Train on all captions with their images; choose the ridge on `validation`, the first of equally
        good ones.

        Raises ValueError if there are several ridges but no held-out pairs.
        """
        ridges = self.settings.ridges
        if validation is None and len(ridges) > 1:
            raise ValueError("ridge regression chooses its ridge on held-out images; give some, or one ridge")
        covariances = sums_of_dataset(train, context).covariances()
        size = len(covariances.y_mean)
        number = min(self.settings.components, size)
        _, directions = linalg.eigh(covariances.yy, subset_by_index=(size - number, size - 1))
        directions = directions[:, ::-1]
        # The sign of each direction is arbitrary: make its largest number positive.
        peaks = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)[0]
        directions = directions * np.where(peaks < 0, -1.0, 1.0)
        self.captions_ = LinearMap(covariances.y_mean, directions)
        target = covariances.xy @ directions
        mean = float(covariances.xx.diagonal().mean())
        if not mean > 0:
            raise ValueError(
                f"all {len(covariances.x_mean)} columns of the images are constant; nothing is learned"
            )
        grid = Grid((Axis("ridge", ridges),), RECALL, self.settings.grid_steps)
        maps: dict[float, LinearMap] = {}
        tried: list[tuple[float, float]] = []
        while (setting := grid.next_setting(tried)) is not None:
            (ridge,) = setting
            added = covariances.xx.copy()
            added.flat[:: len(added) + 1] += ridge * mean
            figure = UNUSABLE
            try:
                factor = linalg.cho_factor(added, lower=True)
            except linalg.LinAlgError:
                pass  # with so small a ridge there is numerically no inverse: another one will do
            else:
                self.images_ = maps[ridge] = LinearMap(covariances.x_mean, linalg.cho_solve(factor, target))
                figure = self.held_out_recall(validation)
            tried.append((ridge, figure))
            context.progress("trying ridges", len(tried), max(len(tried), len(ridges)))
        (self.ridge_,) = grid.best(tried)
        if self.ridge_ not in maps:
            raise ValueError(
                "the covariance of the images is singular: columns depend on each other; take a ridge above "
                f"{max(ridges):g}"
            )
        self.images_, self.tried_ = maps[self.ridge_], np.asarray(tried)
        self.selection_ = grid.remarks(tried)
        return self

    def state(self) -> State:
        """Return everything learned: arrays, and settings that fit JSON."""
        return {**self.map_arrays(), "tried": self.tried_}, {"ridge": self.ridge_}

    @classmethod
    def from_state(cls, settings: RidgeSettings, state: State) -> RidgeRegression:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.take_maps(arrays)
        restored.ridge_, restored.tried_ = stored_settings["ridge"], arrays["tried"]
        return restored


add_method(
    name="ridge",
    title="ridge regression",
    settings=RidgeSettings,
    make=RidgeRegression,
    load=RidgeRegression.from_state,
    takes={IMAGE_VIEW: "vectors", CAPTION_VIEW: "vectors"},
    source="Gong et al. 2014, section 3.2",
    phases=COVARIANCE_PHASES,
    memory=memory_of_pairs,
    recipes={"Ridge": {"printed": "Ridge regression"}},
)
