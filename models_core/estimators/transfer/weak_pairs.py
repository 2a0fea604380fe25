"""Weak pairs, CCA of these alone, and CCA of clean and weak pairs as one set.

Source: Gong et al. 2014, section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models_core.estimators.base import Dataset, FitContext, RankDirection, State, View
from models_core.estimators.cca import CCA
from models_core.estimators.covariances import Covariances, sums_of_dataset
from models_core.estimators.transfer.settings import JointSettings, WeakSettings
from phrasebox.scoring.tiles import Scores

#: What a fit finds weak pairs under.
WEAK = "weak"


def matching_scale(view: View, added: NDArray[Any]) -> float:
    """By which columns are multiplied so that their mean variance is that of the columns of `view`.

    1 where either has none.
    """
    mean = np.asarray(view.mean(axis=0, dtype=np.float64)).ravel()
    squares = (
        view.multiply(view) if isinstance(view, sparse.csr_matrix) else np.square(view, dtype=np.float64)
    )
    theirs = float((np.asarray(squares.mean(axis=0)).ravel() - mean**2).mean())
    ours = float(added.var(axis=0, dtype=np.float64).mean())
    return float(np.sqrt(theirs / ours)) if theirs > 0 and ours > 0 else 1.0


def weak_pairs(context: FitContext) -> Dataset:
    """Raises ValueError where there are none."""
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
        """Learn from the weak pairs; held-out clean ones choose ridge and power. Raises ValueError."""
        self.cca_ = CCA(self.settings.cca()).solve(self._covariances(train, context), validation, context)
        self.selection_ = self.cca_.selection_
        return self

    def _covariances(self, train: Dataset, context: FitContext) -> Covariances:
        return sums_of_dataset(weak_pairs(context), context).covariances()

    def score(self, data: Dataset, *, direction: RankDirection) -> Scores:
        """Cosines; rows are queries."""
        return self.cca_.score(data, direction=direction)

    def state(self) -> State:
        """What CCA learned."""
        return self.cca_.state()

    @classmethod
    def from_state(cls, settings: Any, state: State) -> WeakOnly:
        """What `state` gave; raises KeyError where something is missing."""
        restored = cls(settings)
        restored.cca_ = CCA.from_state(settings.cca(), state)
        return restored


class Joint(WeakOnly):
    """Normalised CCA of clean and weak pairs as one set; learned is `cca_`."""

    settings: JointSettings

    def _covariances(self, train: Dataset, context: FitContext) -> Covariances:
        # Pairs that count beta^2 times are rows times beta, after all rows are moved by the mean.
        sums = sums_of_dataset(train, context)
        sums.merge(sums_of_dataset(weak_pairs(context), context).weighted(self.settings.weight**2))
        return sums.covariances()
