"""Regions and words in one space: a linear map of regions, and a bidirectional recurrent network of words.
Dependency edges may replace the words.

A region of the numbers r, and word t of a sentence of N words with the word vectors x_1 ... x_N, become

    v   = W_m r + b_m                                  eq. 1
    e_t = f(W_e x_t + b_e)                             eq. 3
    f_t = f(e_t + W_f f_(t-1) + b_f)                   eq. 4
    b_t = f(e_t + W_b b_(t+1) + b_b)                   eq. 5
    s_t = f(W_d (f_t + b_t) + b_d)                     eq. 6

with f(x) = max(0, x) and zeros before the first word and after the last. While the network learns, numbers of
r, e_t and of f_t + b_t are left out at random: nothing inside the recurrent layer is.

A dependency edge of the relation R, from the word with the vector x to the one it depends on with y, becomes

    s   = f(W_R [x; y] + b_R)

with a matrix for each relation; numbers of [x; y] are left out at random.

Source: Karpathy and Fei-Fei 2015, sections 3.1.1 and 3.1.2; edges from memory of Karpathy, Joulin and Fei-Fei
2014, which it cites in section 4.1.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

#: Initial standard deviation of the recurrent weights, relative to the other layers'.
_RECURRENT = 0.5


@dataclass(frozen=True, slots=True)
class NetworkSizes:
    """The sizes of the network: numbers of a region, of a word's vector, of the space, and how many words and
    relations there are."""

    region: int
    word: int
    space: int
    vocabulary: int
    relations: int = 0


class Dropout:
    """Dropout with its own generator; the remaining numbers are scaled up, so that sums keep their size."""

    def __init__(self, share: float, device: torch.device) -> None:
        self.share, self._rng = share, torch.Generator(device)

    def seed(self, seed: int) -> None:
        """Restart the generator: what follows depends on nothing before."""
        self._rng.manual_seed(seed)

    def __call__(self, values: Tensor) -> Tensor:
        if not self.share:
            return values
        retained = torch.rand(values.shape, generator=self._rng, device=values.device) >= self.share
        return values * retained / (1 - self.share)


class AlignmentNetwork(nn.Module, ABC):
    """The network of both sides. `vectors` are the words' vectors, shape (vocabulary, word), which are
    learned too unless `fixed`."""

    def __init__(
        self, sizes: NetworkSizes, rng: np.random.Generator, vectors: NDArray[np.floating], *, fixed: bool
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.words = nn.Parameter(torch.tensor(np.asarray(vectors, np.float32)), requires_grad=not fixed)
        self.regions = new_layer(sizes.region, sizes.space, rng)

    def forward(
        self, regions: Tensor, numbers: Tensor, there: Tensor, dropout: Dropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return embedded regions and embedded words."""
        return self.embed_regions(regions, dropout), self.embed_words(numbers, there, dropout)

    def embed_regions(self, regions: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Apply eq. 1: shape (..., region) to (..., space)."""
        embedded: Tensor = self.regions(thinned(regions, dropout))
        return embedded

    @abstractmethod
    def embed_words(self, numbers: Tensor, there: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Embed the elements of sentences, shape (sentences, longest, ...), as (sentences, longest, space); 0
        for padding."""


class RecurrentNetwork(AlignmentNetwork):
    """Words by a bidirectional recurrent network."""

    def __init__(
        self, sizes: NetworkSizes, rng: np.random.Generator, vectors: NDArray[np.floating], *, fixed: bool
    ) -> None:
        super().__init__(sizes, rng, vectors, fixed=fixed)
        self.entry = new_layer(sizes.word, sizes.space, rng)
        self.rightwards = new_layer(sizes.space, sizes.space, rng, _RECURRENT)
        self.leftwards = new_layer(sizes.space, sizes.space, rng, _RECURRENT)
        self.output = new_layer(sizes.space, sizes.space, rng)

    def embed_words(self, numbers: Tensor, there: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Apply eq. 2 to 6 to word numbers, shape (sentences, longest); return (sentences, longest, space), 0
        for padding."""
        present = there[..., None].to(self.words.dtype)
        entered = thinned(torch.relu(self.entry(self.words[numbers])), dropout) * present
        right = self._run(entered, present, self.rightwards, range(numbers.shape[1]))
        left = self._run(entered, present, self.leftwards, range(numbers.shape[1] - 1, -1, -1))
        embedded: Tensor = torch.relu(self.output(thinned(right + left, dropout))) * present
        return embedded

    def _run(self, entered: Tensor, present: Tensor, layer: nn.Linear, order: range) -> Tensor:
        """Apply eq. 4 or 5: return the states of each word, of the same shape as `entered`."""
        state = torch.zeros_like(entered[:, 0])
        states = [state] * len(order)
        for index in order:
            # After the last word the state stays zero: the backward pass begins there.
            state = torch.relu(entered[:, index] + layer(state)) * present[:, index]
            states[index] = state
        return torch.stack(states, dim=1)


class EdgeNetwork(AlignmentNetwork):
    """Dependency edges, each mapped by the matrix of its relation."""

    def __init__(
        self, sizes: NetworkSizes, rng: np.random.Generator, vectors: NDArray[np.floating], *, fixed: bool
    ) -> None:
        super().__init__(sizes, rng, vectors, fixed=fixed)
        shape = (sizes.relations, sizes.space, 2 * sizes.word)
        weights = rng.standard_normal(shape) / np.sqrt(2 * sizes.word)
        self.edge_weights = nn.Parameter(torch.tensor(weights.astype(np.float32)))
        self.edge_biases = nn.Parameter(torch.zeros(shape[:2]))

    def embed_words(self, numbers: Tensor, there: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Embed numbers of relations, heads and words, shape (sentences, longest, 3), as (sentences, longest,
        space); 0 for padding."""
        relations, heads, words = numbers[there].unbind(dim=1)
        pairs = thinned(torch.cat([self.words[words], self.words[heads]], dim=1), dropout)
        order = torch.argsort(relations, stable=True)
        parts = torch.split(pairs[order], torch.bincount(relations, minlength=self.sizes.relations).tolist())
        mapped = [
            part @ weights.T + biases
            for part, weights, biases in zip(parts, self.edge_weights, self.edge_biases, strict=True)
        ]
        embedded = torch.zeros((*there.shape, self.sizes.space), dtype=pairs.dtype, device=pairs.device)
        places = there.flatten().nonzero()[:, 0][order]
        flat = embedded.flatten(0, 1).index_copy(0, places, torch.relu(torch.cat(mapped)))
        return flat.view(embedded.shape)


def thinned(values: Tensor, dropout: Dropout | None) -> Tensor:
    """Apply dropout to the values, if given."""
    return values if dropout is None else dropout(values)


def new_layer(
    take: int, give: int, rng: np.random.Generator, share: float = 1.0, *, biased: bool = True
) -> nn.Linear:
    """Return a layer whose weights are normal with variance `share`^2 / take, and whose biases are 0."""
    # Initialised without torch's global generator, which belongs to the process.
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, take, give, bias=biased)
    weights = rng.standard_normal((give, take)) * share / np.sqrt(take)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights.astype(np.float32)))
        if biased:
            layer.bias.zero_()
    return layer
