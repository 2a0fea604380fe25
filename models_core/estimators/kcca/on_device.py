"""KCCA by two eigendecompositions with torch, in double precision: `spectrum` on a GPU.

The arrays of a View and of a Solution are tensors here, and stay on the device until a model is made from
them. Memory holds both sides' eigenvectors and their products, three matrices of (pairs, pairs); solving for
one regulariser temporarily takes about eight more: 3.2 GB at 6,000 pairs, plus the decompositions' work
space.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from models_core.estimators.base import Matrix
from models_core.estimators.kcca import spectrum
from models_core.estimators.kcca.problem import Centred
from models_core.estimators.kcca.spectrum import KernelView, Solution
from phrasebox.device import Torch, host


def decompose_on_device(x: Centred, y: Centred, on: Torch) -> tuple[KernelView, KernelView]:
    """Decompose both sides, one after the other: each fills the device."""
    first = _view(x, on)
    on.free()
    return first, _view(y, on)


def _view(side: Centred, on: Torch) -> KernelView:
    """Return `spectrum._view` with tensors."""
    values, vectors = on.torch.linalg.eigh(on.put(side.kernel))
    least = spectrum.least_eigenvalue(side, float(values[-1]))
    excluded = int((values <= least).sum())
    spectrum.check_retained(len(values) - excluded)
    values, vectors = values[excluded:].flip(0), vectors[:, excluded:].flip(1)
    return KernelView(vectors, values, vectors, on.put(side.means) @ vectors)


def solve_on_device(
    x: KernelView, y: KernelView, cross: Any, kappa: float, dimensions: int | None, on: Torch
) -> Solution:
    """Return `spectrum.solve_eigenproblem` with tensors."""
    if len(x.values) < len(y.values):
        correlations, second, first = solve_on_device(y, x, cross.T, kappa, dimensions, on)
        return Solution(correlations, first, second)
    sqrt = on.torch.sqrt
    shrunk_x, shrunk_y = (sqrt(v.values / (v.values + kappa)) for v in (x, y))
    between = shrunk_x[:, None] * cross * shrunk_y  # T
    squares, right = on.torch.linalg.eigh(between.T @ between)
    largest = float(squares[-1])
    above = int((squares > spectrum.LEAST_SQUARED_CORRELATION * largest).sum()) if largest > 0 else 0
    dimensions_retained = above if dimensions is None else min(above, dimensions)
    last = len(squares) - dimensions_retained
    right = right[:, last:].flip(1)  # B
    canonical = sqrt(squares[last:].flip(0))
    left = between @ right / canonical  # A
    of_x, of_y = (sqrt(v.values * (v.values + kappa))[:, None] for v in (x, y))
    return Solution(canonical, left / of_x, right / of_y)


def prefix_scores_on_device(
    x: Matrix, y: Matrix, dimensions: Sequence[int], on: Torch
) -> Iterator[tuple[int, Matrix]]:
    """Yield as `selection.prefix_scores`, with checked dimensions; yields NumPy arrays."""
    left, right = on.put(x), on.put(y)
    products = left.new_zeros((len(x), len(y)))
    lengths = left.new_zeros(len(x)), left.new_zeros(len(y))
    start = 0
    for size in dimensions:
        parts = left[:, start:size], right[:, start:size]
        products += parts[0] @ parts[1].T
        for total, part in zip(lengths, parts, strict=True):
            total += (part * part).sum(dim=1)
        start = size
        scale = (lengths[0][:, None] * lengths[1]).sqrt()
        yield size, host(products / scale.where(scale > 0, 1.0))
