"""A network that says of an image which word comes next, given the words before.

An image of the numbers v, and the words x_1 ... x_N of its caption as vectors, with START before them, become

    b_v = W_hi v                                                              eq. 13
    h_t = f(W_hx x_t + W_hh h_(t-1) + b_h + [t = 1] b_v)                      eq. 14
    y_t = softmax(W_oh h_t + b_o)                                             eq. 15

with f(x) = max(0, x) and h_0 = 0. y_t are the probabilities of the word after x_t: each word, or END. Where
the settings say so, b_v and W_hx x_t go through f first. While the network learns, numbers of v, of x_t and
of h_t on its way to y_t are left out at random: nothing inside the recurrent layer is.

v are the numbers of the feature set less their mean over the training images, divided by one number, so that
their mean square is 1. b_o begins as the logarithm of how frequent a word is.

Source: Karpathy and Fei-Fei 2015, section 3.2.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models_core.estimators.neural.network import Dropout, new_layer, thinned

#: Initial standard deviation of the recurrent weights, relative to the other layers'.
_RECURRENT = 0.5


@dataclass(frozen=True, slots=True)
class CaptionerSizes:
    """The sizes of the network: numbers of an image, of a word's vector, of the hidden layer, and the size of
    the vocabulary."""

    image: int
    word: int
    hidden: int
    vocabulary: int

    @property
    def end(self) -> int:
        """The number of END, after those of all words."""
        return self.vocabulary


class CaptionerNetwork(nn.Module):
    """`vectors` are the words' vectors, shape (vocabulary, word), learned too unless `fixed`. `rectified`
    says whether b_v and W_hx x_t go through f."""

    centre: Tensor
    scale: Tensor

    def __init__(
        self,
        sizes: CaptionerSizes,
        rng: np.random.Generator,
        vectors: NDArray[np.floating],
        *,
        fixed: bool,
        rectified: bool,
    ) -> None:
        super().__init__()
        self.sizes, self.rectified = sizes, rectified
        self.words = nn.Parameter(torch.tensor(np.asarray(vectors, np.float32)), requires_grad=not fixed)
        start = rng.standard_normal(sizes.word) * np.asarray(vectors, np.float64).std()
        self.start = nn.Parameter(torch.tensor(start.astype(np.float32)))
        self.image = new_layer(sizes.image, sizes.hidden, rng, biased=False)
        self.entry = new_layer(sizes.word, sizes.hidden, rng, biased=False)
        self.recurrent = new_layer(sizes.hidden, sizes.hidden, rng, _RECURRENT)
        self.output = new_layer(sizes.hidden, sizes.vocabulary + 1, rng)
        self.register_buffer("centre", torch.zeros(sizes.image))
        self.register_buffer("scale", torch.ones(1))

    def begin(self, images: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Return h_1, shape (images, hidden), from images' vectors, shape (images, image): the state after
        START."""
        seen = (images - self.centre) / self.scale
        context = self._rectify(self.image(thinned(seen, dropout)))
        start = self._entered(self.start.expand(len(images), -1), dropout)
        # h_0 is zero, so only the recurrent layer's bias remains.
        return torch.relu(start + self.recurrent.bias + context)

    def advance(self, state: Tensor, numbers: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Return the state after one more word with these numbers, shape (sentences,)."""
        return torch.relu(self._entered(self.words[numbers], dropout) + self.recurrent(state))

    def next_words(self, state: Tensor, dropout: Dropout | None = None) -> Tensor:
        """Return the log-probabilities of each word, and of END as the last."""
        return torch.log_softmax(self.output(thinned(state, dropout)), dim=-1)

    def forward(
        self, images: Tensor, numbers: Tensor, there: Tensor, dropout: Dropout | None = None
    ) -> Tensor:
        """Return the log-probability of each word and of END after them, given all previous words, shape
        (sentences, longest + 1); 0 after END. `images` has a row for each sentence, `numbers` and `there` the
        shape (sentences, longest)."""
        state = self.begin(images, dropout)
        states = [state]
        for index in range(numbers.shape[1]):
            state = self.advance(state, numbers[:, index], dropout)
            states.append(state)
        first = torch.ones_like(there[:, :1])
        requested = torch.cat([first, there], dim=1)
        target = torch.cat([numbers, torch.zeros_like(numbers[:, :1])], dim=1)
        counts = there.sum(dim=1, keepdim=True)
        target = target.scatter(1, counts, self.sizes.end)
        # The output layer is by far the largest: it is only computed for states that are needed.
        predictions = self.next_words(torch.stack(states, dim=1)[requested], dropout)
        log_probabilities = torch.zeros(requested.shape, dtype=predictions.dtype, device=predictions.device)
        log_probabilities[requested] = predictions.gather(1, target[requested][:, None])[:, 0]
        return log_probabilities

    def _entered(self, vectors: Tensor, dropout: Dropout | None) -> Tensor:
        return self._rectify(self.entry(thinned(vectors, dropout)))

    def _rectify(self, values: Tensor) -> Tensor:
        return torch.relu(values) if self.rectified else values
