"""The leading dimensions of KCCA without any decomposition of n by n: Cholesky and a block Krylov space.

With P_x = (K_x + kappa I)^-1 K_x, symmetric as its factors commute, the projections w = K_x alpha and
z = K_y beta of the training items solve w = P_x z / rho and z = P_y w / rho (eq. 3 of Hodosh et al.
2013), so P_x P_y w = rho^2 w. That operator is self-adjoint in the inner product u' P_y v, in which
the space is built and kept orthonormal. Applying it costs two triangular solves a side. Afterwards
alpha = (K_x + kappa I)^-1 z / rho and beta = (K_y + kappa I)^-1 w / rho.
Source of the method: Golub and Underwood 1977, "The block Lanczos method for computing eigenvalues".
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, solve_triangular

from models_core.retrieval.problem import Matrix
from models_core.retrieval.spectrum import LEAST_SQUARED_CORRELATION, Solution
from models_core.threads import for_each, one_blas_thread

_BLOCK = 64  # vectors a step: enough for matrix products, few enough for a deep space
_TOLERANCE = 1e-11  # of the residual, relative to the largest squared correlation
_GROWTH = 1.25  # the space grows by this much between two looks at it
_NEGATIVE = 1e-3  # of kappa: eigenvalues down to minus this are rounding of single precision, and harmless


class NotSemidefinite(ValueError):
    """A kernel has negative eigenvalues, which a Cholesky decomposition cannot drop."""


class _Side:
    """(K + kappa I)^-1 by a Cholesky decomposition; raises NotSemidefinite."""

    def __init__(self, kernel: Matrix, kappa: float, name: str) -> None:
        self.kappa = kappa
        try:
            # The first only asks whether the kernel is one.
            for shift in (_NEGATIVE * kappa, kappa):
                shifted = kernel.copy(order="F")
                np.einsum("ii->i", shifted)[...] += shift
                self.factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raise NotSemidefinite(
                f"kernel {name} has negative eigenvalues; solver 'full' leaves them out"
            ) from None

    def inverse(self, block: Matrix) -> Matrix:
        found = np.empty_like(block)
        half = -(-block.shape[1] // 2)

        def solve(start: int) -> None:
            part = slice(start, start + half)
            found[:, part] = cho_solve(self.factor, block[:, part], check_finite=False)

        for_each(solve, range(0, block.shape[1], max(1, half)))
        return found

    def shrunk(self, block: Matrix) -> Matrix:
        """P times the block: 1 - kappa (K + kappa I)^-1."""
        return np.asarray(block - self.kappa * self.inverse(block))


def solve_few(x: Matrix, y: Matrix, kappa: float, dimensions: int, *, seed: int = 0) -> Solution:
    """The leading `dimensions` of eq. 3 for kernels of shape (n, n), as alpha and beta, shape (n, d).

    `seed` draws the start, on which nothing depends but rounding. Signs are those of `solve` up to
    a factor of -1. Raises NotSemidefinite, after which spectrum.solve does it. Blocks are divided among
    threads of one BLAS thread each: BLAS's own wait for each other at the end of each small product.
    """
    with one_blas_thread():
        sides: dict[str, _Side] = {}

        def decompose(name: str) -> None:
            sides[name] = _Side(x if name == "x" else y, kappa, name)

        for_each(decompose, ("x", "y"))
        return _solve(sides["x"], sides["y"], len(x), dimensions, seed)


def _solve(first: _Side, second: _Side, pairs: int, dimensions: int, seed: int) -> Solution:
    dice = np.random.default_rng(seed)
    space = np.empty((pairs, 0))  # V, with V' P_y V = I
    images = np.empty((pairs, 0))  # P_y V
    compressed = np.empty((0, 0))  # V' P_y P_x P_y V
    block = first.shrunk(dice.standard_normal((pairs, min(_BLOCK, pairs))))
    look = 2 * dimensions
    while True:
        block, image, turned = _orthonormal(block, second, space, images)
        full = not block.shape[1]
        if full and not len(compressed):
            return Solution(np.empty(0), np.empty((pairs, 0)), np.empty((pairs, 0)))
        if full or len(compressed) >= look:
            squares, vectors = eigh(compressed, driver="evd", check_finite=False)
            wanted = slice(-1, -dimensions - 1, -1)
            # What the operator makes of a Ritz vector outside the space shows in its newest rows.
            last = turned.shape[1]
            outside = np.linalg.norm(turned @ vectors[-last:, wanted], axis=0) if not full else np.zeros(1)
            if full or (len(squares) >= dimensions and outside.max() <= _TOLERANCE * squares[-1]):
                break
            look = int(_GROWTH * len(compressed)) + 1
        space, images = np.hstack([space, block]), np.hstack([images, image])
        block = first.shrunk(image)
        # P_x and its images: symmetric, so the new columns are the new rows.
        new = images.T @ block
        old = len(compressed)
        grown = np.empty((len(new), len(new)))
        grown[:old, :old] = compressed
        grown[:, old:] = new
        grown[old:, :old] = new[:old].T
        compressed = grown
    kept = [i for i in range(len(squares))[wanted] if squares[i] > LEAST_SQUARED_CORRELATION * squares[-1]]
    correlations = np.sqrt(squares[kept])
    w, z = space @ vectors[:, kept], images @ vectors[:, kept]  # w / rho, z
    return Solution(correlations, first.inverse(z) / correlations, second.inverse(w))


def _orthonormal(block: Matrix, side: _Side, space: Matrix, images: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The block made orthonormal to the space and within itself, its image under P_y, and R of block = QR.

    Directions that the space holds already are dropped, so a block may come back empty.
    """
    before = float((block**2).sum(axis=0).max(initial=0.0))
    for _ in range(2):  # once leaves rounding that grows; twice is enough (Kahan; Parlett 1998, 6.9)
        block = block - space @ (images.T @ block)
    image = side.shrunk(block)
    values, vectors = eigh(block.T @ image, driver="evd", check_finite=False)
    # What P_y maps to nothing, or the space holds already, is there as rounding.
    after = float((block**2).sum(axis=0).max(initial=0.0))
    kept = values > max(1e-11 * after, 1e-24 * before, 1e-14 * float(values.max(initial=0.0)))
    scale = np.sqrt(values[kept])
    turn = vectors[:, kept] / scale
    block, image = block @ turn, image @ turn
    turned = scale[:, None] * vectors[:, kept].T
    # The same once more: what was nearly dependent is orthonormal to rounding only now.
    block = block - space @ (images.T @ block)
    image = side.shrunk(block)
    gram = block.T @ image
    if len(gram):
        lower = np.linalg.cholesky((gram + gram.T) / 2)
        block = solve_triangular(lower, block.T, lower=True, check_finite=False).T
        image = solve_triangular(lower, image.T, lower=True, check_finite=False).T
        turned = lower.T @ turned
    return block, image, turned
