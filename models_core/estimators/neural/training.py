"""Training the alignment: batches of pairs, gradient steps, looks at held-out images, checkpoints.

Each epoch puts all pairs into new batches. Steps have momentum and weight decay, and gradients are clipped
number by number. After each epoch the held-out images are ranked, and the best models are kept.

The order of an epoch and the numbers that a step leaves out come from dice of that epoch and that step alone.
So a training that goes on after a checkpoint ends as one that was never stopped, to the bit on a CPU.

Source: Karpathy and Fei-Fei 2015, sections 3.1.3 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models_core.estimators.base import Dataset, FitContext, RaggedRows, WordNumbers
from models_core.estimators.embeddings import recall_of_scores
from models_core.estimators.neural import objective
from models_core.estimators.neural.network import AlignmentNetwork, Dropout, NetworkSizes
from models_core.estimators.neural.scores import AlignmentScores
from models_core.estimators.neural.settings import AlignmentSettings
from models_core.threads import ThreadLimit

NamedArrays = dict[str, NDArray[Any]]
#: Standard deviation of the numbers of words that begin at random.
_WORD_SCALE = 0.1
#: Images, or sentences, that are embedded at a time.
_EMBEDDED = 256
#: Multiplications of a step below which threads cost more than they gain: they wait for each other
#: actively, and where something else runs on the machine, small steps take many times as long.
_LITTLE = 5e7
_BIGGEST_SEED = 2**63
#: Told how far a run is: epochs done, and batches done of this one.
Told = Callable[[], None]


class Diverged(ValueError):
    """A loss is no number any more; the message names the step."""


@dataclass(frozen=True, slots=True)
class Member:
    """A model of a run: what its recall on held-out images was, after which epoch, and its weights."""

    recall: float
    epoch: int
    weights: NamedArrays


@dataclass(frozen=True)
class TrainingPairs:
    """The pairs of a training: `regions` of images, `words` of captions, and each caption's image."""

    regions: RaggedRows
    words: WordNumbers
    image_of: NDArray[np.intp]

    @classmethod
    def of(cls, data: Dataset) -> TrainingPairs:
        """Raises ValueError where images are not regions, captions have no known word, and for too few."""
        regions, words = data.images, data.captions
        if not isinstance(regions, RaggedRows) or not isinstance(words, WordNumbers):
            raise ValueError("the alignment learns from regions of images and words of captions")
        if not regions.counts.all():
            raise ValueError(f"image {int(regions.counts.argmin())} (counted from 0) has no region")
        if not words.vocabulary or not len(words.values):
            raise ValueError("the vocabulary is empty: no word is frequent enough; lower text.least_count")
        if len(np.unique(data.image_of)) < 2:
            raise ValueError("all captions are of one image; the alignment needs wrong captions")
        return cls(regions, words, np.asarray(data.image_of, np.intp))

    def __len__(self) -> int:
        return len(self.image_of)


