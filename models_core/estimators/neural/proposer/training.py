"""Train a proposer: a loss for each cell, gradient steps in epochs, and a calibration of the chance at the
end.

The loss of a phrase has three parts. Cells within a fifth of a thing's extent from its middle should say so
(binary cross-entropy), and their box should be the thing's (logarithm of IoU, and the difference of sides).
Every cell should say how good its own box is: 0 up to an IoU of 0.2 with any box of the phrase, 1 from 0.8
on. Half of the pictures are mirrored. In each step a phrase uses only some cells, sampled from the middles of
its things and from the whole picture; each is weighted by the number of cells it represents, but boxes are
learned from small things as much as from large ones.

The chance is learned on pictures that were seen many times, so it is too high for new ones. So a scale and an
offset of the logits are fitted on a held-out part (Platt 1999, from memory).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from models_core.checked_fields import CheckedRecord
from models_core.estimators.neural.proposer.examples import (
    TrainingPicture,
    Words,
    mirrored,
    pictures_tensor,
    smaller,
)
from models_core.estimators.neural.proposer.network import (
    CELL,
    ProposerNetwork,
    cell_boxes,
    centres_of,
    device_of,
    overlap,
)

#: A box is tight, and accepted, from this IoU on (`annotation.protocol.gold.TIGHT`).
ACCEPTED_IOU = 0.7
#: IoU up to which a box is useless even for a second look, and IoU from which it is as good as possible.
_USELESS, _TIGHT = 0.2, 0.8
#: The share of a thing's extent, from its middle, within which cells learn its box, and the minimum in cells.
_MIDDLE, _LEAST_CELLS = 0.2, 0.6
_WEIGHTS = {"middle": 0.3, "accepted": 0.3, "overlap": 9.0, "sides": 15.0}
_CLIP = 5.0
#: Number of cells sampled for a phrase in a step: in the middle of its things, and anywhere.
_OF_MIDDLES, _OF_ALL = 24, 128
#: Least number of accepted, and of refused, held-out phrases for fitting both numbers.
_LEAST_OF_EITHER = 5
#: Steps of the three looks in a training run that continues an earlier one; and in one from scratch, which
#: takes so many epochs, but no fewer and no more steps than these. What they are worth:
#: docs/model_annotators.md.
STEPS_CONTINUED = (1000, 500, 500)
STEPS_FROM_SCRATCH, MOST_STEPS_FROM_SCRATCH = (1200, 600, 600), (7200, 3600, 1800)
EPOCHS_FROM_SCRATCH = (240, 120, 60)
#: Number of steps of Newton's method for the logistic regression.
_NEWTON = 25


@dataclass(frozen=True, slots=True)
class ProposerSettings(CheckedRecord):
    """How a proposer learns. Raises BadField."""

    side: Annotated[int, Field(ge=64, le=512, multiple_of=32, description="Pixels of a picture's side")] = 384
    overview: Annotated[
        int,
        Field(ge=64, le=512, multiple_of=32, description="Pixels of its side, at most, at the first look"),
    ] = 128
    epochs: Annotated[int, Field(ge=1, le=1000, description="Times that each picture is learned from")] = 32
    looks: Annotated[
        int, Field(ge=0, le=5, description="Times that a box is looked at close up, and refined")
    ] = 2
    close_epochs: Annotated[
        int, Field(ge=1, le=1000, description="Times that the second look learns from each picture")
    ] = 16
    last_epochs: Annotated[
        int,
        Field(
            ge=0, le=1000, description="Times that the last look learns from each picture; 0: there is none"
        ),
    ] = 16
    batch: Annotated[int, Field(ge=1, le=256, description="Pictures of a step")] = 4
    rate: Annotated[float, Field(gt=0, le=1, description="Largest learning rate")] = 3e-3
    held_out: Annotated[
        float, Field(ge=0, lt=1, description="Share of the pictures by which the chance is set right")
    ] = 0.1

    def training_steps(self, pictures: int, *, from_scratch: bool) -> tuple[int, ...]:
        """Return the steps of each look when a campaign's model annotator is trained on this many pictures,
        not counting those held out.

        From scratch there are `EPOCHS_FROM_SCRATCH`, but at least `STEPS_FROM_SCRATCH` and at most
        `MOST_STEPS_FROM_SCRATCH` steps. A run that continues an earlier one takes `STEPS_CONTINUED`.
        """
        if not from_scratch:
            return self._of_looks(STEPS_CONTINUED)
        batches = max(1, pictures // self.batch)
        epochs = zip(EPOCHS_FROM_SCRATCH, STEPS_FROM_SCRATCH, MOST_STEPS_FROM_SCRATCH, strict=True)
        return self._of_looks([max(least, min(count * batches, most)) for count, least, most in epochs])

    def usual_steps(self, pictures: int) -> tuple[int, ...]:
        """Return the steps of each look if it learns from this many pictures for its number of epochs."""
        batches = max(1, pictures // self.batch)
        return self._of_looks(
            [count * batches for count in (self.epochs, self.close_epochs, self.last_epochs)]
        )

    def _of_looks(self, steps: Sequence[int]) -> tuple[int, ...]:
        """Return the steps of the looks that these settings have, from those of all three."""
        if not self.looks:
            return tuple(steps[:1])
        return tuple(steps if self.last_epochs else steps[:2])

    def lasting(self, epochs: int) -> ProposerSettings:
        """Return these settings with this many epochs; the epochs of the looks close up change in
        proportion."""
        close, last = (
            count and max(1, round(count * epochs / self.epochs))
            for count in (self.close_epochs, self.last_epochs)
        )
        return replace(self, epochs=epochs, close_epochs=close, last_epochs=last)


def train_network(
    network: ProposerNetwork,
    words: Words,
    pictures: Sequence[TrainingPicture],
    settings: ProposerSettings,
    rng: np.random.Generator,
    report_progress: Callable[[int, int], object] = lambda done, of: None,
    *,
    steps: int,
) -> None:
    """Train on `pictures` for this many steps; `report_progress` is called after each."""

    def loss_of(chosen: Sequence[TrainingPicture]) -> Tensor:
        return _batch_loss(network, words, chosen, settings.overview, rng)

    take_steps(network, loss_of, pictures, settings, rng, report_progress, steps=steps)


def take_steps(
    network: nn.Module,
    loss_of: Callable[[Sequence[TrainingPicture]], Tensor],
    pictures: Sequence[TrainingPicture],
    settings: ProposerSettings,
    rng: np.random.Generator,
    report_progress: Callable[[int, int], object],
    *,
    steps: int,
) -> None:
    """Take this many gradient steps, each on the loss of some of the pictures; call `report_progress` after
    each."""
    optimizer = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.rate, total_steps=max(2, steps + 1), pct_start=0.1
    )
    network.train()
    for done, chosen in enumerate(batches_of(len(pictures), settings.batch, steps, rng), 1):
        loss = loss_of([pictures[i] for i in chosen])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
        optimizer.step()
        schedule.step()
        report_progress(done, steps)
    network.eval()


def batches_of(pictures: int, batch: int, steps: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the pictures of each step: `batch` of them or a few more.

    An epoch contains all pictures, in a new order. The last epoch may be cut short.
    """
    batches = max(1, pictures // batch)
    parts: list[NDArray[np.intp]] = []
    for step in range(steps):
        if step % batches == 0:
            parts = np.array_split(rng.permutation(pictures), batches)
        yield parts[step % batches]


def _batch_loss(
    network: ProposerNetwork,
    words: Words,
    pictures: Sequence[TrainingPicture],
    overview: int,
    rng: np.random.Generator,
) -> Tensor:
    turned = rng.random(len(pictures)) < 0.5
    small = [smaller(p.colours, overview) for p in pictures]
    colours = [
        picture_colours[:, ::-1] if mirror else picture_colours
        for picture_colours, mirror in zip(small, turned, strict=True)
    ]
    phrases: list[tuple[str, ...]] = []
    of: list[int] = []
    boxes: list[NDArray[Any]] = []
    for index, (picture, mirror) in enumerate(zip(pictures, turned, strict=True)):
        for phrase in picture.phrases:
            boxes.append(mirrored(phrase.boxes) if mirror else phrase.boxes)
            phrases.append(phrase.wordings[int(rng.integers(len(phrase.wordings)))])
            of.append(index)
    side = colours[0].shape[0] // CELL
    device = device_of(network)
    cells = sampled_cells(boxes, side, rng).to(device)
    outputs = network(
        pictures_tensor([np.ascontiguousarray(c) for c in colours]).to(device),
        words.batch(phrases, of).to(device),
        cells.cells,
    )
    return phrase_loss(outputs, cells, side)


@dataclass(frozen=True, slots=True)
class SampledCells:
    """Cells sampled for each phrase, (phrases, cells). The first `_OF_MIDDLES` are in the middle of a thing
    of the phrase, whose box is `target`, (phrases, `_OF_MIDDLES`, 4).

    `weight` is the number of cells that each represents; `gold` has all boxes of each phrase, padded with
    empty ones, (phrases, most, 4).
    """

    cells: Tensor
    target: Tensor
    weight: Tensor
    gold: Tensor

    def to(self, device: Any) -> SampledCells:
        """Return a copy on this device."""
        return SampledCells(
            *(tensor.to(device) for tensor in (self.cells, self.target, self.weight, self.gold))
        )


def sampled_cells(boxes: Sequence[NDArray[Any]], side: int, rng: np.random.Generator) -> SampledCells:
    """Sample cells for phrases with these boxes, each (n, 4), on a grid with `side` cells per row."""
    phrases, most = len(boxes), max(map(len, boxes))
    gold = np.zeros((phrases, most, 4))
    for row, phrase_boxes in zip(gold, boxes, strict=True):
        row[: len(phrase_boxes)] = phrase_boxes
    middle, extent = (gold[..., :2] + gold[..., 2:]) / 2, gold[..., 2:] - gold[..., :2]
    there = extent.min(-1) > 0
    reach = np.maximum(extent * _MIDDLE, _LEAST_CELLS / side)
    counts = np.array([len(phrase_boxes) for phrase_boxes in boxes])
    which = (rng.random((phrases, _OF_MIDDLES)) * counts[:, None]).astype(int)
    phrase = np.arange(phrases)[:, None]
    at = middle[phrase, which] + rng.uniform(-1, 1, (phrases, _OF_MIDDLES, 2)) * reach[phrase, which]
    inside = np.clip((at * side).astype(int), 0, side - 1)
    anywhere = rng.integers(0, side * side, (phrases, _OF_ALL))
    centres = np.stack([anywhere % side, anywhere // side], -1) / side + 0.5 / side
    apart = np.abs(centres[:, :, None] - middle[:, None]) <= reach[:, None]
    in_middle = (apart.all(-1) & there[:, None]).any(-1)
    stands = np.where(there, np.maximum((2 * reach * side).prod(-1), 1), 0).sum(1)
    weight = np.concatenate(
        [
            np.repeat(stands[:, None] / _OF_MIDDLES, _OF_MIDDLES, 1),
            np.where(in_middle, 0.0, side * side / _OF_ALL),
        ],
        1,
    )
    return SampledCells(
        torch.from_numpy(np.concatenate([inside[..., 1] * side + inside[..., 0], anywhere], 1)),
        torch.from_numpy(gold[phrase, which].astype(np.float32)),
        torch.from_numpy(weight.astype(np.float32)),
        torch.from_numpy(gold.astype(np.float32)),
    )


def phrase_loss(outputs: Tensor, cells: SampledCells, side: int) -> Tensor:
    """Return the loss of the outputs of the sampled cells, (phrases, cells, 6), on a grid with `side` cells
    per row."""
    phrases = len(outputs)
    proposed = cell_boxes(outputs, centres_of(cells.cells, side))
    with torch.no_grad():
        best = overlap(proposed[:, :, None], cells.gold[:, None]).amax(2)
        good = ((best - _USELESS) / (_TIGHT - _USELESS)).clamp(0, 1)
        middle = torch.zeros_like(good)
        middle[:, :_OF_MIDDLES] = 1
    cross = functional.binary_cross_entropy_with_logits
    loss = _WEIGHTS["middle"] * cross(outputs[..., 0], middle, cells.weight, reduction="sum") / phrases
    loss = loss + _WEIGHTS["accepted"] * cross(outputs[..., 1], good, cells.weight, reduction="sum") / phrases
    middle_boxes = proposed[:, :_OF_MIDDLES]
    loss = loss - _WEIGHTS["overlap"] * (overlap(middle_boxes, cells.target) + 1e-3).log().mean()
    return loss + _WEIGHTS["sides"] * (middle_boxes - cells.target).abs().mean()


def fit_chance(logits: NDArray[Any], accepted: NDArray[np.bool_]) -> tuple[float, float]:
    """Return (a, b) for which 1 / (1 + exp(-(a logit + b))) is the chance of acceptance.

    Targets are moved towards 0.5 by as much as two more phrases would move them, as Platt does. Where fewer
    than five were accepted, or refused, a is 1, and b brings the mean logit to that of the share accepted,
    with one more of either: a model that has learned little should not be confident. (1, 0) without data.
    """
    if not len(accepted):
        return 1.0, 0.0
    good = int(accepted.sum())
    bad = len(accepted) - good
    if good < _LEAST_OF_EITHER or bad < _LEAST_OF_EITHER:
        return 1.0, float(np.log((good + 1) / (bad + 1)) - np.mean(logits))
    coefficients = _logistic(
        np.column_stack([np.asarray(logits, float), np.ones(len(logits))]), accepted, (1.0, 0.0)
    )
    slope, move = float(coefficients[0]), float(coefficients[1])
    return (slope, move) if slope > 0 and np.isfinite(slope + move) else (1.0, 0.0)


def fit_weights(
    logits: NDArray[Any], accepted: NDArray[np.bool_], usual: Sequence[float]
) -> tuple[float, ...] | None:
    """Return the weight of each look's logit, (n, looks), in the chance of acceptance; None if too few were
    accepted or refused to fit it. Weights are regularised a little towards `usual`, (looks,)."""
    if min(int(accepted.sum()), int((~accepted).sum())) < _LEAST_OF_EITHER:
        return None
    features = np.column_stack([np.asarray(logits, float), np.ones(len(logits))])
    coefficients = _logistic(features, accepted, (*usual, 0.0))
    return tuple(float(weight) for weight in coefficients[:-1]) if np.isfinite(coefficients).all() else None


def _logistic(
    features: NDArray[Any], accepted: NDArray[np.bool_], start: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return the weights of a logistic regression, regularised a little towards `start`."""
    good = int(accepted.sum())
    bad = len(accepted) - good
    target = np.where(accepted, (good + 1) / (good + 2), 1 / (bad + 2))
    begun = np.array(start)

    def loss(weights: NDArray[np.float64]) -> float:
        logit = features @ weights
        drawn = 1e-3 * float(((weights - begun) ** 2).sum()) / 2
        return float((np.logaddexp(0, logit) - target * logit).sum()) + drawn

    coefficients = begun.copy()
    for _ in range(_NEWTON):
        chance = 1 / (1 + np.exp(-np.clip(features @ coefficients, -30, 30)))
        gradient = features.T @ (chance - target) + 1e-3 * (coefficients - begun)
        curvature = (features * (chance * (1 - chance))[:, None]).T @ features + 1e-3 * np.eye(
            len(coefficients)
        )
        step, now = np.linalg.solve(curvature, gradient), loss(coefficients)
        # From far away a whole step may go past the minimum, and further each time.
        while loss(coefficients - step) > now and np.abs(step).max() > 1e-9:
            step = step / 2
        coefficients = coefficients - step
    return coefficients
