"""The progress of a training: the time of a skipped phase is given to the others."""

from typing import Any

import pytest

from evaluation.jobs.kinds.propose_boxes import Phases
from models_core.estimators.base import METHODS
from models_core.estimators.discovery import load_methods

load_methods()


class RecordedProgress:
    """The shares that a job reports."""

    def __init__(self) -> None:
        self.share = 0.0
        self.shares: list[float] = []

    def advance(self, share=None, *, phase=""):
        self.share = self.share if share is None else share
        self.shares.append(self.share)


def shares(method, *phases):
    progress: Any = RecordedProgress()
    listener = Phases(progress, METHODS[method])
    for phase in phases:
        listener(*phase)
    return progress.shares


@pytest.mark.parametrize("trials", [[], [("trying rates", 0, 1)]])
def test_a_training_with_one_rate_has_all_of_the_share_for_learning(trials):
    """Else half of the share would be there at once, and the time left half of the true one."""
    learning = shares("alignment", *trials, ("learning", 0, 10), ("learning", 5, 10), ("learning", 10, 10))
    assert learning[-3:] == pytest.approx([0.2, 0.575, 0.95])


def test_with_trials_each_phase_has_its_part():
    both = shares(
        "alignment", ("trying rates", 3, 6), ("trying rates", 6, 6), ("learning", 0, 4), ("learning", 4, 4)
    )
    assert both == pytest.approx([0.325, 0.45, 0.45, 0.95])


def test_phases_that_come_again_go_on():
    again = [("adding up covariances", 1, 1), ("trying ridges", 5, 5)] * 2
    assert shares("stacked", *again) == pytest.approx([0.3875, 0.575, 0.7625, 0.95])
    assert shares("stacked", ("elsewhere", 1, 2), *again)[0] == 0


def test_a_share_never_falls_and_without_a_method_its_phases_move_nothing():
    progress: Any = RecordedProgress()
    progress.share = 0.9
    Phases(progress, METHODS["cca"])("adding up covariances", 1, 1)
    Phases(progress)("trying ridges", 1, 1)
    assert progress.shares == [0.9, 0.9]
