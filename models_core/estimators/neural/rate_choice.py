"""Choice of the learning rate and weight decay for training by gradient steps.

If there are several, each pair is tried for a few epochs, and the best pair on held-out data is taken.

Source: Karpathy and Fei-Fei 2015, section 3.3.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import FitContext
from models_core.estimators.grids import UNUSABLE, Axis, Grid
from models_core.estimators.neural.gradient_training import Diverged, GradientRun, StepSettings, StepSizes
from models_core.estimators.neural.settings import LEARNING, TRYING
from models_core.processes import present_processes


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """A trained run, a row (rate, decay, best held-out quality) for each setting tried, with quality -1 if
    the loss or the figure was not a number, and `remarks` on the choice."""

    run: GradientRun
    tried: NDArray[np.float64]
    remarks: tuple[str, ...]


def train_best(
    settings: StepSettings,
    context: FitContext,
    new_run: Callable[[str, StepSizes], GradientRun],
    *,
    looks: bool,
    figure: str,
) -> TrainedRun:
    """Choose rate and decay by short trial runs if there are several, and train with the best.

    `figure` describes the quality in words. Of equally good settings the first is taken. If a setting fails
    after its trial, the next best is taken. Training continues from the context's latest checkpoint. Raises
    ValueError if there is no held-out data to choose by, and Diverged if no rate learns.
    """
    axes = Axis("rate", settings.rates), Axis("decay", settings.decays)
    grid = Grid(axes, figure, settings.grid_steps)
    if not looks and grid.size > 1:
        raise ValueError("the rate is chosen on held-out images; give some, or one rate")
    arrays, checkpoint = context.checkpoints.latest() or ({}, {})
    present_processes().wait()  # the first process may soon write the next checkpoint
    tried: list[tuple[float, float, float]] = [tuple(row) for row in checkpoint.get("tried", [])]
    trials = settings.trial_epochs if grid.size > 1 else 0
    begun = (arrays, checkpoint["run"]) if checkpoint and checkpoint["run"] is not None else None
    while True:
        while (setting := grid.next_setting(tried)) is not None:
            rate, decay = setting
            trial = new_run(f"trial {len(tried) + 1}", StepSizes(rate, decay))
            known = max(grid.size, len(tried) + 1)
            tried.append((rate, decay, _try(trial, trials, context, looks, (len(tried), known))))
            context.checkpoints.save({}, {"tried": tried, "run": None})
        rows = np.asarray(tried, np.float64)
        best_row = int(rows[:, 2].argmax())
        if rows[best_row, 2] == UNUSABLE:
            raise Diverged(
                f"with none of the rates {settings.rates} are loss and held-out figure numbers; choose "
                "smaller ones"
            )
        run = new_run("learning", StepSizes(*tried[best_row][:2]))
        if begun is not None:
            run.restore(*begun)
        try:
            _learn(run, settings, context, looks=looks, tried=tried)
        except Diverged:
            if grid.size == 1:
                raise
            tried[best_row], begun = (*tried[best_row][:2], UNUSABLE), None
            context.checkpoints.save({}, {"tried": tried, "run": None})
        else:
            return TrainedRun(run, rows, grid.remarks(tried))


def _try(run: GradientRun, epochs: int, context: FitContext, looks: bool, position: tuple[int, int]) -> float:
    """Return the best held-out quality in a few epochs; UNUSABLE if the loss or the figure is not a number.

    `position`: the number of trials before this one, and of all trials.
    """
    before, all_trials = position

    def report_progress() -> None:
        done = (before * epochs + run.epoch) * run.batches + run.batch
        context.progress(TRYING, done, max(1, all_trials * epochs * run.batches))

    try:
        run.train(epochs, looks=looks, report_progress=report_progress)
    except Diverged:
        if all_trials == 1:
            raise
        return UNUSABLE
    return max((member.quality for member in run.members), default=0.0)


def _learn(
    run: GradientRun,
    settings: StepSettings,
    context: FitContext,
    *,
    looks: bool,
    tried: list[tuple[float, float, float]],
) -> None:
    """Train a run for all its epochs, saving checkpoints that include the rows of `tried`. Raises
    Diverged."""

    def save_checkpoint() -> None:
        held, run_settings = run.state()
        context.checkpoints.save(held, {"tried": tried, "run": run_settings})

    run.train(
        settings.epochs,
        looks=looks,
        report_progress=lambda: context.progress(
            LEARNING, run.epoch * run.batches + run.batch, settings.epochs * run.batches
        ),
        save_checkpoint=save_checkpoint,
    )
