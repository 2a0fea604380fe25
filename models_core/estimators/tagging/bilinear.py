"""A bilinear map between images and tags: F(x, t) = x' W t, which also scores tags that were not trained.

W starts at zero and is trained by Adam in batches of images. Each rate is tried for all epochs; the rate and
epoch with the best order of the tags of held-out images (`held_out`) are kept, the first of equally good
ones. The order of an epoch comes from the generator of that rate and epoch alone, so a training that
continues after a checkpoint has the same result as an uninterrupted one.

Source: structured listwise tagging, sections 3.1 and 4.2, and equation 10 for s1 and s2; Adam: Kingma and Ba
2015, with their constants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import IMAGE_VIEW, Dataset, FitContext, Matrix, State, View, checked_numbers
from models_core.estimators.grids import Axis, Grid
from models_core.estimators.predictors import CandidateTags, TagScore, check_score
from models_core.estimators.tagging.held_out import PRECISION_OF_OWN, held_out_precision, tags_of
from models_core.estimators.tagging.settings import BilinearSettings, TagLoss

#: The name of the held-out figure of the curve.
PRECISION = "precision"
_DECAYS, _SMALL = (0.9, 0.999), 1e-8
_PHASE = "learning tags"
_NamedArrays = dict[str, NDArray[Any]]


class BilinearTagger:
    """The method. Learned are `weights_`, W of shape (numbers of an image, numbers of a tag), after epoch
    `epoch_` with `rate_`; `centres_`, the mean image of each trained tag; `tried_`, a row (rate, best epoch,
    its held-out precision) for each rate; `curve_`, a row (epoch, mean loss of an image, held-out precision)
    for each epoch of the chosen rate. Without held-out images precisions are 0."""

    scores: ClassVar[tuple[TagScore, ...]] = ("own", "s1", "s2", "mean")
    weights_: Matrix
    centres_: NDArray[np.float32]
    rate_: float
    epoch_: int
    tried_: Matrix
    curve_: Matrix
    selection_: tuple[str, ...]

    def __init__(self, settings: BilinearSettings) -> None:
        self.settings = settings

    def fit(self, train: Dataset, validation: Dataset | None, context: FitContext) -> BilinearTagger:
        """Train on each image with its ranked tags; rate and epoch are chosen on `validation`.

        Training continues from the context's latest checkpoint. Raises ValueError without word vectors, if
        there is something to choose but no held-out images, and for numbers that are not finite.
        """
        search = _Search(self.settings, train, validation, context)
        best = search.run()
        self.weights_, self.rate_, self.epoch_ = best.weights, best.rate, best.epoch
        self.tried_, self.selection_ = search.tried(), search.remarks
        rows = np.asarray(search.rows)
        self.curve_ = rows[rows[:, 0] == best.rate, 1:]
        self.centres_ = _centres(search.images, train)
        return self

    def score_tags(self, images: View, tags: CandidateTags, by: TagScore = "own") -> Matrix:
        """Return the scores of equation 1, s1 or s2 of equation 10, or the mean of both. s2 is 0 for a tag
        that was not trained, and s1 is 0 if W t is 0. Raises ValueError for vectors of another width than in
        training, and for numbers that are not finite."""
        check_score(by, self.scores, "this method")
        checked = checked_numbers(images, IMAGE_VIEW)
        _check_width(checked, self.weights_.shape[0], "images")
        if tags.vectors is None:
            raise ValueError("tags have no word vectors; give some")
        vectors = checked_numbers(tags.vectors, "tag vectors")
        _check_width(vectors, self.weights_.shape[1], "tag vectors")
        sides = vectors @ self.weights_.T
        if by == "own":
            return np.asarray(checked @ sides.T)
        directed = _directed(checked)
        parts = [directed @ _directed(sides).T] if by != "s2" else []
        if by != "s1":
            parts.append(tags.spread(directed @ _directed(np.asarray(self.centres_, np.float64)).T, 0.0))
        return np.asarray(sum(parts) / len(parts))

    def state(self) -> State:
        """Return everything learned: arrays, and settings that fit JSON."""
        arrays: _NamedArrays = {"weights": self.weights_, "centres": self.centres_, "tried": self.tried_}
        settings = {
            "rate": self.rate_,
            "epoch": self.epoch_,
            "curve": self.curve_.tolist(),
            "figure": PRECISION,
        }
        return arrays, settings

    @classmethod
    def from_state(cls, settings: BilinearSettings, state: State) -> BilinearTagger:
        """Restore what `state` returned; raises KeyError if something is missing."""
        arrays, stored_settings = state
        restored = cls(settings)
        restored.weights_, restored.centres_, restored.tried_ = (
            arrays[name] for name in ("weights", "centres", "tried")
        )
        restored.rate_, restored.epoch_ = stored_settings["rate"], stored_settings["epoch"]
        restored.curve_ = np.asarray(stored_settings["curve"], np.float64)
        return restored


@dataclass
class _Best:
    """The best weights so far, with their rate, epoch and held-out precision."""

    weights: Matrix
    rate: float = 0.0
    epoch: int = 0
    figure: float = -1.0


@dataclass
class _Walk:
    """The weights in training with one rate, the moments of Adam, and the progress."""

    weights: Matrix
    first: Matrix = field(init=False)
    second: Matrix = field(init=False)
    steps: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0

    def __post_init__(self) -> None:
        self.first, self.second = np.zeros_like(self.weights), np.zeros_like(self.weights)

    def step(self, gradient: Matrix, rate: float) -> None:
        """Make one step of Adam down the gradient."""
        self.steps += 1
        fast, slow = _DECAYS
        self.first *= fast
        self.first += (1 - fast) * gradient
        self.second *= slow
        self.second += (1 - slow) * np.square(gradient)
        width = np.sqrt(self.second)
        width *= (1 - slow**self.steps) ** -0.5
        width += _SMALL
        np.divide(self.first, width, out=width)
        width *= rate / (1 - fast**self.steps)
        self.weights -= width


class _Search:
    """The search over all rates, one after the other; `rows` has (rate, epoch, mean loss, held-out precision)
    for each epoch."""

    def __init__(
        self, settings: BilinearSettings, train: Dataset, validation: Dataset | None, context: FitContext
    ) -> None:
        if validation is None and (len(settings.rates) > 1 or settings.choose_epoch):
            raise ValueError(
                "rate and epoch are chosen on held-out images; give some, or one rate and choose_epoch=false"
            )
        tags = tags_of(train)
        if tags.vectors is None:
            raise ValueError("tags have no word vectors; give some")
        self.settings, self.context, self.tags, self.validation = settings, context, tags, validation
        self.images = checked_numbers(train.images, IMAGE_VIEW)
        self.vectors = checked_numbers(tags.vectors, "tag vectors")
        if validation is not None:
            checked_numbers(validation.images, f"held-out {IMAGE_VIEW}")
            _check_width(np.asarray(validation.images), self.images.shape[1], "held-out images")
            tags_of(validation)
        self.loss = TagLoss(settings.loss, settings.top)
        self.grid = Grid((Axis("rate", settings.rates),), PRECISION_OF_OWN, settings.grid_steps)
        self.rates: list[float] = []
        self.rows: list[tuple[float, ...]] = []
        self.trial, self.walk = 0, self._begun()
        self.best = _Best(self.walk.weights.copy())

    def _begun(self) -> _Walk:
        return _Walk(np.zeros((self.images.shape[1], self.vectors.shape[1])))

    def run(self) -> _Best:
        """Try the remaining rates. Raises ValueError if a loss is not a number."""
        checkpoint = self.context.checkpoints.latest()
        if checkpoint is not None:
            self.restore(*checkpoint)
        while self._begin_rate():
            while self.walk.epoch < self.settings.epochs:
                self._epoch(self.rates[self.trial])
                self._save_checkpoint()
            self.trial, self.walk = self.trial + 1, self._begun()
        self._report_progress()
        return self.best

    def _begin_rate(self) -> bool:
        """Begin with the rate of the checkpoint, or with the next of the grid; return whether there is
        one."""
        if self.trial == len(self.rates) and (setting := self.grid.next_setting(self._figures())) is not None:
            self.rates.append(setting[0])
        return self.trial < len(self.rates)

    def _figures(self) -> list[tuple[float, float]]:
        return [(float(rate), float(figure)) for rate, _, figure in self.tried()]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the chosen rate."""
        return self.grid.remarks(self._figures())

    def tried(self) -> Matrix:
        """The best epoch of each rate and its held-out precision, or the last epoch if none is chosen."""
        tried = []
        for rate in self.rates:
            rows = [row for row in self.rows if row[0] == rate]
            top = max(rows, key=lambda row: (row[3], -row[1])) if self.settings.choose_epoch else rows[-1]
            tried.append((rate, top[1], top[3]))
        return np.asarray(tried).reshape(-1, 3)

    def _epoch(self, rate: float) -> None:
        walk, size = self.walk, self.settings.batch
        rng = self.context.rng(f"order, {self.trial}, {walk.epoch}")
        order = rng.permutation(len(self.images))
        for start in range(walk.batch * size, len(order), size):
            self._report_progress()
            loss, gradient = bilinear_loss(
                walk.weights, self.images, self.tags, self.vectors, self.loss, order[start : start + size]
            )
            if not np.isfinite(loss):
                raise ValueError(f"the loss is {loss} with rate {rate:g}; choose a smaller one")
            walk.step(gradient, rate)
            walk.loss, walk.batch = walk.loss + loss, walk.batch + 1
            if self.context.checkpoints.due:
                self._save_checkpoint()
        walk.epoch, walk.batch = walk.epoch + 1, 0
        figure = self._figure()
        self.rows.append((rate, walk.epoch, walk.loss / len(order), figure))
        walk.loss = 0.0
        if figure > self.best.figure and (self.settings.choose_epoch or walk.epoch == self.settings.epochs):
            self.best = _Best(walk.weights.copy(), rate, walk.epoch, figure)

    def _figure(self) -> float:
        if self.validation is None:
            return 0.0
        sides = self.vectors @ self.walk.weights.T
        scores = np.asarray(self.validation.images, np.float64) @ sides.T
        return held_out_precision(scores, tags_of(self.validation))

    def _report_progress(self) -> None:
        batches = -(-len(self.images) // self.settings.batch)
        total = max(self.grid.size, len(self.rates)) * self.settings.epochs * batches
        done = (self.trial * self.settings.epochs + self.walk.epoch) * batches + self.walk.batch
        self.context.progress(_PHASE, done, total)

    def _save_checkpoint(self) -> None:
        walk, best = self.walk, self.best
        self.context.checkpoints.save(
            {
                "weights": walk.weights,
                "first": walk.first,
                "second": walk.second,
                "best": best.weights,
            },
            {
                "trial": self.trial,
                "rates": self.rates,
                "walk": [walk.steps, walk.epoch, walk.batch, walk.loss],
                "best": [best.rate, best.epoch, best.figure],
                "rows": [list(row) for row in self.rows],
                "run": {  # the learning curve so far, for a person who watches
                    "curve": [list(row[1:]) for row in self.rows if row[0] == self.rates[self.trial]],
                    "figure": PRECISION,
                },
            },
        )

    def restore(self, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> None:
        """Restore the contents of a checkpoint; raises KeyError if something is missing."""
        self.trial, self.rates = settings["trial"], list(settings["rates"])
        self.walk = _Walk(np.array(arrays["weights"]))
        self.walk.first, self.walk.second = np.array(arrays["first"]), np.array(arrays["second"])
        self.walk.steps, self.walk.epoch, self.walk.batch, self.walk.loss = settings["walk"]
        self.best = _Best(np.array(arrays["best"]), *settings["best"])
        self.rows = [tuple(row) for row in settings["rows"]]


def bilinear_loss(
    weights: Matrix,
    images: Matrix,
    tags: Any,
    vectors: Matrix,
    loss: TagLoss,
    batch: NDArray[np.intp],
) -> tuple[float, Matrix]:
    """Return the summed loss of a batch of images (equation 2), and the gradient of its mean with respect to
    the weights."""
    numbers, there = tags.padded(batch)
    if numbers.dtype.kind != "i":
        numbers = numbers.astype(np.intp)
    tag_vectors = vectors[numbers]
    x = images[batch]
    scores = np.einsum("ile,ie->il", tag_vectors, x @ weights)
    losses, by_score = loss.of(scores, there)
    pulled = np.einsum("il,ile->ie", by_score, tag_vectors)
    return float(losses.sum()), x.T @ pulled / len(batch)


def _centres(images: Matrix, train: Dataset) -> NDArray[np.float32]:
    """Return the mean image of each tag, shape (tags, numbers of an image): phi_y of equation 10."""
    tags = tags_of(train)
    sums, counts = np.zeros((tags.vocabulary, images.shape[1])), np.zeros(tags.vocabulary)
    for image in range(len(tags)):
        tags_of_image = tags.item(image)
        sums[tags_of_image] += images[image]
        counts[tags_of_image] += 1
    return np.asarray(sums / np.maximum(counts, 1)[:, None], np.float32)


def _directed(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def _check_width(rows: NDArray[Any], width: int, name: str) -> None:
    if rows.ndim != 2 or rows.shape[1] != width:
        columns = rows.shape[1] if rows.ndim == 2 else 0
        raise ValueError(f"{name} of {columns} numbers against {width}; expected the same")