class AlignmentRun:
    """A training with one rate and decay, from its first step on.

    `name` tells its dice from those of other runs of the same training.
    """

    def __init__(
        self,
        name: str,
        pairs: TrainingPairs,
        settings: AlignmentSettings,
        steps: tuple[float, float],
        context: FitContext,
        device: torch.device,
    ) -> None:
        self.name, self.pairs, self.settings, self.context, self.device = (
            name,
            pairs,
            settings,
            context,
            device,
        )
        self.rate, decay = steps
        self.network = new_network(pairs, settings, context).to(device)
        self.dropout = Dropout(settings.dropout, device)
        self.optimizer = torch.optim.SGD(
            [weights for weights in self.network.parameters() if weights.requires_grad],
            lr=self.rate,
            momentum=settings.momentum,
            weight_decay=decay,
        )
        self.epoch = self.batch = 0
        self.loss = 0.0
        self.curve: list[tuple[float, float, float]] = []
        self.members: list[Member] = []

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.pairs) // self.settings.batch)

    def train(
        self, epochs: int, validation: Dataset | None, *, told: Told, keep: Callable[[], None] | None = None
    ) -> None:
        """Go on until `epochs` are done. `keep` is called after each, and when a checkpoint is due.

        Raises Diverged.
        """
        size = self.settings.batch
        regions, words = (
            rows.counts.mean() * min(size, len(self.pairs)) for rows in (self.pairs.regions, self.pairs.words)
        )
        with fitting_threads(regions * words * self.settings.size):
            self._train(epochs, validation, told, keep)

    def _train(
        self, epochs: int, validation: Dataset | None, told: Told, keep: Callable[[], None] | None
    ) -> None:
        while self.epoch < epochs:
            for batch in self._batches():
                told()
                self.loss += self.step(batch)
                self.batch += 1
                if keep and self.context.checkpoints.due:
                    keep()
            self.epoch, self.batch = self.epoch + 1, 0
            recall = 0.0 if validation is None else self.recall(validation)
            self.curve.append((self.epoch, self.loss / len(self.pairs), recall))
            self.loss = 0.0
            self._remember(recall, latest=validation is None)
            if keep:
                keep()
        told()

    def step(self, batch: NDArray[np.intp]) -> float:
        """One gradient step on these pairs; their loss before it."""
        self.network.train()
        dice = self.context.rng(f"dropout, {self.name}, {self.epoch}, {self.batch}")
        self.dropout.seed(int(dice.integers(_BIGGEST_SEED)))
        loss = self.batch_loss(batch)
        told = float(loss.detach())
        if not np.isfinite(told):
            raise Diverged(
                f"the loss is {told} in epoch {self.epoch + 1}, batch {self.batch + 1}, with the learning "
                f"rate {self.rate:g}; choose a smaller one"
            )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.network.parameters(), self.settings.clip)
        self.optimizer.step()
        return told

    def batch_loss(self, batch: NDArray[np.intp]) -> torch.Tensor:
        """The loss of these pairs by the settings' objective."""
        images = self.pairs.image_of[batch]
        regions, region_there = self._put(*self.pairs.regions.padded(images))
        numbers, word_there = self._put(*self.pairs.words.padded(batch))
        products = objective.BatchProducts.of(
            self.network.embed_regions(regions.to(self.network.words.dtype), self.dropout),
            region_there,
            self.network.embed_words(numbers, word_there, self.dropout),
            word_there,
        )
        image_of = torch.from_numpy(images).to(self.device)
        if self.settings.objective == "best-region":
            return objective.ranking_loss(objective.best_region_scores(products), image_of)
        ranked = objective.ranking_loss(objective.fragment_scores(products), image_of)
        chosen = objective.multiple_instance_loss(products, image_of)
        return ranked + self.settings.multiple_instances * chosen

    def recall(self, validation: Dataset) -> float:
        """The mean of R@1, R@5 and R@10 over both directions on held-out images, a share."""
        return held_out_recall(self.network, validation, self.settings)

    def state(self) -> tuple[NamedArrays, dict[str, Any]]:
        """All that the next step depends on, and what was learned so far."""
        arrays = {f"weights.{name}": own for name, own in network_weights(self.network).items()}
        for place, own in self.optimizer.state_dict()["state"].items():
            arrays[f"momentum.{place}"] = own["momentum_buffer"].cpu().numpy()
        for place, member in enumerate(self.members):
            arrays |= {f"member.{place}.{name}": own for name, own in member.weights.items()}
        return arrays, {
            "epoch": self.epoch,
            "batch": self.batch,
            "loss": self.loss,
            "curve": [list(row) for row in self.curve],
            "members": [[member.recall, member.epoch] for member in self.members],
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], said: Mapping[str, Any]) -> None:
        """Take back what `state` gave; raises KeyError where something is missing."""
        load_weights(self.network, _under("weights.", arrays))
        momentum = {
            int(name): {"momentum_buffer": torch.from_numpy(own.copy()).to(self.device)}
            for name, own in _under("momentum.", arrays).items()
        }
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": momentum})
        self.members = [
            Member(recall, epoch, _under(f"member.{place}.", arrays))
            for place, (recall, epoch) in enumerate(said["members"])
        ]
        self.curve = [(row[0], row[1], row[2]) for row in said["curve"]]
        self.epoch, self.batch, self.loss = said["epoch"], said["batch"], said["loss"]

    def _batches(self) -> Iterator[NDArray[np.intp]]:
        """The batches of this epoch that have not been learned from yet."""
        order = self.context.rng(f"order, {self.name}, {self.epoch}").permutation(len(self.pairs))
        size = self.settings.batch
        for start in range(self.batch * size, len(order), size):
            yield order[start : start + size]

    def _remember(self, recall: float, *, latest: bool) -> None:
        """Keep this model among the best, of equal ones the earlier; or, if `latest`, among the last."""
        own = Member(recall, self.epoch, network_weights(self.network))
        if latest:
            ranked = [own, *self.members]
        else:
            ranked = sorted([*self.members, own], key=lambda member: (-member.recall, member.epoch))
        self.members = ranked[: self.settings.members]

    def _put(self, *arrays: NDArray[Any]) -> tuple[torch.Tensor, ...]:
        return tuple(torch.from_numpy(array).to(self.device) for array in arrays)


