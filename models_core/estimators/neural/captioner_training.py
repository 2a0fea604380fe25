"""Training the network that writes captions, and its probabilities of held-out captions.

The loss of a caption is the sum of the negative logarithms of the probabilities of its words and of END, each
given the image and the words before. A step goes down the mean over a batch's words, by RMSprop.

Source: Karpathy and Fei-Fei 2015, sections 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from models_core.estimators.base import Dataset, FitContext, WordNumbers, checked_numbers
from models_core.estimators.neural.captioner_network import CaptionerNetwork, CaptionerSizes
from models_core.estimators.neural.gradient_training import GradientRun, StepSizes, load_weights
from models_core.estimators.neural.settings import PERPLEXITY, CaptionerSettings

#: Standard deviation of randomly initialised word vectors.
_WORD_SCALE = 1.0
#: Number of captions whose words are counted at a time.
_TOGETHER = 512


@dataclass(frozen=True)
class CaptionedImages:
    """Images as vectors, shape (images, numbers), their captions as word numbers, and each caption's
    image."""

    vectors: NDArray[Any]
    words: WordNumbers
    image_of: NDArray[np.intp]

    @classmethod
    def of(cls, data: Dataset) -> CaptionedImages:
        """Build the data. Raises ValueError for numbers that are not finite, and if captions have no known
        word."""
        words, vectors = data.captions, data.images
        if not isinstance(words, WordNumbers) or not isinstance(vectors, np.ndarray):
            raise ValueError("captions are learned from vectors of images and the words of captions")
        if not words.vocabulary or not len(words.values):
            raise ValueError("the vocabulary is empty: no word is frequent enough; lower text.least_count")
        checked_numbers(vectors, "images")
        return cls(vectors, words, np.asarray(data.image_of, np.intp))

    def __len__(self) -> int:
        return len(self.image_of)

    @property
    def word_count(self) -> int:
        """The number of words, including an END for each caption."""
        return int(self.words.counts.sum()) + len(self)


class CaptionerRun(GradientRun):
    """A training with one rate and decay; the figure of its curve is the held-out perplexity."""

    figure = PERPLEXITY
    network: CaptionerNetwork

    def __init__(
        self,
        name: str,
        data: tuple[CaptionedImages, CaptionedImages | None],
        settings: CaptionerSettings,
        sizes: StepSizes,
        context: FitContext,
        device: torch.device,
    ) -> None:
        self.pairs, self.held_out = data
        self.settings = settings
        network = new_captioner(self.pairs, settings, context).to(device)
        super().__init__(name, len(self.pairs), network, settings, sizes, context)

    def new_optimizer(self, weights: list[nn.Parameter], sizes: StepSizes) -> torch.optim.Optimizer:
        """Return an optimiser that scales gradients by their mean square (RMSprop)."""
        return torch.optim.RMSprop(
            weights, lr=sizes.rate, alpha=self.settings.smoothing, weight_decay=sizes.decay
        )

    @property
    def multiplications(self) -> float:
        """The number of multiplications of the output layer."""
        words = self.pairs.word_count / len(self.pairs) * min(self.settings.batch, len(self.pairs))
        return float(words * self.settings.size * (self.pairs.words.vocabulary + 1))

    @property
    def losses(self) -> float:
        """The number of words, including ENDs."""
        return self.pairs.word_count

    def batch_loss(self, batch: NDArray[np.intp]) -> torch.Tensor:
        """Return the sum over the words of this process's part of these captions."""
        return -self._log_probabilities(self.pairs, self.processes.part(batch), learning=True).sum()

    def scaled(self, loss: torch.Tensor, batch: NDArray[np.intp]) -> torch.Tensor:
        """Return the mean over the words of all processes, whose gradients are averaged."""
        return loss * self.processes.count / (int(self.pairs.words.counts[batch].sum()) + len(batch))

    def whole_loss(self, loss: float) -> float:
        """Return the sum over all processes."""
        return self.processes.summed(loss)

    def held_out_figure(self) -> float:
        """Return the perplexity of the held-out captions."""
        assert self.held_out is not None
        return perplexity(self, self.held_out)

    def quality(self, figure: float) -> float:
        """Return the geometric mean of the probabilities of held-out words."""
        return 1 / figure

    def _log_probabilities(
        self, data: CaptionedImages, chosen: NDArray[np.intp], *, learning: bool
    ) -> torch.Tensor:
        vectors, numbers, there = self.on_device(
            np.asarray(data.vectors[data.image_of[chosen]]), *data.words.padded(chosen)
        )
        images = vectors.to(self.network.words.dtype)
        dropout = self.dropout if learning else None
        network = self.parallel if learning else self.network
        with self.in_half() if learning else nullcontext():
            log_probabilities: torch.Tensor = network(images, numbers, there, dropout)
        return log_probabilities.to(self.network.words.dtype)

    def log_probability(self, data: CaptionedImages) -> float:
        """Return the log-probability of all these captions, in single precision."""
        self.network.eval()
        total = 0.0
        with torch.no_grad():
            for start in range(0, len(data), _TOGETHER):
                chosen = np.arange(start, min(start + _TOGETHER, len(data)))
                total += float(self._log_probabilities(data, chosen, learning=False).sum(dtype=torch.float64))
        return total


def perplexity(run: CaptionerRun, data: CaptionedImages) -> float:
    """Return the inverse of the geometric mean of the probabilities of all words, including ENDs; at most
    1e300."""
    mean = -run.log_probability(data) / data.word_count
    return float(np.exp(min(mean, 690.0)))


def new_captioner(
    data: CaptionedImages, settings: CaptionerSettings, context: FitContext
) -> CaptionerNetwork:
    """Return the initial network; words without vectors are initialised randomly."""
    rng, word_vectors = context.rng("weights"), data.words.vectors
    width = settings.word_size if word_vectors is None else word_vectors.shape[1]
    sizes = CaptionerSizes(data.vectors.shape[1], width, settings.size, data.words.vocabulary)
    vectors = (
        _WORD_SCALE * rng.standard_normal((sizes.vocabulary, width)) if word_vectors is None else word_vectors
    )
    fixed = word_vectors is not None and not settings.learn_words
    network = CaptionerNetwork(sizes, rng, vectors, fixed=fixed, rectified=settings.rectified)
    counts = np.bincount(data.words.values, minlength=sizes.vocabulary + 1).astype(np.float64)
    counts[sizes.end] = len(data)
    centre = np.mean(data.vectors, axis=0, dtype=np.float64)
    scale = np.sqrt(np.mean((data.vectors - centre) ** 2)) or 1.0
    with torch.no_grad():
        network.output.bias.copy_(torch.from_numpy(np.log(np.maximum(counts, 1) / counts.sum())))
        network.centre.copy_(torch.from_numpy(centre))
        network.scale.fill_(float(scale))
    return network


def stored_captioner(weights: Mapping[str, NDArray[Any]], *, rectified: bool) -> CaptionerNetwork:
    """Return the network with these weights; raises KeyError if one is missing."""
    hidden, image = weights["image.weight"].shape
    vocabulary, word = weights["words"].shape
    network = CaptionerNetwork(
        CaptionerSizes(image, word, hidden, vocabulary),
        np.random.default_rng(0),
        weights["words"],
        fixed=True,
        rectified=rectified,
    )
    load_weights(network, weights)
    return network.eval()
