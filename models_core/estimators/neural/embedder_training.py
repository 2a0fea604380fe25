"""Training the heads of the joint embedder.

Steps are AdamW's on the mean loss of a batch; weight decay is of matrices only. The hinge losses are of
cosines; InfoNCE is of cosines divided by the temperature, which is learned as its logarithm, and at least
0.01.

Source: Faghri et al. 2018, section 3.1; Radford et al. 2021, sections 2.3 to 2.5 (AdamW; the temperature and
its bound); from memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW, Dataset, FitContext, Matrix, View
from models_core.estimators.embeddings import recall_of_embeddings
from models_core.estimators.neural import objective
from models_core.estimators.neural.gradient_training import (
    GradientRun,
    StepSizes,
    arrays_under,
    network_weights,
)
from models_core.estimators.neural.heads import HEAD_VIEWS, EmbeddingHead
from models_core.estimators.neural.network import Dropout, new_layer, thinned
from models_core.estimators.neural.settings import ContrastiveSettings, EmbedderSettings, MarginSettings
from phrasebox.lazy import sparse

#: The lowest temperature, and the smallest length by which an embedding is divided.
LEAST_TEMPERATURE, _LEAST_LENGTH = 0.01, 1e-8
#: Number of rows whose moments are summed at a time.
_ROWS = 8192


@dataclass(frozen=True)
class StandardView:
    """Rows less the `mean` of the training rows, divided by `scale`: the root of their mean square then, over
    all columns. So the rate does not depend on the unit of the features."""

    rows: View
    mean: Matrix
    scale: float

    @classmethod
    def of(cls, rows: View, name: str) -> StandardView:
        """Compute mean and scale. Raises ValueError for a number that is not finite, and for constant
        columns alone."""
        sums, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        for block in _finite_blocks(rows, name):
            sums += block.sum(axis=0)
        mean = sums / rows.shape[0]
        for block in _finite_blocks(rows, name):
            squares += np.square(block - mean).sum(axis=0)
        scale = math.sqrt(squares.sum() / rows.shape[0] / rows.shape[1])
        if not scale > 0:
            raise ValueError(f"all columns of the {name} are constant; nothing is learned")
        return cls(rows, mean, scale)

    def batch(self, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return these rows, standardised."""
        return ((_dense(self.rows[chosen]) - self.mean) / self.scale).astype(np.float32)


@dataclass(frozen=True)
class VectorPairs:
    """The training pairs: both sides, and each caption's image."""

    sides: Mapping[str, StandardView]
    image_of: NDArray[np.intp]

    @classmethod
    def of(cls, data: Dataset) -> VectorPairs:
        """Build the pairs. Raises ValueError for numbers that are not finite, and for too few pairs."""
        if len(np.unique(data.image_of)) < 2:
            raise ValueError("all captions are of one image; the heads need wrong captions")
        sides = {view: StandardView.of(data.views[view], view) for view in HEAD_VIEWS}
        return cls(sides, np.asarray(data.image_of, np.intp))

    def heads(self, weights: Mapping[str, NDArray[Any]]) -> tuple[dict[str, EmbeddingHead], float | None]:
        """Return the heads of a network's weights, and its temperature, None without one."""
        heads = {
            view: EmbeddingHead(side.mean, side.scale, arrays_under(f"{view}.", weights))
            for view, side in self.sides.items()
        }
        return heads, float(np.exp(weights["log_temperature"][0])) if "log_temperature" in weights else None


