"""Losses over the ranked tags of an image, with their gradients by the scores.

    SJE      max over i of [D(1, i) + s_i - s_1]+                               (equation 3)
    ListSJE  sum over k = 1 ... K_top and i > k of [D(k, i) + s_i - s_k]+       (equation 6)
    D I      1 where i is not k                                                 (equation 4)
    D II     1 - 1 / (i - k + 1)                                                (equation 5)

s_i is the score of the i-th most relevant tag. ListSJE takes D II. Where an image has fewer than K_top tags,
all of them count. Where several i reach the maximum of equation 3, the first gets the gradient.

Source: structured listwise tagging, section 3.1.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
#: SJE with the first or the second structured term, or the listwise loss.
LossName = Literal["sje-1", "sje-2", "listwise"]


def delta_one(size: int) -> _Floats:
    """Equation 4 for places k (rows) and i (columns), shape (size, size)."""
    return 1.0 - np.eye(size)


def delta_two(size: int) -> _Floats:
    """Equation 5 for places k (rows) and i >= k (columns), shape (size, size); 0 below the diagonal."""
    ahead = np.arange(size) - np.arange(size)[:, None]
    return np.where(ahead > 0, 1 - 1 / (np.maximum(ahead, 0) + 1), 0.0)


@dataclass(frozen=True, slots=True)
class TagLoss:
    """A loss of this section by name; `top` is K_top of the listwise one."""

    name: LossName
    top: int = 5

    def of(self, scores: _Floats, there: NDArray[np.bool_]) -> tuple[_Floats, _Floats]:
        """The loss of each image, shape (images,), and its gradient by the scores, shape (images, places).

        `scores` has a row of each image's tags, the most relevant first, and `there` says which are tags.
        """
        size = scores.shape[1]
        heads = min(self.top, size) if self.name == "listwise" else 1
        delta = (delta_one if self.name == "sje-1" else delta_two)(size)[:heads]
        later = np.arange(size) > np.arange(heads)[:, None]
        counted = later & there[:, None, :] & there[:, :heads, None]
        terms = delta + scores[:, None, :] - scores[:, :heads, None]
        active = counted & (terms > 0)
        if self.name != "listwise":
            first = np.where(active, terms, 0.0)[:, 0].argmax(axis=1)
            active &= np.arange(size) == first[:, None, None]
        gradient = active.sum(axis=1, dtype=np.float64)
        gradient[:, :heads] -= active.sum(axis=2)
        return np.where(active, terms, 0.0).sum(axis=(1, 2)), gradient
