"""Training the alignment, and embedding regions and words with a trained one.

Steps have momentum and weight decay (see `gradient_training`); held-out images are ranked after each epoch.

Source: Karpathy and Fei-Fei 2015, sections 3.1.3 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from models_core.estimators.base import Dataset, EdgeNumbers, FitContext, RaggedRows, WordNumbers
from models_core.estimators.embeddings import recall_of_scores
from models_core.estimators.neural import objective
from models_core.estimators.neural.gradient_training import (
    GradientRun,
    StepSizes,
    fitting_threads,
    gathered_rows,
    load_weights,
)
from models_core.estimators.neural.network import (
    AlignmentNetwork,
    EdgeNetwork,
    NetworkSizes,
    RecurrentNetwork,
)
from models_core.estimators.neural.scores import AlignmentScores
from models_core.estimators.neural.settings import AlignmentSettings

#: Standard deviation of randomly initialised word vectors.
_WORD_SCALE = 0.1
#: Number of images, or sentences, embedded at a time.
_EMBEDDED = 256


@dataclass(frozen=True)
class TrainingPairs:
    """The training pairs: `regions` of images, `words` of captions, and each caption's image."""

    regions: RaggedRows
    words: WordNumbers
    image_of: NDArray[np.intp]

    @classmethod
    def of(cls, data: Dataset) -> TrainingPairs:
        """Build the pairs. Raises ValueError if images have no regions, captions have no known word, and
        for too few pairs."""
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


