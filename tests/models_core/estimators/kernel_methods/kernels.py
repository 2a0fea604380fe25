"""Kernels of correlated pairs, made from a few common topics."""

from typing import NamedTuple

import numpy as np


class Kernels(NamedTuple):
    """Training kernels (n, n), and kernels of held-out pairs with the training pairs, (new, n)."""

    x: np.ndarray
    y: np.ndarray
    new_x: np.ndarray
    new_y: np.ndarray


def kernels(pairs: int, new: int = 20, *, topics: int = 8, features: int = 40, seed: int = 0) -> Kernels:
    """Return radial kernels of two noisy views; of full rank unless pairs are repeated."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((pairs + new, topics))
    sides = []
    for _ in range(2):
        view = common @ rng.standard_normal((topics, features)) + rng.standard_normal((pairs + new, features))
        squares = np.einsum("ij,ij->i", view, view)
        distances = squares[:, None] + squares - 2 * view @ view.T
        kernel = np.exp(-distances / np.median(distances))
        sides.append((kernel + kernel.T) / 2)
    (x, y), cut = sides, pairs
    return Kernels(x[:cut, :cut], y[:cut, :cut], x[cut:, :cut], y[cut:, :cut])
