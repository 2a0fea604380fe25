"""Learning curves as drawings of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from annotation.selectors.jobs import Job
from evaluation.services.systems.learning_curves import LearnedEpoch, learning_curve
from evaluation.web import offered

#: Size of a drawing in its own units.
_WIDE, _HIGH = 320.0, 120.0


@dataclass(frozen=True, slots=True)
class ShownCurve:
    """The epochs of a system, and two lines as the points of an SVG: loss, and held-out recall."""

    system: str
    epochs: Sequence[LearnedEpoch]
    loss: str
    recall: str

    @property
    def last(self) -> LearnedEpoch:
        """The last epoch."""
        return self.epochs[-1]

    @property
    def best(self) -> LearnedEpoch:
        """The epoch with the highest recall, the first of equals."""
        return max(self.epochs, key=lambda one: one.recall)

    @property
    def best_recall(self) -> str:
        """Its recall in per cent."""
        return f"{100 * self.best.recall:.1f}"

    @property
    def rows(self) -> list[tuple[int, str, str]]:
        """Epoch, loss and recall in per cent, as they are read."""
        return [(one.epoch, f"{one.loss:.4g}", f"{100 * one.recall:.1f}") for one in self.epochs]


def shown_curve(name: str) -> ShownCurve | None:
    """The curve of a system or of its training so far, from two epochs on."""
    epochs = learning_curve(name)
    if len(epochs) < 2:
        return None
    losses, recalls = [one.loss for one in epochs], [one.recall for one in epochs]
    return ShownCurve(name, epochs, _line(losses, max(losses)), _line(recalls, max(recalls)))


def curves_of_trainings(request: HttpRequest) -> list[ShownCurve]:
    """Learning curves of running trainings that this account may see."""
    live = offered.offered_jobs(request).filter(kind="train_system", state=Job.RUNNING).order_by("pk")
    found = (shown_curve(str(job.arguments.get("name", ""))) for job in live)
    return [curve for curve in found if curve]


def _line(values: Sequence[float], highest: float) -> str:
    """Points from the left edge to the right, 0 at the bottom and `highest` at the top."""
    step, scale = _WIDE / (len(values) - 1), _HIGH / (highest or 1)
    return " ".join(f"{place * step:.1f},{_HIGH - value * scale:.1f}" for place, value in enumerate(values))
