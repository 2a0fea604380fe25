"""A network that looks at a box close up and predicts where the phrase's thing ends, and whether people would
accept the box.

Convolutions turn a close-up into maps of a half, a quarter and an eighth of its side, and the coarser maps
are added back into the finer ones. The phrase and the position and size of the box give a gain and a shift
for each map, twice. For each side of the box the finest maps are pooled along that side, by mean and maximum,
to a row of cells; each cell gives the likelihood that the side is there, and the side is placed at the mean.
The network also predicts the chance that its box would be accepted.

Sources: a second look at each box, each look from where the last one ended: Cai and Vasconcelos 2018 (Cascade
R-CNN), from memory; sides as likelihoods over rows and columns: Gidaris and Komodakis 2016 (LocNet), from
memory, and Li et al. 2020 (Generalized Focal Loss), from memory; gain and shift by a sentence: Perez et al.
2018 (FiLM), from memory. Its size is our choice.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from models_core.estimators.neural.proposer.close_ups import SECOND_VIEW, CloseView
from models_core.estimators.neural.proposer.network import PhraseBatch, convolved, take_weights

#: Position of the outermost cells, slightly outside of what is shown.
_REACH = 1.1
_LINES, _NEAR, _WIDE, _WORD = 24, 48, 96, 64
#: Initial spread of the sides around those of the box in the middle, as a share of what is shown.
_SPREAD = 0.15


class RefinerNetwork(nn.Module):
    """The network; `words` is the number of words it knows, where number 0 stands for any other; `view`
    describes its input."""

    def __init__(self, words: int, view: CloseView = SECOND_VIEW) -> None:
        super().__init__()
        self.view = view
        self.lines = convolved(3, _LINES, 2)
        self.near = nn.Sequential(convolved(_LINES, _NEAR, 2), convolved(_NEAR, _NEAR, 1))
        self.wide = nn.Sequential(convolved(_NEAR, _WIDE, 2), nn.Conv2d(_WIDE, _WIDE, 3, 1, 1))
        self.from_wide, self.joined = nn.Conv2d(_WIDE, _NEAR, 1), nn.Conv2d(_NEAR, _NEAR, 3, 1, 1)
        self.from_lines = nn.Conv2d(_LINES, _NEAR, 1)
        self.word_means = nn.EmbeddingBag(words, _WORD, mode="mean")
        self.last_words = nn.Embedding(words, _WORD)
        self.phrases = nn.Sequential(nn.Linear(2 * _WORD + 4, 128), nn.ReLU(inplace=True))
        self.gains = nn.Linear(128, 2 * (_WIDE + _NEAR))
        self.across, self.down = _side_net(), _side_net()
        self.chance = nn.Sequential(
            nn.Linear(2 * (_WIDE + _NEAR) + 128, 96), nn.ReLU(inplace=True), nn.Linear(96, 1)
        )
        places = cell_places(view.side // 2)
        ends = (0.5 - 0.5 / view.around, 0.5 + 0.5 / view.around)
        prior = torch.stack([-(((places - end) / _SPREAD) ** 2) / 2 for end in ends])
        self.prior = nn.Parameter(prior.repeat(2, 1).view(2, 2, len(places)))

    def forward(
        self, pixels: Tensor, windows: Tensor, phrases: PhraseBatch, of: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return, for each close-up, (n, 3, side, side), the logits of the places of its sides, (n, 4,
        cells): left, top, right, bottom; and the logit of being accepted, (n,).

        `windows` are the parts of the picture shown, (n, 4), as shares; `of` is the index of each one's
        phrase, (n,).
        """
        extent = windows[:, 2:] - windows[:, :2]
        position = torch.cat(
            [(windows[:, :2] + windows[:, 2:]) / 2 - 0.5, extent.clamp(min=1e-3).log() / 2], 1
        )
        phrase_features = torch.cat(
            [self.word_means(phrases.words, phrases.begins), self.last_words(phrases.last)], 1
        )
        phrase_features = self.phrases(torch.cat([phrase_features[of], position], 1))
        gain, shift, gain_2, shift_2 = self.gains(phrase_features)[:, :, None, None].split(
            [_WIDE, _WIDE, _NEAR, _NEAR], 1
        )
        lines = self.lines(pixels)
        near = self.near(lines)
        wide = functional.relu(self.wide(near) * (1 + gain) + shift)
        near = near + functional.interpolate(self.from_wide(wide), size=near.shape[-2:])
        near = functional.relu(self.joined(near) * (1 + gain_2) + shift_2)
        fine = functional.interpolate(near, size=lines.shape[-2:]) + self.from_lines(lines)
        fine = functional.relu(fine)
        across = self.across(torch.cat([fine.mean(2), fine.max(2)[0]], 1)) + self.prior[0]
        down = self.down(torch.cat([fine.mean(3), fine.max(3)[0]], 1)) + self.prior[1]
        sides = torch.stack([across[:, 0], down[:, 0], across[:, 1], down[:, 1]], 1)
        # In the backward pass `max` is cheaper than `amax`, which looks for all places with equal values.
        seen = [features.mean((2, 3)) for features in (wide, near)]
        seen += [features.flatten(2).max(2)[0] for features in (wide, near)]
        return sides, self.chance(torch.cat([*seen, phrase_features], 1))[:, 0]

    def take_over(self, other: RefinerNetwork) -> None:
        """Copy the weights of a network that knows the first of these words, or all; new words keep their
        initial weights."""
        take_weights(self, other)


def _side_net() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(2 * _NEAR, _NEAR, 3, 1, 1), nn.ReLU(inplace=True), nn.Conv1d(_NEAR, 2, 3, 1, 1)
    )


def cell_places(cells: int, device: Any = None) -> Tensor:
    """Return the positions of the cells of a side, as shares of what a close-up shows, (cells,)."""
    return ((torch.arange(cells, device=device) + 0.5) / cells - 0.5) * _REACH + 0.5


def refined_boxes(sides: Tensor, windows: Tensor) -> Tensor:
    """Return the boxes whose sides are at the means, (n, 4), as shares, clipped to the picture."""
    at = (sides.softmax(-1) * cell_places(sides.shape[-1], sides.device)).sum(-1)
    extent = (windows[:, 2:] - windows[:, :2]).repeat(1, 2)
    return (windows[:, :2].repeat(1, 2) + at * extent).clamp(0, 1)
