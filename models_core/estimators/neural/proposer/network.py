"""A network that predicts which box of a picture a phrase describes, and whether people would accept it.

A picture of `side` x `side` pixels becomes maps of `side` / 8 cells by convolutions, with coarser maps added
back in and the place of each cell beside it. A phrase becomes the mean vector of its words beside that of its
last word, from which come a gain and a shift for each map, twice: so one pass over the picture serves all its
phrases. Each cell then predicts

    whether it is in the middle of the phrase's object (which helps training),
    the probability that its box would be accepted,
    the distances from the cell to the box's four sides.

Sources: one stage without proposals, with the phrase joined to the picture's maps: Yang et al. 2019, "A Fast
and Accurate One-Stage Approach to Visual Grounding", from memory; distances to four sides: Tian et al. 2019
(FCOS), from memory; gain and shift by a sentence: Perez et al. 2018 (FiLM), from memory. Its size is our
choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

#: Side of a cell in pixels.
CELL = 8
#: Numbers predicted per cell: in the middle or not, accepted or not, and the four distances.
_OUTPUTS = 6
#: The share of the picture's side to which a distance of softplus(1) corresponds, roughly.
_DISTANCE = 0.3
_WIDE, _DEEP, _WORD = 64, 96, 64


@dataclass(frozen=True, slots=True)
class PhraseBatch:
    """A batch of phrases: their word numbers one after the other, the start of each phrase, its last word's
    number, and the index of its picture in the batch."""

    words: Tensor
    begins: Tensor
    last: Tensor
    picture: Tensor

    def to(self, device: Any) -> PhraseBatch:
        """Return the same on a device."""
        return PhraseBatch(
            *(tensor.to(device) for tensor in (self.words, self.begins, self.last, self.picture))
        )


def convolved(inputs: int, outputs: int, step: int) -> nn.Sequential:
    """Return layers that convolve maps and shrink them by `step`."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, step, 1, bias=False), nn.GroupNorm(8, outputs), nn.ReLU(inplace=True)
    )


class ProposerNetwork(nn.Module):
    """The network; `words` is the size of its vocabulary, number 0 being any other word."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.first = nn.Sequential(convolved(3, 24, 2), convolved(24, 48, 2), convolved(48, _WIDE, 2))
        self.second = convolved(_WIDE, _DEEP, 2)
        self.third = nn.Sequential(convolved(_DEEP, _DEEP, 2), convolved(_DEEP, _DEEP, 1))
        self.from_third, self.from_second = nn.Conv2d(_DEEP, _DEEP, 1), nn.Conv2d(_DEEP, _WIDE, 1)
        self.joined = convolved(_WIDE + 4, _DEEP, 1)
        self.word_means = nn.EmbeddingBag(words, _WORD, mode="mean")
        self.last_words = nn.Embedding(words, _WORD)
        self.phrases = nn.Sequential(
            nn.Linear(2 * _WORD, 2 * _WORD), nn.ReLU(inplace=True), nn.Linear(2 * _WORD, 4 * _DEEP)
        )
        self.mixed, self.outputs = nn.Conv2d(_DEEP, _DEEP, 1), nn.Conv2d(_DEEP, _OUTPUTS, 1)

    def forward(self, pictures: Tensor, phrases: PhraseBatch, cells: Tensor | None = None) -> Tensor:
        """Return the predictions of each cell for each phrase, (phrases, cells, 6); pictures are (n, 3, side,
        side).

        `cells`: for each phrase, the numbers of the cells to evaluate among the (side / 8) squared cells in
        row order, (phrases, cells); all by default.
        """
        first = self.first(pictures)
        second = self.second(first)
        third = self.third(second)
        second = second + functional.interpolate(self.from_third(third), size=second.shape[-2:])
        first = first + functional.interpolate(self.from_second(second), size=first.shape[-2:])
        across, down = cell_centres(first.shape[-1], first.device)
        position = torch.stack([across, down, (across - 0.5) ** 2, (down - 0.5) ** 2])
        maps = self.joined(torch.cat([first, position.expand(len(first), -1, -1, -1)], 1))
        maps = maps.flatten(2).transpose(1, 2)
        phrase_features = self.phrases(
            torch.cat([self.word_means(phrases.words, phrases.begins), self.last_words(phrases.last)], 1)
        )
        gain, shift, gain_2, shift_2 = phrase_features[:, None].split(_DEEP, 2)
        if cells is None:
            of_phrase = maps[phrases.picture]
        else:
            rows = phrases.picture[:, None] * maps.shape[1] + cells
            of_phrase = functional.embedding(rows, maps.reshape(-1, _DEEP))
        of_phrase = functional.relu(of_phrase * (1 + gain) + shift)
        mixed = functional.linear(of_phrase, self.mixed.weight[:, :, 0, 0], self.mixed.bias)
        of_phrase = functional.relu(mixed * (1 + gain_2) + shift_2)
        return functional.linear(of_phrase, self.outputs.weight[:, :, 0, 0], self.outputs.bias)

    def take_over(self, other: ProposerNetwork) -> None:
        """Copy the weights of a network whose vocabulary is a prefix of this one's; new words keep theirs."""
        take_weights(self, other)


def take_weights(network: nn.Module, source: nn.Module) -> None:
    """Copy the weights of another network of the same kind whose vocabulary is a prefix."""
    target = network.state_dict()
    for name, weights in source.state_dict().items():
        target[name][: len(weights)] = weights
    network.load_state_dict(target)


def device_of(network: nn.Module) -> torch.device:
    """Return the device of a network, where its inputs must be, too."""
    return next(network.parameters()).device


def cell_centres(cells: int, device: Any = None) -> tuple[Tensor, Tensor]:
    """Return the horizontal and vertical positions of cells' centres, as shares of the side; both (cells,
    cells)."""
    centres = (torch.arange(cells, device=device) + 0.5) / cells
    down, across = torch.meshgrid(centres, centres, indexing="ij")
    return across, down


def centres_of(cells: Tensor, side: int) -> Tensor:
    """Return the centres, (..., 2), of cells by their numbers in row order, where a row has `side` cells."""
    return torch.stack([cells % side, cells // side], -1).add(0.5) / side


def cell_boxes(outputs: Tensor, centres: Tensor) -> Tensor:
    """Return the box that each cell predicts, (..., 4): left, top, right, bottom as shares; from the cells'
    outputs, (..., 6), and their centres, (..., 2)."""
    distances = functional.softplus(outputs[..., 2:6]) * _DISTANCE
    return torch.cat([centres - distances[..., :2], centres + distances[..., 2:]], -1)


def overlap(first: Tensor, second: Tensor) -> Tensor:
    """Return the IoU of boxes (..., 4), the first clipped to the picture."""
    first = first.clamp(0, 1)
    wide = torch.minimum(first[..., 2], second[..., 2]) - torch.maximum(first[..., 0], second[..., 0])
    high = torch.minimum(first[..., 3], second[..., 3]) - torch.maximum(first[..., 1], second[..., 1])
    shared = wide.clamp(min=0) * high.clamp(min=0)
    areas = [(b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]) for b in (first, second)]
    return shared / (areas[0] + areas[1] - shared + 1e-9)
