"""A network that says which box of a picture a phrase means, and whether people would accept it.

A picture of `side` x `side` pixels becomes maps of `side` / 8 cells by convolutions, with coarser maps added
back in and the place of each cell beside it. A phrase becomes the mean vector of its words beside that of its
last word, from which come a gain and a shift for each map, twice: so one pass over the picture serves all its
phrases. Each cell then says

    whether it is in the middle of the phrase's thing (which helps it learn),
    the chance that its box would be accepted,
    the distances from the cell to the box's four sides.

Sources: one stage without proposals, with the phrase joined to the picture's maps: Yang et al. 2019, "A Fast
and Accurate One-Stage Approach to Visual Grounding", from memory; distances to four sides: Tian et al. 2019
(FCOS), from memory; gain and shift by a sentence: Perez et al. 2018 (FiLM), from memory. Its size is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

#: Numbers of a cell: in the middle or not, accepted or not, and the four distances.
_OUTPUTS = 6
#: Share of the picture's side that a distance of softplus(1) stands for, roughly.
_DISTANCE = 0.3
_WIDE, _DEEP, _WORD = 64, 96, 64


@dataclass(frozen=True, slots=True)
class PhraseBatch:
    """Phrases of a batch: their words' numbers one after the other, where each phrase begins, its last word's
    number, and its picture (the place in the batch)."""

    words: Tensor
    begins: Tensor
    last: Tensor
    picture: Tensor


def _block(inputs: int, outputs: int, step: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, step, 1, bias=False), nn.GroupNorm(8, outputs), nn.ReLU(inplace=True)
    )


class ProposerNetwork(nn.Module):
    """The network; `words` is how many words it knows, number 0 being any other."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.first = nn.Sequential(_block(3, 24, 2), _block(24, 48, 2), _block(48, _WIDE, 2))
        self.second = _block(_WIDE, _DEEP, 2)
        self.third = nn.Sequential(_block(_DEEP, _DEEP, 2), _block(_DEEP, _DEEP, 1))
        self.from_third, self.from_second = nn.Conv2d(_DEEP, _DEEP, 1), nn.Conv2d(_DEEP, _WIDE, 1)
        self.joined = _block(_WIDE + 4, _DEEP, 1)
        self.word_means = nn.EmbeddingBag(words, _WORD, mode="mean")
        self.last_words = nn.Embedding(words, _WORD)
        self.phrases = nn.Sequential(
            nn.Linear(2 * _WORD, 2 * _WORD), nn.ReLU(inplace=True), nn.Linear(2 * _WORD, 4 * _DEEP)
        )
        self.mixed, self.told = nn.Conv2d(_DEEP, _DEEP, 1), nn.Conv2d(_DEEP, _OUTPUTS, 1)

    def forward(self, pictures: Tensor, phrases: PhraseBatch) -> Tensor:
        """What each cell says of each phrase, (phrases, 6, cells, cells); pictures are (n, 3, side, side)."""
        first = self.first(pictures)
        second = self.second(first)
        third = self.third(second)
        second = second + functional.interpolate(self.from_third(third), size=second.shape[-2:])
        first = first + functional.interpolate(self.from_second(second), size=first.shape[-2:])
        across, down = cell_centres(first.shape[-1], first.device)
        place = torch.stack([across, down, (across - 0.5) ** 2, (down - 0.5) ** 2])
        maps = self.joined(torch.cat([first, place.expand(len(first), -1, -1, -1)], 1))
        said = self.phrases(
            torch.cat([self.word_means(phrases.words, phrases.begins), self.last_words(phrases.last)], 1)
        )
        gain, shift, gain_2, shift_2 = said[:, :, None, None].split(_DEEP, 1)
        of_phrase = functional.relu(maps[phrases.picture] * (1 + gain) + shift)
        of_phrase = functional.relu(self.mixed(of_phrase) * (1 + gain_2) + shift_2)
        out: Tensor = self.told(of_phrase)
        return out

    def take_over(self, other: ProposerNetwork) -> None:
        """Take the weights of a network that knows the first of these words, or all; new words stay new."""
        own = self.state_dict()
        for name, weights in other.state_dict().items():
            own[name][: len(weights)] = weights
        self.load_state_dict(own)


def cell_centres(cells: int, device: Any = None) -> tuple[Tensor, Tensor]:
    """How far cells' centres are to the right and down, as shares of the side; both (cells, cells)."""
    centres = (torch.arange(cells, device=device) + 0.5) / cells
    down, across = torch.meshgrid(centres, centres, indexing="ij")
    return across, down


def cell_boxes(told: Tensor) -> Tensor:
    """The box that each cell says, (phrases, cells, cells, 4): left, top, right, bottom as shares."""
    across, down = cell_centres(told.shape[-1], told.device)
    distances = functional.softplus(told[:, 2:6]) * _DISTANCE
    left, top, right, bottom = distances.unbind(1)
    return torch.stack([across - left, down - top, across + right, down + bottom], -1)


def overlap(one: Tensor, two: Tensor) -> Tensor:
    """IoU of boxes (..., 4), the first cut to the picture."""
    one = one.clamp(0, 1)
    wide = torch.minimum(one[..., 2], two[..., 2]) - torch.maximum(one[..., 0], two[..., 0])
    high = torch.minimum(one[..., 3], two[..., 3]) - torch.maximum(one[..., 1], two[..., 1])
    shared = wide.clamp(min=0) * high.clamp(min=0)
    areas = [(b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]) for b in (one, two)]
    return shared / (areas[0] + areas[1] - shared + 1e-9)