class HeadNetwork(nn.Module):
    """A head: a linear layer, or two with max(0, x) between them."""

    def __init__(self, take: int, settings: EmbedderSettings, rng: np.random.Generator) -> None:
        super().__init__()
        self.entry = new_layer(take, settings.hidden or settings.size, rng)
        self.output = new_layer(settings.hidden, settings.size, rng) if settings.hidden else None

    def forward(self, rows: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Return embeddings, shape (rows, size)."""
        embedded: Tensor = self.entry(thinned(rows, dropout))
        if self.output is not None:
            embedded = self.output(thinned(torch.relu(embedded), dropout))
        return embedded


class EmbedderNetwork(nn.Module):
    """Both heads, and the logarithm of the temperature, of InfoNCE only."""

    def __init__(self, pairs: VectorPairs, settings: EmbedderSettings, rng: np.random.Generator) -> None:
        super().__init__()
        self.images, self.captions = (
            HeadNetwork(len(pairs.sides[view].mean), settings, rng) for view in (IMAGE_VIEW, CAPTION_VIEW)
        )
        self.log_temperature: nn.Parameter | None = None
        if isinstance(settings, ContrastiveSettings):
            self.log_temperature = nn.Parameter(torch.tensor([math.log(settings.temperature)]))

    def forward(
        self, images: Tensor, captions: Tensor, dropout: Dropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the embeddings of both sides of a batch."""
        return self.images(images, dropout), self.captions(captions, dropout)

    def scores(self, images: Tensor, captions: Tensor) -> Tensor:
        """Return the scores of all embedded images with all embedded captions."""
        images, captions = (
            nn.functional.normalize(side, dim=1, eps=_LEAST_LENGTH) for side in (images, captions)
        )
        cosines = images @ captions.T
        if self.log_temperature is None:
            return cosines
        return cosines * torch.exp(-self.log_temperature.clamp(min=math.log(LEAST_TEMPERATURE)))


class EmbedderRun(GradientRun):
    """A training with one rate and decay; the figure of its curve is the held-out recall, a share."""

    network: EmbedderNetwork

    def __init__(
        self,
        name: str,
        data: tuple[VectorPairs, Dataset | None],
        settings: EmbedderSettings,
        sizes: StepSizes,
        context: FitContext,
        device: torch.device,
    ) -> None:
        self.pairs, self.held_out = data
        self.settings = settings
        network = EmbedderNetwork(self.pairs, settings, context.rng("weights")).to(device)
        super().__init__(name, len(self.pairs.image_of), network, settings, sizes, context)

    def new_optimizer(self, weights: list[nn.Parameter], sizes: StepSizes) -> torch.optim.Optimizer:
        """Return AdamW, with weight decay of matrices."""
        groups = [
            {"params": [array for array in weights if array.ndim > 1], "weight_decay": sizes.decay},
            {"params": [array for array in weights if array.ndim < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=sizes.rate, fused=True)

    @property
    def multiplications(self) -> float:
        """The number of multiplications of both heads with a batch."""
        settings = self.settings
        width = sum(len(side.mean) for side in self.pairs.sides.values())
        first = width * (settings.hidden or settings.size)
        return float(settings.batch * (first + 2 * settings.hidden * settings.size))

    def batch_loss(self, batch: NDArray[np.intp]) -> Tensor:
        """Return the loss of these pairs by the settings' objective."""
        images = self.pairs.image_of[batch]
        of_images, of_captions = self.on_device(
            self.pairs.sides[IMAGE_VIEW].batch(images), self.pairs.sides[CAPTION_VIEW].batch(batch)
        )
        precision = self.network.images.entry.weight.dtype
        with self.in_half():
            embedded = self.parallel(of_images.to(precision), of_captions.to(precision), self.dropout)
        # Margin and temperature are small: half precision is too coarse for cosines.
        scores = self.network.scores(*(side.to(precision) for side in embedded))
        image_of = torch.from_numpy(images).to(self.device)
        settings = self.settings
        if not isinstance(settings, MarginSettings):
            return objective.contrastive_loss(scores, image_of)
        loss = objective.hardest_loss if settings.negatives == "hardest" else objective.ranking_loss
        return loss(scores, image_of, settings.margin)

    def scaled(self, loss: Tensor, batch: NDArray[np.intp]) -> Tensor:
        """Return the mean loss of a pair."""
        return loss / len(batch)

    def held_out_figure(self) -> float:
        """Return the mean of R@1, R@5 and R@10 over both directions on held-out images, a share."""
        assert self.held_out is not None
        heads, _ = self.pairs.heads(network_weights(self.network))
        images, captions = (heads[view](self.held_out.views[view]) for view in HEAD_VIEWS)
        return recall_of_embeddings(images, captions, self.held_out.image_of, cosine=True)


def _dense(rows: Any) -> Matrix:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, np.float64)


def _finite_blocks(rows: View, name: str) -> Iterator[Matrix]:
    for start in range(0, rows.shape[0], _ROWS):
        block = _dense(rows[start : start + _ROWS])
        invalid = np.argwhere(~np.isfinite(block))
        if len(invalid):
            row, column = (int(index) for index in invalid[0])
            raise ValueError(
                f"row {start + row} of the {name} is not finite in column {column}; every number must be "
                "finite"
            )
        yield block
