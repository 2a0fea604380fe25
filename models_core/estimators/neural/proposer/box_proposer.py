"""A proposer of boxes for phrases, trained on boxes that people accepted: the core of a model annotator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models_core.estimators.neural.proposer.close_ups import LAST_VIEW, SECOND_VIEW, close_ups
from models_core.estimators.neural.proposer.examples import TrainingPicture, Words, pictures_tensor, smaller
from models_core.estimators.neural.proposer.network import (
    CELL,
    ProposerNetwork,
    cell_boxes,
    centres_of,
    device_of,
)
from models_core.estimators.neural.proposer.refiner import RefinerNetwork, refined_boxes
from models_core.estimators.neural.proposer.refining import LAST_TRAINING, SECOND_TRAINING, train_refiner
from models_core.estimators.neural.proposer.training import (
    ACCEPTED_IOU,
    ProposerSettings,
    fit_chance,
    fit_weights,
    train_network,
)
from models_core.storage import BadModel, load_model, save_model
from phrasebox.device import CPU, torch_for

#: The kind under which proposers are stored.
PROPOSER_KIND = "box-proposer"
#: The number of proposals per phrase, and the overlap from which two of them are the same.
_PROPOSALS, _SAME = 5, 0.5
#: Number of pictures processed together.
_TOGETHER = 16
#: Number of close-ups processed together.
_CLOSE_TOGETHER = 256
#: The initial weight of the logits of all stages but the last, whose weight is 1; and the largest weight.
_EARLIER_WEIGHT, _LARGEST_WEIGHT = 0.5, 2.0
#: The close-up stages: the name prefixes of their stored networks, their views, and their training.
_CLOSE_UP = (("refiner.", SECOND_VIEW, SECOND_TRAINING), ("last.", LAST_VIEW, LAST_TRAINING))
#: The smallest number of held-out phrases for calibration; if there are few pictures, at most this share of
#: them is held out. With fewer phrases than the last number nothing is held out.
_HELD_OUT, _LARGEST_SHARE, _LEAST_HELD_OUT = 60, 0.25, 30


class NothingToLearn(ValueError):
    """No picture has a phrase with a box; one line with the remedy."""


@dataclass(slots=True)
class BoxProposer:
    """A proposer: its settings and, once trained, its vocabulary, its networks and its calibration.

    `network_` is the first stage, on the whole picture. The first of `closer_` refines its boxes on
    close-ups, the second refines those again on closer ones; without them there is only the first stage.
    `weights_` are the weights of the stages' logits for a box.
    """

    settings: ProposerSettings = field(default_factory=ProposerSettings)
    words_: Words = field(default_factory=Words)
    network_: ProposerNetwork | None = None
    closer_: tuple[RefinerNetwork, ...] = ()
    weights_: tuple[float, ...] = (1.0,)
    chance_: tuple[float, float] = (1.0, 0.0)

    def fit(
        self,
        pictures: Sequence[TrainingPicture],
        *,
        seed: int = 0,
        begin: BoxProposer | None = None,
        device: str = CPU,
        report_progress: Callable[[int, int], object] = lambda done, of: None,
        steps: Sequence[int] | None = None,
    ) -> BoxProposer:
        """Train on `pictures`, starting from the weights and words of `begin` if given.

        `steps` are those of each stage (None: from the settings' epochs). The last `held_out` pictures are
        for calibration: more, if they have few phrases. Training uses `device` (see `phrasebox.device`), and
        so do later proposals. Raises NothingToLearn, NoDevice.
        """
        where = torch_for(device).device
        with_phrases = [picture for picture in pictures if picture.phrases]
        if not with_phrases:
            raise NothingToLearn(
                "no picture has a phrase with an accepted box; train from finished images that have boxes"
            )
        for picture in with_phrases:
            self._check(picture.colours)
        learned, held_out = self._split(with_phrases)
        wordings = [
            wording for picture in learned for phrase in picture.phrases for wording in phrase.wordings
        ]
        begun = begin if begin is not None and begin.network_ is not None else None
        self.words_ = begun.words_.with_more(wordings) if begun else Words.of(wordings)
        settings = self.settings
        step_counts = settings.usual_steps(len(learned)) if steps is None else tuple(steps)

        def stage(index: int) -> Callable[[int, int], object]:
            return lambda done, of: report_progress(sum(step_counts[:index]) + done, sum(step_counts))

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = ProposerNetwork(len(self.words_.numbers) + 1).to(where)
            if begun is not None and begun.network_ is not None:
                network.take_over(begun.network_)
            train_network(
                network,
                self.words_,
                learned,
                settings,
                np.random.default_rng([seed, len(learned)]),
                stage(0),
                steps=step_counts[0],
            )
            closer = []
            for look, (_, view, training) in zip(range(1, len(step_counts)), _CLOSE_UP, strict=False):
                torch.manual_seed(seed + look)
                refiner = RefinerNetwork(len(self.words_.numbers) + 1, view).to(where)
                if begun is not None and len(begun.closer_) >= look:
                    refiner.take_over(begun.closer_[look - 1])
                train_refiner(
                    refiner,
                    self.words_,
                    learned,
                    settings,
                    np.random.default_rng([seed, len(learned), look + 1]),
                    stage(look),
                    steps=step_counts[look],
                    training=training,
                )
                closer.append(refiner)
        self.network_, self.closer_ = network, tuple(closer)
        self.weights_, self.chance_ = (*[_EARLIER_WEIGHT] * len(closer), 1.0), (1.0, 0.0)
        if held_out:
            self._calibrate(held_out)
        return self

    def propose(
        self, colours: Sequence[NDArray[np.uint8]], phrases: Sequence[Sequence[Sequence[str]]]
    ) -> list[list[NDArray[np.float64]]]:
        """Return the boxes to propose for each picture and each of its phrases (words), best first.

        Shape (boxes, 5): left, top, right, bottom as shares of the picture, and the probability of
        acceptance.
        """
        slope, move = self.chance_
        proposals = []
        for boxes_of_phrases in self._looked(colours, phrases):
            logits = [slope * self._logits(rows) + move for rows in boxes_of_phrases]
            proposals.append(
                [
                    _distinct(rows[:, :4], 1 / (1 + np.exp(-np.clip(x, -30, 30))))
                    for rows, x in zip(boxes_of_phrases, logits, strict=True)
                ]
            )
        return proposals

    def save(self, folder: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write it to a new folder; raises FileExistsError if it exists."""
        arrays = {name: tensor.cpu().numpy() for name, tensor in self._network().state_dict().items()}
        for (prefix, *_), closer in zip(_CLOSE_UP, self.closer_, strict=False):
            arrays |= {prefix + name: tensor.cpu().numpy() for name, tensor in closer.state_dict().items()}
        ordered = sorted(self.words_.numbers, key=lambda word: self.words_.numbers[word])
        settings = {**asdict(self.settings), "words": ordered, "chance": list(self.chance_)}
        settings["weights"] = list(self.weights_)
        save_model(folder, PROPOSER_KIND, arrays, settings, metadata)

    @classmethod
    def load(cls, folder: Path) -> BoxProposer:
        """Load a stored one, bit for bit. Raises BadModel."""
        stored = load_model(folder, PROPOSER_KIND)
        settings = dict(stored.settings)
        words = Words({word: number for number, word in enumerate(settings.pop("words"), 1)})
        slope, move = settings.pop("chance")
        arrays = {name: torch.from_numpy(array) for name, array in stored.arrays.items()}
        network, closer = ProposerNetwork(len(words.numbers) + 1), []
        try:
            for prefix, view, *_ in _CLOSE_UP:
                names = [name for name in arrays if name.startswith(prefix)]
                array = {name.removeprefix(prefix): arrays.pop(name) for name in names}
                if array:
                    refiner = RefinerNetwork(len(words.numbers) + 1, view)
                    refiner.load_state_dict(array)
                    closer.append(refiner.eval())
            network.load_state_dict(arrays)
        except RuntimeError as error:
            raise BadModel(f"{folder} is no proposer of this version; train it again") from error
        network.eval()
        weights = settings.pop("weights")
        return cls(
            ProposerSettings(**settings),
            words,
            network,
            tuple(closer),
            tuple(float(weight) for weight in weights),
            (float(slope), float(move)),
        )

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

    def learned_from(self, pictures: Sequence[TrainingPicture]) -> int:
        """Return the number of pictures on which `fit` trains: those with phrases that are not held out."""
        learned, _ = self._split([picture for picture in pictures if picture.phrases])
        return len(learned)

    def _split(
        self, pictures: Sequence[TrainingPicture]
    ) -> tuple[Sequence[TrainingPicture], Sequence[TrainingPicture]]:
        """Split the pictures into training pictures and the last ones, for calibration: none if they have too
        few phrases."""
        held = int(len(pictures) * self.settings.held_out)
        most = int(len(pictures) * _LARGEST_SHARE) if held else 0
        phrases = [len(picture.phrases) for picture in reversed(pictures)]
        while held < most and sum(phrases[:held]) < _HELD_OUT:
            held += 1
        if sum(phrases[:held]) < _LEAST_HELD_OUT:
            held = 0
        return pictures[: len(pictures) - held], pictures[len(pictures) - held :]

    def _logits(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the combined logit of boxes from the logits of their stages, (boxes,)."""
        return np.asarray(rows[:, 4:] @ np.array(self.weights_))

    def _looked(
        self, colours: Sequence[NDArray[np.uint8]], phrases: Sequence[Sequence[Sequence[str]]]
    ) -> Iterator[list[NDArray[np.float64]]]:
        """Yield for each picture and each of its phrases the results of all stages, (boxes, 4 + stages): a
        box, and the logit of each stage."""
        for start in range(0, len(colours), _TOGETHER):
            pictures, picture_phrases = colours[start : start + _TOGETHER], phrases[start : start + _TOGETHER]
            first = self._first(pictures, picture_phrases)
            yield from self._refined(pictures, picture_phrases, first) if self.closer_ else first

    def _first(
        self, colours: Sequence[NDArray[np.uint8]], phrases: Sequence[Sequence[Sequence[str]]]
    ) -> list[list[NDArray[np.float64]]]:
        """Return the results of the first stage, as in `_looked`; the other logits are 0."""
        for group in colours:
            self._check(group)
        flat_phrases = [phrase for group in phrases for phrase in group]
        of = [index for index, group in enumerate(phrases) for _ in group]
        if not flat_phrases:
            return [[] for _ in colours]
        small = [smaller(group, self.settings.overview) for group in colours]
        with torch.inference_mode():
            network = self._network()
            device = device_of(network)
            out = network(
                pictures_tensor(small).to(device), self.words_.batch(flat_phrases, of).to(device)
            ).cpu()
            side = small[0].shape[0] // CELL
            boxes = cell_boxes(out, centres_of(torch.arange(side * side), side)).clamp(0, 1).double().numpy()
            logits = out[..., 1].double().numpy()
        rows = [_distinct(b, x) for b, x in zip(boxes, logits, strict=True)]
        others = len(self.closer_)
        remaining = iter(
            [np.column_stack([phrase_rows, np.zeros((len(phrase_rows), others))]) for phrase_rows in rows]
        )
        return [[next(remaining) for _ in group] for group in phrases]

    def _refined(
        self,
        colours: Sequence[NDArray[np.uint8]],
        phrases: Sequence[Sequence[Sequence[str]]],
        first: list[list[NDArray[np.float64]]],
    ) -> list[list[NDArray[np.float64]]]:
        """Return the results of the close-up stages from those of the first one, as in `_looked`."""
        flat = [rows for group in first for rows in group]
        if not flat:
            return first
        flat_phrases = [phrase for group in phrases for phrase in group]
        counts = [len(rows) for rows in flat]
        of = np.repeat(np.arange(len(flat)), counts)
        pictures = np.repeat([index for index, group in enumerate(first) for _ in group], counts)
        every = np.concatenate(flat)
        looks = [(closer, 5 + index) for index, closer in enumerate(self.closer_)]
        for closer, column in looks[:1] * self.settings.looks + looks[1:]:
            for start in range(0, len(every), _CLOSE_TOGETHER):
                some = slice(start, start + _CLOSE_TOGETHER)
                phrase, whose = np.unique(of[some], return_inverse=True)
                pixels_close_up, windows = close_ups(colours, every[some, :4], pictures[some], closer.view)
                device = device_of(closer)
                seen = torch.from_numpy(windows.astype(np.float32)).to(device)
                batch = self.words_.batch([flat_phrases[i] for i in phrase], list(range(len(phrase)))).to(
                    device
                )
                with torch.inference_mode():
                    pixels = pictures_tensor(list(pixels_close_up)).to(device)
                    sides, logits = closer(pixels, seen, batch, torch.from_numpy(whose).to(device))
                    every[some, :4] = refined_boxes(sides, seen).double().cpu().numpy()
                every[some, column] = logits.double().cpu().numpy()
        parts = iter(np.split(every, np.cumsum(counts)[:-1]))
        return [[next(parts) for _ in group] for group in first]

    def _calibrate(self, pictures: Sequence[TrainingPicture]) -> None:
        """Fit the stages' weights on all boxes of held-out pictures, and calibrate the probability of each
        phrase's best box."""
        rows: list[NDArray[np.float64]] = []
        accepted: list[NDArray[np.bool_]] = []
        phrases = [[t.wordings[0] for t in p.phrases] for p in pictures]
        for picture, boxes_of_phrases in zip(
            pictures, self._looked([p.colours for p in pictures], phrases), strict=True
        ):
            for phrase, boxes in zip(picture.phrases, boxes_of_phrases, strict=True):
                rows.append(boxes)
                accepted.append(
                    np.array([box_overlap(box, phrase.boxes).max() >= ACCEPTED_IOU for box in boxes])
                )
        weights = fit_weights(np.concatenate(rows)[:, 4:], np.concatenate(accepted), self.weights_)
        if weights is not None and weights[-1] > 0:
            self.weights_ = tuple(
                float(np.clip(boxes_of_phrases / weights[-1], 0, _LARGEST_WEIGHT))
                for boxes_of_phrases in weights
            )
        logits = [self._logits(boxes) for boxes in rows]
        best = [int(boxes.argmax()) for boxes in logits]
        self.chance_ = fit_chance(
            np.array([boxes[i] for boxes, i in zip(logits, best, strict=True)]),
            np.array([boxes[i] for boxes, i in zip(accepted, best, strict=True)]),
        )


def box_overlap(box: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the IoU of a box with each of `others`, (n, 4), all as shares or all in pixels from edge to
    edge."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:4], others[:, 2:4])
    shared = np.clip(high - low, 0, None).prod(1)
    areas = (box[2:4] - box[:2]).prod(), (others[:, 2:4] - others[:, :2]).prod(1)
    return np.asarray(shared / np.maximum(areas[0] + areas[1] - shared, 1e-12))


def _distinct(boxes: NDArray[Any], chances: NDArray[Any]) -> NDArray[np.float64]:
    """Return the best boxes without duplicates, (n, 5)."""
    order = np.argsort(-chances, kind="stable")
    distinct: list[NDArray[Any]] = []
    while len(order) and len(distinct) < _PROPOSALS:
        best, order = order[0], order[1:]
        distinct.append(np.append(boxes[best], chances[best]))
        order = order[box_overlap(boxes[best], boxes[order]) < _SAME]
    return np.array(distinct).reshape(-1, 5)
