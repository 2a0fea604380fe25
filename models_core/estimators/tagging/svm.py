"""A linear support vector machine for each tag, which separates images that have it from all others.

For a tag with y = 1 for images that have it and -1 for others, w and b minimise

    1/2 (|w|^2 + b^2) + C sum over images of max(0, 1 - y (w' x + b))^2.

Its curvature is at most that of P = I + 2 C X'X, with a 1 behind each image. So steps are multiplied by P^-1,
the same for all tags, with Nesterov's momentum, which is reset for a tag whose step goes uphill. The cost C
is chosen on held-out images. A tag with too few images has a constant score, 2 s - 1, where s is its share.

Source: the baseline of structured listwise tagging, Table 5; the problem is LIBLINEAR's (Fan et al. 2008,
with squared hinges and a penalised bias), the momentum that of O'Donoghue and Candes 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import IMAGE_VIEW, Dataset, FitContext, Matrix, State, View, checked_numbers
from models_core.estimators.grids import Axis, Grid
from models_core.estimators.predictors import CandidateTags, TagScore, check_score
from models_core.estimators.tagging.held_out import (
    PRECISION_OF_OWN,
    held_out_precision,
    known_tags,
    presence,
    tags_of,
)
from models_core.estimators.tagging.settings import TagSVMSettings
from phrasebox.lazy import linalg

#: Number of tags whose classifiers are trained at a time.
_TOGETHER = 512


class TagSVM:
    """The method. Learned are `weights_`, shape (numbers of an image and 1, trained tags), whose last row is
    b, and `cost_`, with `tried_`, a row (cost, held-out precision) for each cost."""

    scores: ClassVar[tuple[TagScore, ...]] = ("own",)
    weights_: NDArray[np.float32]
    cost_: float
    tried_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: TagSVMSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> TagSVM:
        """Train the classifiers with each cost; choose on `validation`, the first of equally good costs.

        Raises ValueError for numbers that are not finite, and if there is something to choose but no held-out
        images.
        """
        costs = self.settings.costs
        if validation is None and len(costs) > 1:
            raise ValueError("the cost is chosen on held-out images; give some, or one cost")
        images, present = checked_numbers(train.images, IMAGE_VIEW), presence(tags_of(train))
        grid = Grid((Axis("cost", costs),), PRECISION_OF_OWN, self.settings.grid_steps)
        tried: list[tuple[float, float]] = []
        learned: dict[float, NDArray[np.float32]] = {}
        while (setting := grid.next_setting(tried)) is not None:
            (cost,), index = setting, len(tried)

            def report_progress(done: int, of: int, index: int = index) -> None:
                context.progress("training classifiers", index * of + done, max(len(costs), index + 1) * of)

            learned[cost] = self.weights_ = self._train(images, present, cost, report_progress)
            figure = 0.0
            if validation is not None:
                tags = tags_of(validation)
                figure = held_out_precision(self.score_tags(validation.images, known_tags(tags)), tags)
            tried.append((cost, figure))
        self.tried_, self.selection_ = np.asarray(tried), grid.remarks(tried)
        (self.cost_,) = grid.best(tried)
        self.weights_ = learned[self.cost_]
        return self

    def _train(
        self, images: Matrix, present: Matrix, cost: float, report_progress: Callable[[int, int], None]
    ) -> NDArray[np.float32]:
        weights = np.zeros((images.shape[1] + 1, present.shape[1]), np.float32)
        weights[-1] = 2 * present.mean(axis=0) - 1
        often = np.flatnonzero(present.sum(axis=0) >= self.settings.least_images)
        report_progress(0, max(1, len(often)))
        for start in range(0, len(often), _TOGETHER):
            some = often[start : start + _TOGETHER]
            weights[:, some] = linear_svms(images, 2 * present[:, some] - 1, cost, self.settings)
            report_progress(start + len(some), len(often))
        return weights

    def score_tags(self, images: View, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """Return the score of each classifier, -1 for a tag that has none. Raises ValueError for vectors of
        another width than in training, and for numbers that are not finite."""
        check_score(by, self.scores, "a classifier for each tag")
        vectors, weights = checked_numbers(images, IMAGE_VIEW), np.asarray(self.weights_, np.float64)
        if vectors.shape[1] != len(weights) - 1:
            raise ValueError(
                f"images of {vectors.shape[1]} numbers against {len(weights) - 1}; expected the same"
            )
        return tags.spread(vectors @ weights[:-1] + weights[-1], -1.0)

    def state(self) -> State:
        """Return the classifiers, and the chosen cost."""
        return {"weights": self.weights_, "tried": self.tried_}, {"cost": self.cost_}

    @classmethod
    def from_state(cls, settings: TagSVMSettings, state: State) -> TagSVM:
        """Restore what `state` returned; raises KeyError if something is missing."""
        restored = cls(settings)
        restored.weights_, restored.tried_, restored.cost_ = (
            state[0]["weights"],
            state[0]["tried"],
            state[1]["cost"],
        )
        return restored


def linear_svms(images: Matrix, signs: Matrix, cost: float, settings: TagSVMSettings) -> Matrix:
    """Return w and, in the last row, b for each column of `signs`, whose entries are 1 and -1; shape (numbers
    of an image and 1, tags). Stops when each gradient is small, or after `settings.steps`."""
    x = np.concatenate([images, np.ones((len(images), 1))], axis=1)
    curvature = linalg.cho_factor(np.eye(x.shape[1]) + 2 * cost * x.T @ x)
    weights = np.zeros((x.shape[1], signs.shape[1]))
    ahead, momentum = weights.copy(), np.ones(signs.shape[1])
    first: Matrix | None = None
    for _ in range(settings.steps):
        slack = np.maximum(0, 1 - signs * (x @ ahead))
        gradient = ahead - 2 * cost * x.T @ (signs * slack)
        size = np.linalg.norm(gradient, axis=0)
        first = size if first is None else first
        if np.all(size <= settings.tolerance * first):
            break
        new = ahead - linalg.cho_solve(curvature, gradient)
        uphill = np.einsum("dt,dt->t", gradient, new - weights) > 0
        momentum[uphill] = 1.0
        later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / later) * (new - weights)
        weights, momentum = new, later
    return weights
