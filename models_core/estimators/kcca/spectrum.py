"""KCCA by two eigendecompositions, which serve every regulariser and every number of dimensions.

With K_x = U L U' and K_y = V M V', eq. 3 of Hodosh et al. 2013 becomes, for each kappa, the singular value
decomposition A diag(rho) B' of T = sqrt(L / (L + kappa)) U'V sqrt(M / (M + kappa)), and alpha = U diag(1 /
sqrt(L (L + kappa))) A, beta likewise. Fewer dimensions are a prefix of more. Decompositions run in parallel
with one BLAS thread each, since half of an eigendecomposition waits for memory, and threads that share one
also wait for each other. They are NumPy's, which releases the interpreter's lock while it computes; SciPy's
does not.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models_core.estimators.base import Matrix
from models_core.estimators.kcca.problem import Centred
from phrasebox.threads import for_each, one_blas_thread

#: Eigenvalues of a kernel below this share of the largest are rounding errors, or negative, and are dropped.
LEAST_EIGENVALUE = 1e-10
#: Squared correlations below this share of the largest are dropped too: T'T is accurate to about 1e-15 of it.
LEAST_SQUARED_CORRELATION = 1e-6


@dataclass(frozen=True, slots=True)
class KernelView:
    """One side of the pairs: K = vectors diag(values) vectors', and the projection of new items.

    Coefficients c of shape (rank, d) mean alpha = vectors @ c. A new item with kernel k with the training
    items `columns` (all if None) has the projection k @ back @ c - shift @ c.
    """

    vectors: Matrix  # U, (n, rank)
    values: Matrix  # L, (rank,), descending
    back: Matrix  # (columns, rank)
    shift: Matrix  # (rank,)
    columns: NDArray[np.intp] | None = None


class Solution(NamedTuple):
    """Correlations, descending, shape (d,), and coefficients in both views, shape (rank, d) each."""

    correlations: Matrix
    x: Matrix
    y: Matrix


def _view(side: Centred) -> KernelView:
    """Return a kernel's decomposition without eigenvalues below LEAST_EIGENVALUE of the largest.

    Raises ValueError if nothing is left, as for a constant kernel that was centred.
    """
    values, vectors = np.linalg.eigh(side.kernel)
    excluded = int(np.searchsorted(values, least_eigenvalue(side, float(values[-1])), side="right"))
    check_retained(len(values) - excluded)
    # Descending, in the row order that products read fastest.
    values, vectors = values[excluded:][::-1].copy(), np.ascontiguousarray(vectors[:, excluded:][:, ::-1])
    return KernelView(vectors, values, vectors, side.means @ vectors)


def least_eigenvalue(side: Centred, largest: float) -> float:
    """Return the threshold below which eigenvalues of a kernel are dropped, where the largest is
    `largest`."""
    # A kernel with equal entries leaves rounding errors when it is centred.
    scale = max(float(np.abs(side.means).max()), float(np.abs(side.kernel).max()))
    return LEAST_EIGENVALUE * max(largest, scale)


def check_retained(eigenvalues: int) -> None:
    """Raise ValueError if no eigenvalue is retained."""
    if not eigenvalues:
        raise ValueError("a kernel has no eigenvalue above 0; expected items that differ from each other")


def decompose_both(x: Centred, y: Centred) -> tuple[KernelView, KernelView]:
    """Decompose both sides in parallel."""
    sides, views = (x, y), dict[int, KernelView]()

    def decompose(side: int) -> None:
        views[side] = _view(sides[side])

    with one_blas_thread():
        for_each(decompose, (0, 1))
    return views[0], views[1]


def solve_eigenproblem(
    x: KernelView, y: KernelView, cross: Matrix, kappa: float, dimensions: int | None = None
) -> Solution:
    """Return the leading `dimensions` of eq. 3, all where None; `cross` is U'V, shape (rank, rank).

    The result has fewer where fewer correlate: see LEAST_SQUARED_CORRELATION.
    """
    # The shorter side is cheaper.
    if len(x.values) < len(y.values):
        correlations, second, first = solve_eigenproblem(y, x, cross.T, kappa, dimensions)
        return Solution(correlations, first, second)
    shrunk_x, shrunk_y = (np.sqrt(v.values / (v.values + kappa)) for v in (x, y))
    between = shrunk_x[:, None] * cross * shrunk_y  # T
    square = between.T @ between
    with one_blas_thread():
        squares, right = np.linalg.eigh(square)
    least = LEAST_SQUARED_CORRELATION * squares[-1]
    count = int(np.count_nonzero(squares > least)) if squares[-1] > 0 else 0
    count = count if dimensions is None else min(count, dimensions)
    if not count:
        return Solution(np.empty(0), np.empty((len(x.values), 0)), np.empty((len(y.values), 0)))
    correlations = np.sqrt(squares[: -count - 1 : -1])
    right = right[:, : -count - 1 : -1]  # B
    left = between @ right / correlations  # A
    return Solution(
        correlations,
        left / np.sqrt(x.values * (x.values + kappa))[:, None],
        right / np.sqrt(y.values * (y.values + kappa))[:, None],
    )
