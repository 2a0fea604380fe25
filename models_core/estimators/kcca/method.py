"""KCCA as a method: its grid of settings, and several selected settings combined by Borda counts.

Source: Hodosh et al. 2013, sections 3.2 and 4.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from models_core.checked_fields import BadField, CheckedRecord
from models_core.estimators.base import (
    DIRECTIONS,
    HELD_OUT,
    TRAINING_IMAGES,
    Amounts,
    Dataset,
    FitContext,
    RankDirection,
    State,
    add_method,
)
from models_core.estimators.embeddings import RECALL
from models_core.estimators.grids import Axis, Grid
from models_core.estimators.kcca.selection import KAPPAS, PICKS, SIZES, SelectedKCCA, Trial
from phrasebox.scoring.tiles import Dense


@dataclass(frozen=True, slots=True)
class KernelSelection(CheckedRecord):
    """The grid of KCCA, and the number of settings selected from it."""

    kappas: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...],
        Field(strict=False, min_length=1, description="Regularisations that are tried"),
    ] = KAPPAS
    sizes: Annotated[int, Field(ge=1, description="How many numbers of dimensions are tried")] = SIZES
    most: Annotated[int, Field(ge=1, description="The largest number of dimensions")] = 6000
    picks: Annotated[
        int, Field(ge=1, description="How many settings are picked at each of R@1, R@5 and R@10")
    ] = PICKS
    center: Annotated[bool, Field(description="Whether kernels are centred")] = True


class KCCARetriever:
    """KCCA with settings selected on held-out items; learned is `kcca_`."""

    kcca_: SelectedKCCA
    selection_: tuple[str, ...]

    def __init__(self, settings: KernelSelection) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> KCCARetriever:
        """Learn from kernels of the training items with themselves; select by those of held-out items.

        Raises ValueError without held-out items.
        """
        if validation is None:
            raise ValueError("KCCA selects its settings on held-out images; give some")
        grid = self.settings
        self.kcca_ = SelectedKCCA(
            grid.kappas,
            most=grid.most,
            number=grid.sizes,
            picks=grid.picks,
            center=grid.center,
            device=context.device,
        ).fit(
            train.images,
            train.captions,
            validation.images,
            validation.captions,
            validation.image_of,
            progress=context.progress,
        )
        self.selection_ = self._remarks(self.kcca_.trials_)
        return self

    def _remarks(self, trials: Sequence[Trial]) -> tuple[str, ...]:
        """Fifteen settings are combined, so there is no single best one by which to extend a grid; remark
        only if the best is at its end."""
        best: dict[float, float] = {}
        for trial in trials:
            recall = float(np.mean([trial.recall[direction] for direction in DIRECTIONS]))
            best[trial.setting.kappa] = max(recall, best.get(trial.setting.kappa, 0.0))
        return Grid((Axis("kappa", self.settings.kappas),), RECALL, 0).remarks(list(best.items()))

    def score(self, data: Dataset, *, direction: RankDirection) -> Dense:
        """Return Borda counts, which depend on the whole pool; rows are queries."""
        scores = self.kcca_.score_pairs(data.images, data.captions, direction=direction)
        return Dense(scores if direction == "annotation" else np.ascontiguousarray(scores.T))

    def state(self) -> State:
        """Return `SelectedKCCA.state`."""
        return self.kcca_.state()

    @classmethod
    def from_state(cls, settings: KernelSelection, state: State) -> KCCARetriever:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.kcca_ = SelectedKCCA.of_state(*state)
        return restored


def kcca_memory(settings: KernelSelection, amounts: Amounts) -> float:
    """Return `Method.memory` of KCCA: kernels, their decompositions, and a model for each regulariser."""
    pairs = amounts[TRAINING_IMAGES]
    dimensions = min(pairs, settings.most)
    models = len(settings.kappas) * 2 * pairs * dimensions
    held_out = 4 * amounts[HELD_OUT] ** 2 + 2 * amounts[HELD_OUT] * pairs
    return 8.0 * (10 * pairs * pairs + models + held_out)


def _check(text: Any, image: Any) -> None:
    if text.kernel == "f1":
        raise BadField("text.kernel", "f1", "nearest-neighbour with weighting none or idf")


add_method(
    name="kcca",
    title="KCCA",
    settings=KernelSelection,
    make=KCCARetriever,
    load=KCCARetriever.from_state,
    takes={"images": "kernel", "captions": "kernel"},
    source="Hodosh et al. 2013, section 3.2",
    phases=(("decomposing kernels", 2), ("trying regularisers", 3)),
    comparable=False,
    memory=kcca_memory,
    chooses=lambda settings: True,  # among numbers of dimensions
    check=_check,
    table="selection",
    stored="kcca",
)