def fitting_threads(multiplications: float) -> AbstractContextManager[None]:
    """One thread of torch inside where a step has few `multiplications`; a setting of the whole process."""
    return _TORCH.held() if multiplications < _LITTLE else nullcontext()


def _one_torch_thread() -> Callable[[], None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    return lambda: torch.set_num_threads(before)


_TORCH = ThreadLimit(_one_torch_thread)


def new_network(pairs: TrainingPairs, settings: AlignmentSettings, context: FitContext) -> AlignmentNetwork:
    """The network before its first step. Words without vectors of their own begin at random."""
    dice, given = context.rng("weights"), pairs.words.vectors
    width = settings.word_size if given is None else given.shape[1]
    sizes = NetworkSizes(pairs.regions.shape[1], width, settings.size, pairs.words.vocabulary)
    vectors = _WORD_SCALE * dice.standard_normal((sizes.vocabulary, width)) if given is None else given
    return AlignmentNetwork(sizes, dice, vectors, fixed=given is not None and not settings.learn_words)


def network_weights(network: AlignmentNetwork) -> NamedArrays:
    """Copies of the weights, by name."""
    return {name: own.detach().cpu().numpy().copy() for name, own in network.state_dict().items()}


def load_weights(network: AlignmentNetwork, weights: Mapping[str, NDArray[Any]]) -> None:
    """Give a network these weights; raises KeyError where one is missing."""
    missing = network.state_dict().keys() - weights.keys()
    if missing:
        raise KeyError(min(missing))
    network.load_state_dict({name: torch.from_numpy(np.array(own)) for name, own in weights.items()})


def stored_network(weights: Mapping[str, NDArray[Any]]) -> AlignmentNetwork:
    """The network of these weights; raises KeyError where one is missing."""
    space, region = weights["regions.weight"].shape
    vocabulary, word = weights["words"].shape
    network = AlignmentNetwork(
        NetworkSizes(region, word, space, vocabulary), np.random.default_rng(0), weights["words"], fixed=True
    )
    load_weights(network, weights)
    return network


def embed(network: AlignmentNetwork, data: Dataset) -> tuple[RaggedRows, RaggedRows]:
    """Regions of images and words of captions in the common space, in single precision.

    Raises ValueError where regions have another width than those that were learned from.
    """
    images, captions = data.images, data.captions
    assert isinstance(images, RaggedRows) and isinstance(captions, RaggedRows)
    if images.shape[1] != network.sizes.region:
        raise ValueError(
            f"regions of {images.shape[1]} numbers against {network.sizes.region}; expected the same"
        )
    network.eval()
    device = network.words.device

    def of_regions(values: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        return network.embed_regions(values.to(network.words.dtype))

    rows = min(_EMBEDDED, len(images)) * images.counts.mean() if len(images) else 0
    with torch.no_grad(), fitting_threads(rows * network.sizes.region * network.sizes.space):
        return (
            _embedded(images, of_regions, network.sizes.space, device),
            _embedded(captions, network.embed_words, network.sizes.space, device),
        )


def _embedded(
    items: RaggedRows, by: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], width: int, device: Any
) -> RaggedRows:
    parts = [np.empty((0, width), np.float32)]
    for start in range(0, len(items), _EMBEDDED):
        block = np.arange(start, min(start + _EMBEDDED, len(items)))
        values, there = items.padded(block)
        found = by(torch.from_numpy(values).to(device), torch.from_numpy(there).to(device))
        parts.append(found.cpu().numpy()[there].astype(np.float32))
    return RaggedRows.of_counts(np.concatenate(parts), items.counts)


def held_out_recall(network: AlignmentNetwork, validation: Dataset, settings: AlignmentSettings) -> float:
    """The mean of R@1, R@5 and R@10 over both directions, a share."""
    scores = AlignmentScores(*embed(network, validation), settings.objective)
    return recall_of_scores(scores, validation.image_of)


def _under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> NamedArrays:
    return {name.removeprefix(prefix): own for name, own in arrays.items() if name.startswith(prefix)}
