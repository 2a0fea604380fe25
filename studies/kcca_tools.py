"""KCCA by other tools, on given kernels; run by `studies.kcca_peers`.

As a program, `PYTHON kcca_tools.py TOOL FILE.npz WEIGHTS.npz` measures its time, prints the seconds as JSON
and stores the weights, so that a tool can have its own environment; so this module imports nothing of this
project.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Fitted = tuple[np.ndarray, np.ndarray]


def mvlearn(x: np.ndarray, y: np.ndarray, kappa: float, dimensions: int, **more: Any) -> Fitted:
    """KMCCA, whose (1 - r) K^2 + r K is ours if r = kappa / (1 + kappa); all eigenvalues are used."""
    from mvlearn.embed import KMCCA  # type: ignore[import-not-found]

    settings = {"regs": kappa / (1 + kappa), "kernel": "precomputed", "sval_thresh": 1e-13, **more}
    model = KMCCA(n_components=dimensions, **settings).fit([x, y])
    return model.dual_vars_[0], model.dual_vars_[1]


def mvlearn_default(x: np.ndarray, y: np.ndarray, kappa: float, dimensions: int) -> Fitted:
    """KMCCA with its defaults: eigenvalues below n / 1,000 are dropped, so that it solves another problem."""
    return mvlearn(x, y, kappa, dimensions, sval_thresh=1e-3)


def cca_zoo(x: np.ndarray, y: np.ndarray, kappa: float, dimensions: int) -> Fitted:
    """KCCA, whose (1 - c) K^2 / (n - 1) + c K is ours if c = kappa / (kappa + n - 1)."""
    from cca_zoo.nonparametric import KCCA

    shrinkage = kappa / (kappa + len(x) - 1)
    # Kernels are centred already; `center` would subtract column means of the first argument.
    model = KCCA(dimensions, center=False, shrinkage=shrinkage, kernel="precomputed").fit([x, y])
    return model.weights_[0], model.weights_[1]


TOOLS: dict[str, Callable[[np.ndarray, np.ndarray, float, int], Fitted]] = {
    "mvlearn": mvlearn,
    "mvlearn, as it comes": mvlearn_default,
    "cca-zoo": cca_zoo,
}


def main(tool: str, file: str, weights: str) -> None:
    with np.load(file, allow_pickle=False) as held:
        x, y, kappa, dimensions = held["x"], held["y"], float(held["kappa"]), int(held["dimensions"])
    TOOLS[tool](x[:200, :200], y[:200, :200], kappa, min(dimensions, 20))  # imports and starts threads
    start = time.perf_counter()
    alpha, beta = TOOLS[tool](x, y, kappa, dimensions)
    taken = time.perf_counter() - start
    np.savez(weights, alpha=alpha, beta=beta)
    print(json.dumps({"seconds": taken}))


if __name__ == "__main__":
    main(*sys.argv[1:])
