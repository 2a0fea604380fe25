"""How a proposer learns: a loss for each cell, gradient steps in epochs, and the chance set right at the end.

The loss of a phrase has three parts. Cells within a fifth of a thing's extent from its middle are to say so
(binary cross-entropy), and their box is to be the thing's (logarithm of IoU, and the difference of sides).
Every cell is to say whether its own box is as tight as people demand, IoU `ACCEPTED_IOU` with any box of the
phrase: so the chance of acceptance is learned for whatever box would be proposed. Half of the pictures are
mirrored.

The chance is learned on pictures that were seen many times, so it is too high for new ones. On a held-out
part two numbers are fitted by which logits are multiplied and moved (Platt 1999, from memory).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from models_core.checked_fields import check_fields
from models_core.estimators.neural.proposer.examples import TaughtPicture, Words, pictures_tensor
from models_core.estimators.neural.proposer.network import (
    ProposerNetwork,
    cell_boxes,
    cell_centres,
    overlap,
)

#: A box is tight, and accepted, from this IoU on (`annotation.protocol.gold.TIGHT`).
ACCEPTED_IOU = 0.7
#: Share of a thing's extent, from its middle, within which cells learn its box; in cells, at least.
_MIDDLE, _LEAST_CELLS = 0.2, 0.6
_WEIGHTS = {"middle": 0.3, "accepted": 0.3, "overlap": 9.0, "sides": 15.0}
_CLIP = 5.0
#: Held-out phrases accepted, and refused, from which both numbers are fitted.
_LEAST_OF_EITHER = 5
#: Steps of the fit of two numbers, which is a logistic regression by Newton's method.
_NEWTON = 25


@dataclass(frozen=True, slots=True)
class ProposerSettings:
    """How a proposer learns. Raises BadField."""

    side: Annotated[int, Field(ge=64, le=512, multiple_of=32, description="Pixels of a picture's side")] = 192
    epochs: Annotated[int, Field(ge=1, le=1000, description="Times that each picture is learned from")] = 14
    batch: Annotated[int, Field(ge=1, le=256, description="Pictures of a step")] = 8
    rate: Annotated[float, Field(gt=0, le=1, description="Largest learning rate")] = 3e-3
    held_out: Annotated[
        float, Field(ge=0, lt=1, description="Share of the pictures by which the chance is set right")
    ] = 0.1

    def __post_init__(self) -> None:
        check_fields(self)


def train_network(
    network: ProposerNetwork,
    words: Words,
    pictures: Sequence[TaughtPicture],
    settings: ProposerSettings,
    dice: np.random.Generator,
    told: Callable[[int, int], object] = lambda done, of: None,
) -> None:
    """Learn from `pictures` for so many epochs; `told` is called after each step."""
    batches = max(1, len(pictures) // settings.batch)
    steps = settings.epochs * batches
    optimizer = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.rate, total_steps=max(2, steps + 1), pct_start=0.1
    )
    network.train()
    for epoch in range(settings.epochs):
        order = dice.permutation(len(pictures))
        for place, chosen in enumerate(np.array_split(order, batches)):
            loss = _batch_loss(network, words, [pictures[i] for i in chosen], dice)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimizer.step()
            schedule.step()
            told(epoch * batches + place + 1, steps)
    network.eval()


def _batch_loss(
    network: ProposerNetwork, words: Words, pictures: Sequence[TaughtPicture], dice: np.random.Generator
) -> Tensor:
    mirrored = dice.random(len(pictures)) < 0.5
    colours = [p.colours[:, ::-1] if turn else p.colours for p, turn in zip(pictures, mirrored, strict=True)]
    said: list[tuple[str, ...]] = []
    of: list[int] = []
    things: list[int] = []
    boxes: list[NDArray[Any]] = []
    for place, (picture, turn) in enumerate(zip(pictures, mirrored, strict=True)):
        for phrase in picture.phrases:
            own = (
                phrase.boxes
                if not turn
                else np.stack(
                    [1 - phrase.boxes[:, 2], phrase.boxes[:, 1], 1 - phrase.boxes[:, 0], phrase.boxes[:, 3]],
                    1,
                )
            )
            # The largest first, so that a cell in the middle of two learns the smaller.
            order = np.argsort(-(own[:, 2] - own[:, 0]) * (own[:, 3] - own[:, 1]), kind="stable")
            things += [len(said)] * len(own)
            boxes.append(own[order])
            said.append(phrase.said[int(dice.integers(len(phrase.said)))])
            of.append(place)
    out = network(pictures_tensor([np.ascontiguousarray(c) for c in colours]), words.batch(said, of))
    gold = torch.from_numpy(np.concatenate(boxes).astype(np.float32))
    return phrase_loss(out, torch.tensor(things), gold)


def phrase_loss(out: Tensor, things: Tensor, gold: Tensor) -> Tensor:
    """The loss of what cells say (phrases, 6, cells, cells), with boxes (n, 4) of the phrases `things`."""
    phrases, _, cells, _ = out.shape
    proposed = cell_boxes(out)
    with torch.no_grad():
        tight = torch.zeros((phrases, cells, cells))
        for thing, box in zip(things.tolist(), gold, strict=True):
            tight[thing] = torch.maximum(tight[thing], overlap(proposed[thing], box))
        tight = (tight >= ACCEPTED_IOU).float()
        middle, target = _middles(things, gold, phrases, cells)
    cross = functional.binary_cross_entropy_with_logits
    loss = _WEIGHTS["middle"] * cross(out[:, 0], middle.float(), reduction="sum") / phrases
    loss = loss + _WEIGHTS["accepted"] * cross(out[:, 1], tight, reduction="sum") / phrases
    own, wanted = proposed[middle], target[middle]
    loss = loss - _WEIGHTS["overlap"] * (overlap(own, wanted) + 1e-3).log().mean()
    return loss + _WEIGHTS["sides"] * (own - wanted).abs().mean()


def _middles(things: Tensor, gold: Tensor, phrases: int, cells: int) -> tuple[Tensor, Tensor]:
    """Which cells are in the middle of a thing, (phrases, cells, cells), and its box, (..., 4)."""
    across, down = cell_centres(cells)
    middle = torch.zeros((phrases, cells, cells), dtype=torch.bool)
    target = torch.zeros((phrases, cells, cells, 4))
    for thing, box in zip(things.tolist(), gold, strict=True):
        centre, extent = (box[:2] + box[2:]) / 2, box[2:] - box[:2]
        reach = (extent * _MIDDLE).clamp(min=_LEAST_CELLS / cells)
        near = ((across - centre[0]).abs() <= reach[0]) & ((down - centre[1]).abs() <= reach[1])
        middle[thing] |= near
        target[thing][near] = box
    return middle, target


def fit_chance(logits: NDArray[Any], accepted: NDArray[np.bool_]) -> tuple[float, float]:
    """(a, b) for which 1 / (1 + exp(-(a logit + b))) is the chance of acceptance.

    Targets are drawn towards a half by as much as two more phrases would, as Platt does. Where fewer than
    five were accepted, or refused, a is 1, and b brings the mean logit to that of the share accepted, one
    more of either counted: who has learned little is not sure of it. (1, 0) without data.
    """
    if not len(accepted):
        return 1.0, 0.0
    good = int(accepted.sum())
    bad = len(accepted) - good
    if good < _LEAST_OF_EITHER or bad < _LEAST_OF_EITHER:
        return 1.0, float(np.log((good + 1) / (bad + 1)) - np.mean(logits))
    target = np.where(accepted, (good + 1) / (good + 2), 1 / (bad + 2))
    features = np.column_stack([np.asarray(logits, float), np.ones(len(logits))])
    found = np.array([1.0, 0.0])
    for _ in range(_NEWTON):
        chance = 1 / (1 + np.exp(-np.clip(features @ found, -30, 30)))
        gradient = features.T @ (chance - target) + 1e-3 * (found - (1.0, 0.0))
        curvature = (features * (chance * (1 - chance))[:, None]).T @ features + 1e-3 * np.eye(2)
        found = found - np.linalg.solve(curvature, gradient)
    slope, move = float(found[0]), float(found[1])
    return (slope, move) if slope > 0 and np.isfinite(slope + move) else (1.0, 0.0)