class AlignmentRun(GradientRun):
    """A training with one rate and decay; the figure of its curve is the held-out recall, a share."""

    network: AlignmentNetwork

    def __init__(
        self,
        name: str,
        data: tuple[TrainingPairs, Dataset | None],
        settings: AlignmentSettings,
        sizes: StepSizes,
        context: FitContext,
        device: torch.device,
    ) -> None:
        self.pairs, self.held_out = data
        self.settings = settings
        network = new_network(self.pairs, settings, context).to(device)
        super().__init__(name, len(self.pairs), network, settings, sizes, context)

    def new_optimizer(self, weights: list[nn.Parameter], sizes: StepSizes) -> torch.optim.Optimizer:
        """Return an optimiser with momentum."""
        momentum = self.settings.momentum
        return torch.optim.SGD(weights, lr=sizes.rate, momentum=momentum, weight_decay=sizes.decay)

    @property
    def multiplications(self) -> float:
        """The number of multiplications of regions with words."""
        pairs = min(self.settings.batch, len(self.pairs))
        regions, words = (rows.counts.mean() * pairs for rows in (self.pairs.regions, self.pairs.words))
        return float(regions * words * self.settings.size)

    def batch_loss(self, batch: NDArray[np.intp]) -> torch.Tensor:
        """Return the loss of these pairs by the settings' objective; each process embeds its part of them."""
        images, local_batch = self.pairs.image_of[batch], self.processes.part(batch)
        regions, region_there = self.on_device(*self.pairs.regions.padded(self.pairs.image_of[local_batch]))
        numbers, word_there = self.on_device(*self.pairs.words.padded(local_batch))
        precision = self.network.words.dtype
        with self.in_half():
            region_vectors, sentence_vectors = self.parallel(
                regions.to(precision), numbers, word_there, self.dropout
            )
        # Scores of sentences are sums, and the margin is 1: half precision is too coarse for them.
        region_vectors, sentence_vectors = region_vectors.to(precision), sentence_vectors.to(precision)
        if self.processes.count > 1:
            # Each sentence is contrasted with all images of the batch, in whichever process they were
            # embedded.
            region_vectors, region_there = self._gathered(
                region_vectors, region_there, self.pairs.regions.counts[images]
            )
            sentence_vectors, word_there = self._gathered(
                sentence_vectors, word_there, self.pairs.words.counts[batch]
            )
        products = objective.BatchProducts.of(region_vectors, region_there, sentence_vectors, word_there)
        image_of = torch.from_numpy(images).to(self.device)
        if self.settings.objective == "best-region":
            return objective.ranking_loss(objective.best_region_scores(products), image_of)
        ranked = objective.ranking_loss(objective.fragment_scores(products), image_of)
        chosen = objective.multiple_instance_loss(products, image_of)
        return ranked + self.settings.multiple_instances * chosen

    def _gathered(
        self, local_rows: torch.Tensor, there: torch.Tensor, counts: NDArray[np.intp]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows of all processes with their gradients, of this shape (items, longest, h), and the
        mask of actual rows; `counts` are those of all items."""
        most, longest = -(-len(counts) // self.processes.count), max(1, int(counts.max(initial=0)))
        room = (0, 0, 0, longest - local_rows.shape[1], 0, most - local_rows.shape[0])
        parts = gathered_rows(nn.functional.pad(local_rows, room))
        sizes = [len(part) for part in np.array_split(counts, self.processes.count)]
        whole = torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])
        rows = torch.arange(longest, device=there.device) < torch.from_numpy(counts).to(there.device)[:, None]
        return whole, rows

    def held_out_figure(self) -> float:
        """Return the mean of R@1, R@5 and R@10 over both directions on held-out images, a share."""
        assert self.held_out is not None
        return held_out_recall(self.network, self.held_out, self.settings)


def new_network(pairs: TrainingPairs, settings: AlignmentSettings, context: FitContext) -> AlignmentNetwork:
    """Return the initial network. Words without vectors are initialised randomly."""
    rng, word_vectors = context.rng("weights"), pairs.words.vectors
    width = settings.word_size if word_vectors is None else word_vectors.shape[1]
    relations = pairs.words.relations if isinstance(pairs.words, EdgeNumbers) else 0
    sizes = NetworkSizes(pairs.regions.shape[1], width, settings.size, pairs.words.vocabulary, relations)
    vectors = (
        _WORD_SCALE * rng.standard_normal((sizes.vocabulary, width)) if word_vectors is None else word_vectors
    )
    of_sentences = EdgeNetwork if relations else RecurrentNetwork
    return of_sentences(sizes, rng, vectors, fixed=word_vectors is not None and not settings.learn_words)


def stored_network(weights: Mapping[str, NDArray[Any]]) -> AlignmentNetwork:
    """Return the network with these weights; raises KeyError if one is missing."""
    space, region = weights["regions.weight"].shape
    vocabulary, word = weights["words"].shape
    relations = len(weights["edge_biases"]) if "edge_biases" in weights else 0
    sizes, rng = NetworkSizes(region, word, space, vocabulary, relations), np.random.default_rng(0)
    of_sentences = EdgeNetwork if relations else RecurrentNetwork
    network = of_sentences(sizes, rng, weights["words"], fixed=True)
    load_weights(network, weights)
    return network


def embed(network: AlignmentNetwork, data: Dataset) -> tuple[RaggedRows, RaggedRows]:
    """Return regions of images and words of captions in the common space, in single precision.

    Identical items are embedded once, and share their rows: in another batch, next to longer sentences, the
    last bits would differ. Raises ValueError if regions have another width than in training.
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
    firsts, which = items.distinct()
    parts = [np.empty((0, width), np.float32)]
    for start in range(0, len(firsts), _EMBEDDED):
        values, there = items.padded(firsts[start : start + _EMBEDDED])
        embedded = by(torch.from_numpy(values).to(device), torch.from_numpy(there).to(device))
        parts.append(embedded.cpu().numpy()[there].astype(np.float32))
    return RaggedRows.of_counts(np.concatenate(parts), items.counts[firsts]).take(which)


def held_out_recall(network: AlignmentNetwork, validation: Dataset, settings: AlignmentSettings) -> float:
    """Return the mean of R@1, R@5 and R@10 over both directions, a share."""
    scores = AlignmentScores(*embed(network, validation), settings.objective)
    return recall_of_scores(scores, validation.image_of)
