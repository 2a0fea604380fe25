"""Partial Gram-Schmidt: a kernel approximated as R R' with few columns, which is never computed completely.

Pivoted incomplete Cholesky decomposition: each step takes the item that the previous ones explain least,
which needs only that item's column of the kernel and the diagonal. Source: Hardoon et al. 2004, "Canonical
correlation analysis: an overview with application to learning methods", which Hodosh et al. 2013 solve KCCA
with (section 3.2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from models_core.estimators.base import Matrix, checked_numbers
from models_core.estimators.kcca.problem import checked_kernel
from models_core.estimators.kcca.spectrum import LEAST_EIGENVALUE, KernelView
from phrasebox.lazy import linalg


@dataclass(frozen=True, slots=True)
class Columns:
    """A kernel of training items, a column at a time: `diagonal` has shape (n,), `column(i)` too."""

    diagonal: Matrix
    column: Callable[[int], ArrayLike]

    @classmethod
    def of(cls, kernel: ArrayLike, name: str) -> Columns:
        """Return the columns of a kernel in memory; raises as `checked_kernel`, with the name `name`."""
        checked = checked_kernel(kernel, name)
        return cls(np.diag(checked).copy(), lambda item: checked[item])


def approximate(columns: Columns, *, rank: int, tolerance: float = 1e-6, center: bool = True) -> KernelView:
    """Return the kernel's approximation of at most `rank`, decomposed.

    Also stops when the remaining trace is at most `tolerance` of the whole. Memory is n times the rank.
    Raises ValueError if an item's kernel with itself is negative or nothing is left after centring.
    """
    diagonal = checked_numbers(columns.diagonal, "the kernel's diagonal")
    if rank < 1:
        raise ValueError(f"rank is {rank}; expected 1 or more")
    if (diagonal < 0).any():
        item = int(np.argmax(diagonal < 0))
        raise ValueError(f"item {item} has the kernel {diagonal[item]} with itself; expected 0 or more")
    items, trace = len(diagonal), float(diagonal.sum())
    left = diagonal.copy()
    factor = np.zeros((items, min(rank, items)))  # R
    pivots: list[int] = []
    while len(pivots) < factor.shape[1] and left.sum() > tolerance * trace:
        pivot, size = int(left.argmax()), len(pivots)
        if left[pivot] <= LEAST_EIGENVALUE * trace / items:
            break
        column = checked_numbers(columns.column(pivot), f"column {pivot} of a kernel")
        if column.shape != diagonal.shape:
            raise ValueError(
                f"column {pivot} of a kernel has shape {column.shape}; expected {diagonal.shape}"
            )
        new = (column - factor[:, :size] @ factor[pivot, :size]) / np.sqrt(left[pivot])
        new[pivots] = 0.0
        factor[:, size] = new
        left = np.maximum(left - new**2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    factor = factor[:, : len(pivots)]
    chosen = np.array(pivots, dtype=np.intp)
    means = factor.mean(axis=0) if center else np.zeros(len(pivots))
    values, rotation = np.linalg.eigh((factor - means).T @ (factor - means))
    retained = values > LEAST_EIGENVALUE * max(float(values.max(initial=0.0)), float(means @ means))
    values, rotation = values[retained][::-1], rotation[:, retained][:, ::-1]
    if not len(values):
        raise ValueError("a kernel has no eigenvalue above 0; expected items that differ from each other")
    # k(x, pivots) R_P^-T are a new item's coordinates; `turn` takes them to U diag(values).
    back = linalg.solve_triangular(factor[chosen], rotation, lower=True, trans="T")
    return KernelView(
        vectors=(factor - means) @ rotation / np.sqrt(values),
        values=values,
        back=back * np.sqrt(values),
        shift=(means @ rotation) * np.sqrt(values),
        columns=chosen,
    )
