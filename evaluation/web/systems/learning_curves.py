"""Learning curves as drawings on a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.formats import localize, number_format

from annotation.selectors.jobs import Job
from evaluation.services.systems.listing import LearnedEpoch, learning_curve
from evaluation.web import visible
from models_core.estimators.neural.settings import PERPLEXITY
from models_core.estimators.tagging.bilinear import PRECISION

#: Size of a drawing in its own units.
_WIDE, _HIGH = 320.0, 120.0


@dataclass(frozen=True, slots=True)
class CurvePlot:
    """The epochs of a system, and two lines as points of an SVG: loss, and the held-out `figure`, which is
    perplexity (`of_words`), precision (`of_tags`) or recall; the latter two in per cent."""

    system: str
    of_words: bool
    of_tags: bool
    epochs: Sequence[LearnedEpoch]
    loss: str
    figure: str

    @property
    def last(self) -> LearnedEpoch:
        """The last epoch."""
        return self.epochs[-1]

    @property
    def best(self) -> LearnedEpoch:
        """The epoch with the highest recall, or the lowest perplexity; the first of equal ones."""
        sign = -1 if self.of_words else 1
        return max(self.epochs, key=lambda epoch: sign * epoch.figure)

    @property
    def best_figure(self) -> str:
        """Its figure, formatted."""
        return self._read(self.best.figure)

    @property
    def rows(self) -> list[tuple[int, str, str]]:
        """Epoch, loss and figure, formatted."""
        return [(epoch.epoch, _read_loss(epoch.loss), self._read(epoch.figure)) for epoch in self.epochs]

    @property
    def first_loss(self) -> str:
        """The loss of the first epoch, formatted."""
        return _read_loss(self.epochs[0].loss)

    @property
    def last_loss(self) -> str:
        """The loss of the last epoch, formatted."""
        return _read_loss(self.last.loss)

    def _read(self, figure: float) -> str:
        return number_format(figure if self.of_words else 100 * figure, decimal_pos=1)


def _read_loss(loss: float) -> str:
    """Return four digits, formatted for the reader's language."""
    return localize(float(f"{loss:.4g}"))


def curve_plot(name: str) -> CurvePlot | None:
    """Return the curve of a system or of its training so far; None with fewer than two epochs."""
    curve = learning_curve(name)
    if len(curve.epochs) < 2:
        return None
    losses, figures = [epoch.loss for epoch in curve.epochs], [epoch.figure for epoch in curve.epochs]
    lines = _line(losses, max(losses)), _line(figures, max(figures))
    return CurvePlot(name, curve.figure == PERPLEXITY, curve.figure == PRECISION, curve.epochs, *lines)


def curves_of_trainings(request: HttpRequest) -> list[CurvePlot]:
    """Return learning curves of running trainings that this account may see."""
    live = (
        visible.visible_evaluation_jobs(request).filter(kind="train_system", state=Job.RUNNING).order_by("pk")
    )
    curves = (curve_plot(str(job.arguments.get("name", ""))) for job in live)
    return [curve for curve in curves if curve]


def _line(values: Sequence[float], highest: float) -> str:
    """Return points from the left edge to the right, 0 at the bottom and `highest` at the top."""
    step, scale = _WIDE / (len(values) - 1), _HIGH / (highest or 1)
    return " ".join(f"{index * step:.1f},{_HIGH - value * scale:.1f}" for index, value in enumerate(values))
