"""A proposer of boxes for phrases, learned from boxes that people accepted: what teaches a machine worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models_core.estimators.neural.proposer.examples import TaughtPicture, Words, pictures_tensor
from models_core.estimators.neural.proposer.network import ProposerNetwork, cell_boxes
from models_core.estimators.neural.proposer.training import (
    ACCEPTED_IOU,
    ProposerSettings,
    fit_chance,
    train_network,
)
from models_core.storage import BadModel, load_model, save_model

#: The kind under which proposers are stored.
PROPOSER_KIND = "box-proposer"
#: Proposals of a phrase, and the overlap from which two of them are one.
_PROPOSALS, _SAME = 5, 0.5
#: Pictures that are looked at together.
_TOGETHER = 16
#: Held-out phrases that there must be for the chance to be set right.
_LEAST_HELD_OUT = 30


class NothingToLearn(ValueError):
    """Pictures without a phrase that has a box; one line with the remedy."""


@dataclass(slots=True)
class BoxProposer:
    """A proposer: its settings; once it has learned, its words, its network and what sets chances right."""

    settings: ProposerSettings = field(default_factory=ProposerSettings)
    words_: Words = field(default_factory=Words)
    network_: ProposerNetwork | None = None
    chance_: tuple[float, float] = (1.0, 0.0)

    def fit(
        self,
        pictures: Sequence[TaughtPicture],
        *,
        seed: int = 0,
        begin: BoxProposer | None = None,
        told: Callable[[int, int], object] = lambda done, of: None,
    ) -> BoxProposer:
        """Learn from `pictures`, from the weights and words of `begin` on where it is given.

        The last `held_out` of them set the chance right. Raises NothingToLearn.
        """
        taught = [picture for picture in pictures if picture.phrases]
        if not taught:
            raise NothingToLearn(
                "no picture has a phrase with an accepted box; teach from finished images that have boxes"
            )
        for picture in taught:
            self._check(picture.colours)
        held = int(len(taught) * self.settings.held_out)
        held_out = taught[len(taught) - held :]
        if sum(len(picture.phrases) for picture in held_out) < _LEAST_HELD_OUT:
            held_out = []
        learned = taught[: len(taught) - held] if held_out else taught
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if begin is not None and begin.network_ is not None:
                said = [one for picture in learned for phrase in picture.phrases for one in phrase.said]
                self.words_ = begin.words_.with_more(said)
                network = ProposerNetwork(len(self.words_.numbers) + 1)
                network.take_over(begin.network_)
            else:
                said = [one for picture in learned for phrase in picture.phrases for one in phrase.said]
                self.words_ = Words.of(said)
                network = ProposerNetwork(len(self.words_.numbers) + 1)
            dice = np.random.default_rng([seed, len(learned)])
            train_network(network, self.words_, learned, self.settings, dice, told)
        self.network_, self.chance_ = network, (1.0, 0.0)
        if held_out:
            self.chance_ = self._calibrated(held_out)
        return self

    def propose(
        self, colours: Sequence[NDArray[np.uint8]], phrases: Sequence[Sequence[Sequence[str]]]
    ) -> list[list[NDArray[np.float64]]]:
        """For each picture and each of its phrases (words) the boxes to propose, the best first.

        Shape (boxes, 5): left, top, right, bottom as shares of the picture, and the chance of acceptance.
        """
        slope, move = self.chance_
        found = []
        for start in range(0, len(colours), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            for boxes, logits in self._told(colours[some], phrases[some]):
                found.append(
                    [
                        _distinct(b, 1 / (1 + np.exp(-np.clip(slope * x + move, -30, 30))))
                        for b, x in zip(boxes, logits, strict=True)
                    ]
                )
        return found

    def save(self, folder: Path, facts: dict[str, Any] | None = None) -> None:
        """Store it as a new folder; FileExistsError where there is one."""
        arrays = {name: own.numpy() for name, own in self._network().state_dict().items()}
        ordered = sorted(self.words_.numbers, key=lambda word: self.words_.numbers[word])
        settings = {**asdict(self.settings), "words": ordered, "chance": list(self.chance_)}
        save_model(folder, PROPOSER_KIND, arrays, settings, facts)

    @classmethod
    def load(cls, folder: Path) -> BoxProposer:
        """A stored one, to the bit. Raises BadModel."""
        stored = load_model(folder, PROPOSER_KIND)
        plain = dict(stored.settings)
        words = Words({word: number for number, word in enumerate(plain.pop("words"), 1)})
        slope, move = plain.pop("chance")
        network = ProposerNetwork(len(words.numbers) + 1)
        try:
            network.load_state_dict({name: torch.from_numpy(own) for name, own in stored.arrays.items()})
        except RuntimeError as error:
            raise BadModel(f"{folder} is no proposer of this version; teach it again") from error
        network.eval()
        return cls(ProposerSettings(**plain), words, network, (float(slope), float(move)))

    def _network(self) -> ProposerNetwork:
        if self.network_ is None:
            raise ValueError("this proposer has not learned yet; call fit first, or load one")
        return self.network_

    def _check(self, colours: NDArray[np.uint8]) -> None:
        expected = (self.settings.side, self.settings.side, 3)
        if colours.shape != expected or colours.dtype != np.uint8:
            raise ValueError(
                f"a picture of shape {colours.shape} and type {colours.dtype}; expected {expected} and uint8"
            )

    def _told(
        self, colours: Sequence[NDArray[np.uint8]], phrases: Sequence[Sequence[Sequence[str]]]
    ) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Of each picture the boxes of all cells, (phrases, cells, 4), and their logits, (phrases, cells)."""
        for own in colours:
            self._check(own)
        said = [phrase for own in phrases for phrase in own]
        of = [place for place, own in enumerate(phrases) for _ in own]
        if not said:
            return [(np.empty((0, 0, 4)), np.empty((0, 0)))] * len(colours)
        with torch.inference_mode():
            out = self._network()(pictures_tensor(colours), self.words_.batch(said, of))
            boxes = cell_boxes(out).clamp(0, 1).flatten(1, 2).double().numpy()
            logits = out[:, 1].flatten(1).double().numpy()
        counts = np.cumsum([0, *map(len, phrases)])
        return [(boxes[a:b], logits[a:b]) for a, b in zip(counts, counts[1:], strict=False)]

    def _calibrated(self, pictures: Sequence[TaughtPicture]) -> tuple[float, float]:
        """What sets the chance of each phrase's best box right."""
        logits, accepted = [], []
        for start in range(0, len(pictures), _TOGETHER):
            some = pictures[start : start + _TOGETHER]
            told = self._told([p.colours for p in some], [[t.said[0] for t in p.phrases] for p in some])
            for picture, (boxes, own) in zip(some, told, strict=True):
                for phrase, of_phrase, each in zip(picture.phrases, boxes, own, strict=True):
                    best = int(each.argmax())
                    logits.append(each[best])
                    accepted.append(box_overlap(of_phrase[best], phrase.boxes).max() >= ACCEPTED_IOU)
        return fit_chance(np.asarray(logits), np.asarray(accepted, bool))


def box_overlap(box: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """IoU of a box with each of `others`, (n, 4), all as shares or all in pixels from edge to edge."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:4], others[:, 2:4])
    shared = np.clip(high - low, 0, None).prod(1)
    areas = (box[2:4] - box[:2]).prod(), (others[:, 2:4] - others[:, :2]).prod(1)
    return np.asarray(shared / np.maximum(areas[0] + areas[1] - shared, 1e-12))


def _distinct(boxes: NDArray[Any], chances: NDArray[Any]) -> NDArray[np.float64]:
    """The best boxes that show different things, (n, 5)."""
    order = np.argsort(-chances, kind="stable")
    kept: list[NDArray[Any]] = []
    while len(order) and len(kept) < _PROPOSALS:
        best, order = order[0], order[1:]
        kept.append(np.append(boxes[best], chances[best]))
        order = order[box_overlap(boxes[best], boxes[order]) < _SAME]
    return np.array(kept).reshape(-1, 5)
