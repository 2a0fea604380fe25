"""Training of the looks at boxes close up, from accepted boxes that are moved, and from other places.

A phrase gives one or two close-ups in each step. One shows an accepted box whose middle and extent were moved
at random, a little or a lot. The other shows a thing of another phrase of the picture, or a random place as
large as the phrase's thing, so that the chance of acceptance is learned from wrong things too. For the last
look only one phrase in three gives this second close-up, since that look is mainly for the sides. If a
close-up overlaps a box of the phrase, its sides should be that box's (logarithm of IoU, and cross-entropy of
the two cells beside each side). The chance is that of the network's own box: whether it is as tight as people
demand (IoU `ACCEPTED_IOU`). Half of the pictures are mirrored. For the last look, at boxes found by the
second, boxes are moved less.

The looks are trained independently: none needs the results of another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from models_core.estimators.neural.proposer.close_ups import close_ups
from models_core.estimators.neural.proposer.examples import TrainingPicture, Words, mirrored, pictures_tensor
from models_core.estimators.neural.proposer.network import device_of, overlap
from models_core.estimators.neural.proposer.refiner import RefinerNetwork, cell_places, refined_boxes
from models_core.estimators.neural.proposer.training import ACCEPTED_IOU, ProposerSettings, take_steps

Moves = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class LookTraining:
    """How a look close up is trained.

    `moves` are standard deviations by which a box is moved, of its middle as a share of its extent and of the
    logarithm of its extent, the smallest first; one of them is drawn at random. `elsewhere` is the share of
    the phrases that give a second close-up, of another place.
    """

    moves: Moves
    elsewhere: float


SECOND_TRAINING = LookTraining(((0.06, 0.10), (0.15, 0.25), (0.25, 0.45)), 1.0)
LAST_TRAINING = LookTraining(((0.03, 0.06), (0.08, 0.14), (0.15, 0.25)), 1 / 3)
#: The probability that the other place is another phrase's thing; otherwise it is any place.
_OF_OTHERS = 0.6
#: A close-up learns the sides of a box if the box in its middle has at least this IoU with it.
_LEAST_IOU = 0.1
_WEIGHTS = {"overlap": 2.0, "sides": 0.5, "accepted": 1.0}


def train_refiner(
    network: RefinerNetwork,
    words: Words,
    pictures: Sequence[TrainingPicture],
    settings: ProposerSettings,
    rng: np.random.Generator,
    report_progress: Callable[[int, int], object] = lambda done, of: None,
    *,
    steps: int,
    training: LookTraining = SECOND_TRAINING,
) -> None:
    """Train on `pictures` for this many steps; `report_progress` is called after each."""

    def loss_of(chosen: Sequence[TrainingPicture]) -> Tensor:
        return _batch_loss(network, words, chosen, rng, training)

    take_steps(network, loss_of, pictures, settings, rng, report_progress, steps=steps)


def _batch_loss(
    network: RefinerNetwork,
    words: Words,
    pictures: Sequence[TrainingPicture],
    rng: np.random.Generator,
    training: LookTraining,
) -> Tensor:
    colours: list[NDArray[np.uint8]] = []
    spoken_phrases: list[tuple[str, ...]] = []
    accepted: list[NDArray[np.float64]] = []
    boxes: list[NDArray[np.float64]] = []
    of: list[int] = []
    pictures_of: list[int] = []
    for index, picture in enumerate(pictures):
        mirror = rng.random() < 0.5
        colours.append(np.ascontiguousarray(picture.colours[:, ::-1]) if mirror else picture.colours)
        boxes_of_phrases = [mirrored(phrase.boxes) if mirror else phrase.boxes for phrase in picture.phrases]
        for number, phrase in enumerate(picture.phrases):
            others = [
                phrase_boxes
                for index_of_other, phrase_boxes in enumerate(boxes_of_phrases)
                if index_of_other != number
            ]
            box = _one_of(boxes_of_phrases[number], rng)
            looked_at = [_moved(box, rng, training.moves)]
            if rng.random() < training.elsewhere:
                looked_at.append(_elsewhere(box, others, rng, training.moves))
            boxes += looked_at
            of += [len(spoken_phrases)] * len(looked_at)
            pictures_of += [index] * len(looked_at)
            spoken_phrases.append(phrase.wordings[int(rng.integers(len(phrase.wordings)))])
            accepted.append(boxes_of_phrases[number])
    pixels, windows = close_ups(colours, np.stack(boxes), pictures_of, network.view)
    gold = np.zeros((len(spoken_phrases), max(map(len, accepted)), 4), np.float32)
    for row, phrase_boxes in zip(gold, accepted, strict=True):
        row[: len(phrase_boxes)] = phrase_boxes
    device = device_of(network)
    whose = torch.tensor(of, device=device)
    seen = torch.from_numpy(windows.astype(np.float32)).to(device)
    phrases = words.batch(spoken_phrases, list(range(len(spoken_phrases)))).to(device)
    sides, logits = network(pictures_tensor(list(pixels)).to(device), seen, phrases, whose)
    placed = torch.from_numpy(np.stack(boxes).astype(np.float32)).to(device)
    return close_loss(sides, logits, seen, placed, torch.from_numpy(gold).to(device)[whose])


def close_loss(sides: Tensor, logits: Tensor, windows: Tensor, boxes: Tensor, gold: Tensor) -> Tensor:
    """Return the loss of the network's outputs for close-ups of `boxes`, (n, 4), that show `windows`; `gold`
    has the accepted boxes of each one's phrase, (n, most, 4), padded with empty ones."""
    overlaps = overlap(boxes[:, None], gold)
    best, which = overlaps.max(1)
    target = gold[torch.arange(len(gold), device=gold.device), which]
    refined = refined_boxes(sides, windows)
    with torch.no_grad():
        tight = (overlap(refined[:, None], gold).amax(1) >= ACCEPTED_IOU).float()
    loss = _WEIGHTS["accepted"] * functional.binary_cross_entropy_with_logits(logits, tight)
    near = best >= _LEAST_IOU
    if near.any():
        loss = loss - _WEIGHTS["overlap"] * (overlap(refined[near], target[near]) + 1e-3).log().mean()
        loss = loss + _WEIGHTS["sides"] * _sides_loss(sides[near], windows[near], target[near])
    return loss


