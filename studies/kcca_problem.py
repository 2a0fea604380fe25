"""The pairs of the KCCA benchmarks: synthetic pictures and texts of the same topics, as kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models_core.estimators.base import Matrix
from models_core.estimators.kcca.kcca import unit

#: The regulariser of eq. 3, and the number of dimensions.
KAPPA, DIMENSIONS = 0.5, 100


class Problem(NamedTuple):
    """Training kernels (n, n), and held-out ones (new, n)."""

    x: Matrix
    y: Matrix
    new_x: Matrix
    new_y: Matrix


def problem(pairs: int, new: int = 0, *, topics: int = 60, words: int = 4000) -> Problem:
    rng = np.random.default_rng(0)
    total = pairs + new
    shares = rng.dirichlet(np.full(topics, 0.08), total)
    frequency = 1 / np.arange(1, words + 1)
    of_topic = rng.gamma(0.2, size=(topics, words)) * frequency
    of_topic /= of_topic.sum(axis=1, keepdims=True)
    texts = rng.poisson(35 * shares @ of_topic).astype(np.float64)
    seen = rng.gamma(0.3, size=(topics, 640))
    seen /= seen.sum(axis=1, keepdims=True)
    pictures = np.sqrt(
        rng.poisson(3000 * (0.3 * shares + 0.7 * rng.dirichlet(np.full(topics, 0.2), total)) @ seen)
    )
    kernels = []
    for vectors, power in ((unit(pictures), 2), (unit(texts), 1)):
        kernels.append((vectors @ vectors[:pairs].T) ** power)
    x, y = kernels
    x_train, y_train = ((side[:pairs] + side[:pairs].T) / 2 for side in (x, y))
    return Problem(x_train, y_train, x[pairs:], y[pairs:])
