"""Weak pairs, CCA of weak pairs alone, and CCA of clean and weak pairs as one set.

Source: Gong et al. 2014, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.estimators.base import Dataset, FitContext, RankDirection, State, View
from models_core.estimators.cca import CCA, POWERS, RIDGES, CCASettings, Components, Powers, Ridges
from models_core.estimators.covariances import Covariances, sums_of_dataset
from models_core.estimators.grids import GRID_STEPS, GridSteps
from phrasebox.lazy import sparse
from phrasebox.scoring.tiles import Scores

Stacking = Literal["fourier", "linear"]


@dataclass(frozen=True, slots=True)
class WeakSettings(CheckedRecord):
    """Settings of CCA on weak pairs alone; the other methods add theirs."""

    components: Components = 96
    ridges: Ridges = RIDGES
    powers: Powers = POWERS
    grid_steps: GridSteps = GRID_STEPS

    def cca(self) -> CCASettings:
        """The settings of the CCA whose embeddings are compared."""
        return CCASettings(self.components, True, self.ridges, self.powers, self.grid_steps)


@dataclass(frozen=True, slots=True)
class JointSettings(WeakSettings):
    """Settings of CCA on clean and weak pairs as one set."""

    weight: Annotated[float, Field(gt=0, description="Factor of the weak rows (beta)")] = 1.0


@dataclass(frozen=True, slots=True)
class TextFeatureSettings(WeakSettings):
    """Settings of CCA on images described by the texts of similar weak images too."""

    neighbours: Annotated[int, Field(ge=1, description="Weak images whose texts are averaged (k)")] = 50


@dataclass(frozen=True, slots=True)
class StackedSettings(WeakSettings):
    """Settings of a CCA on top of one of weak pairs."""

    weak_components: Annotated[
        int, Field(ge=1, description="Numbers of the embedding of weak pairs (c1)")
    ] = 128
    mapping: Annotated[
        Stacking, Field(description="What is made of that embedding: random Fourier features, or nothing")
    ] = "fourier"
    original: Annotated[bool, Field(description="Whether the original features are kept beside it")] = True
    features: Annotated[int, Field(ge=1, description="How many Fourier features")] = 3000
    neighbour: Annotated[
        int, Field(ge=1, description="The neighbour whose mean distance is the kernel's width")
    ] = 50
    as_printed: Annotated[
        bool, Field(description="Whether Fourier features are drawn as the paper prints it")
    ] = False

    def weak_cca(self) -> CCASettings:
        """The settings of the CCA of weak pairs."""
        return CCASettings(self.weak_components, True, self.ridges, self.powers, self.grid_steps)


#: The key of the weak pairs among a fit's extra data.
WEAK = "weak"


def matching_scale(view: View, added: NDArray[Any]) -> float:
    """Return the factor that gives the added columns the mean variance of the columns of `view`.

    1 if either has no variance.
    """
    mean = np.asarray(view.mean(axis=0, dtype=np.float64)).ravel()
    squares = (
        view.multiply(view) if isinstance(view, sparse.csr_matrix) else np.square(view, dtype=np.float64)
    )
    theirs = float((np.asarray(squares.mean(axis=0)).ravel() - mean**2).mean())
    ours = float(added.var(axis=0, dtype=np.float64).mean())
    return float(np.sqrt(theirs / ours)) if theirs > 0 and ours > 0 else 1.0


def weak_pairs(context: FitContext) -> Dataset:
    """Return the weak pairs; raises ValueError if there are none."""
    if WEAK not in context.auxiliary:
        raise ValueError("the method learns from weak pairs too; give a weak collection")
    return context.auxiliary[WEAK]


class WeakOnly:
    """Normalised CCA of weak pairs; learned is `cca_`."""

    cca_: CCA
    selection_: tuple[str, ...]

    def __init__(self, settings: WeakSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> WeakOnly:
        """Train on the weak pairs; held-out clean pairs choose ridge and power. Raises ValueError."""
        self.cca_ = CCA(self.settings.cca()).solve(self._covariances(train, context), validation, context)
        self.selection_ = self.cca_.selection_
        return self

    def _covariances(self, train: Dataset, context: FitContext) -> Covariances:
        return sums_of_dataset(weak_pairs(context), context).covariances()

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Return cosines; rows are queries."""
        return self.cca_.score(data, direction=direction)

    def state(self) -> State:
        """Return what CCA learned."""
        return self.cca_.state()

    @classmethod
    def from_state(cls, settings: Any, state: State) -> WeakOnly:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.cca_ = CCA.from_state(settings.cca(), state)
        return restored


class Joint(WeakOnly):
    """Normalised CCA of clean and weak pairs as one set; learned is `cca_`."""

    settings: JointSettings

    def _covariances(self, train: Dataset, context: FitContext) -> Covariances:
        # Pairs with weight beta^2 are rows times beta, after the mean is subtracted from all rows.
        sums = sums_of_dataset(train, context)
        sums.merge(sums_of_dataset(weak_pairs(context), context).weighted(self.settings.weight**2))
        return sums.covariances()