def _sides_loss(sides: Tensor, windows: Tensor, target: Tensor) -> Tensor:
    """Return the cross-entropy of the two cells beside each side, weighted by how near they are."""
    cells = sides.shape[-1]
    places = cell_places(cells, sides.device)
    extent = (windows[:, 2:] - windows[:, :2]).repeat(1, 2)
    at = (target - windows[:, :2].repeat(1, 2)) / extent
    cell = ((at - places[0]) / (places[1] - places[0])).clamp(0, cells - 1.001)
    low = cell.floor()
    chances = sides.log_softmax(-1)
    near = chances.gather(-1, low.long()[..., None])[..., 0]
    far = chances.gather(-1, low.long()[..., None] + 1)[..., 0]
    return -((1 - (cell - low)) * near + (cell - low) * far).mean()


def _one_of(boxes: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(boxes[int(rng.integers(len(boxes)))])


def _moved(box: NDArray[np.float64], rng: np.random.Generator, moves: Moves) -> NDArray[np.float64]:
    """Return the box, moved and resized at random, within the picture."""
    middle, extent = moves[int(rng.integers(len(moves)))]
    size = np.maximum(box[2:] - box[:2], 1e-3)
    at = (box[:2] + box[2:]) / 2 + rng.normal(0, middle, 2) * size
    size = size * np.exp(rng.normal(0, extent, 2))
    return np.clip(np.concatenate([at - size / 2, at + size / 2]), 0, 1)


def _elsewhere(
    box: NDArray[np.float64], others: Sequence[NDArray[Any]], rng: np.random.Generator, moves: Moves
) -> NDArray[np.float64]:
    """Return a thing of another phrase, or a random place as large as `box`."""
    if others and rng.random() < _OF_OTHERS:
        return _moved(_one_of(others[int(rng.integers(len(others)))], rng), rng, moves[:1])
    size = box[2:] - box[:2]
    return _moved(np.concatenate([at := rng.random(2) * (1 - size), at + size]), rng, moves)
