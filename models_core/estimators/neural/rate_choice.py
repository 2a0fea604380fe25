"""Which learning rate and weight decay a training by gradient steps takes.

Of several the best pair is found by trainings of a few epochs each, on held-out data.

Source: Karpathy and Fei-Fei 2015, section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import FitContext
from models_core.estimators.neural.gradient_training import Diverged, GradientRun, StepSettings, StepSizes
from models_core.estimators.neural.settings import LEARNING, TRYING
from models_core.processes import present_processes

#: The quality of settings with which the loss, or the held-out figure, is no number.
_DIVERGED = -1.0


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """The run that learned, and a row (rate, decay, best held-out quality) for each setting that was tried;
    -1 where the loss or the figure was no number."""

    run: GradientRun
    tried: NDArray[np.float64]


def train_best(
    settings: StepSettings,
    context: FitContext,
    new_run: Callable[[str, StepSizes], GradientRun],
    *,
    looks: bool,
) -> TrainedRun:
    """Choose rate and decay by trainings of a few epochs where there are several, and train with them.

    Of equally good ones the first are taken. One that fails after its trial gives way to the next best. Goes
    on after the last of the context's checkpoints. Raises ValueError where nothing held out is there to
    choose by, and Diverged where no rate learns.
    """
    grid = [StepSizes(rate, decay) for rate, decay in product(settings.rates, settings.decays)]
    if not looks and len(grid) > 1:
        raise ValueError("the rate is chosen on held-out images; give some, or one rate")
    arrays, said = context.checkpoints.latest() or ({}, {})
    present_processes().wait()  # the first may soon write the next one
    tried: list[tuple[float, float, float]] = [tuple(row) for row in said.get("tried", [])]
    trials = settings.trial_epochs if len(grid) > 1 else 0
    for place in range(len(tried), len(grid)):
        run = new_run(f"trial {place + 1}", grid[place])
        try:
            run.train(
                trials,
                looks=looks,
                told=lambda place=place, run=run: context.progress(  # type: ignore[misc]
                    TRYING,
                    (place * trials + run.epoch) * run.batches + run.batch,
                    max(1, len(grid) * trials * run.batches),
                ),
            )
            quality = max((member.quality for member in run.members), default=0.0)
        except Diverged:
            if len(grid) == 1:
                raise
            quality = _DIVERGED
        tried.append((grid[place].rate, grid[place].decay, quality))
        context.checkpoints.save({}, {"tried": tried, "run": None})
    begun = (arrays, said["run"]) if said and said["run"] is not None else None
    while True:
        rows = np.asarray(tried, np.float64)
        place = int(rows[:, 2].argmax())
        if rows[place, 2] == _DIVERGED:
            raise Diverged(
                f"with none of the rates {settings.rates} are loss and held-out figure numbers; choose "
                "smaller ones"
            )
        run = new_run("learning", grid[place])
        if begun is not None:
            run.restore(*begun)
        try:
            _learn(run, settings, context, looks=looks, tried=tried)
        except Diverged:
            if len(grid) == 1:
                raise
            tried[place], begun = (grid[place].rate, grid[place].decay, _DIVERGED), None
            context.checkpoints.save({}, {"tried": tried, "run": None})
        else:
            return TrainedRun(run, rows)


def _learn(
    run: GradientRun,
    settings: StepSettings,
    context: FitContext,
    *,
    looks: bool,
    tried: list[tuple[float, float, float]],
) -> None:
    """Train a run to the end of its epochs, keeping checkpoints with what was `tried` before. Raises
    Diverged."""

    def keep() -> None:
        held, told = run.state()
        context.checkpoints.save(held, {"tried": tried, "run": told})

    run.train(
        settings.epochs,
        looks=looks,
        told=lambda: context.progress(
            LEARNING, run.epoch * run.batches + run.batch, settings.epochs * run.batches
        ),
        keep=keep,
    )
