"""The leading dimensions of KCCA without decomposing an n by n matrix: Cholesky and a block Krylov space.

With P_x = (K_x + kappa I)^-1 K_x, symmetric as its factors commute, the projections w = K_x alpha and z = K_y
beta of the training items solve w = P_x z / rho and z = P_y w / rho (eq. 3 of Hodosh et al. 2013), so P_x P_y
w = rho^2 w. That operator is self-adjoint in the inner product u' P_y v, in which the space is built and kept
orthonormal. Applying it costs two triangular solves a side. Afterwards alpha = (K_x + kappa I)^-1 z / rho and
beta = (K_y + kappa I)^-1 w / rho. Source of the method: Golub and Underwood 1977, "The block Lanczos method
for computing eigenvalues".

The factor K + shift I = L L' is computed by tiles, and systems are solved, with NumPy products only, so that
threads help: SciPy's wrappers of LAPACK hold the interpreter's lock while they compute, so two in parallel
take as long as one after the other. Tile columns are computed from those to their left, and the triangles on
the diagonal are inverted once, so that solving uses products as well. A kernel shifted by a regulariser is
conditioned well enough for that.
"""

from __future__ import annotations

import numpy as np

from models_core.estimators.base import Matrix
from models_core.estimators.kcca.spectrum import LEAST_SQUARED_CORRELATION, Solution
from phrasebox.lazy import linalg
from phrasebox.threads import cores, for_each, one_blas_thread, product

_TILE = 256
_ROWS = 1024  # of a tile column at a time: few enough to stay in the cache between product and difference


class Factor:
    """L of a symmetric matrix whose diagonal is raised by `shift`; only its lower triangle is read.

    Raises numpy.linalg.LinAlgError where that is not positive definite. Call inside `one_blas_thread`.
    """

    def __init__(self, matrix: Matrix, shift: float) -> None:
        size = len(matrix)
        self._lower = np.empty((size, size))  # above the diagonal's tiles nothing is written or read
        self._tiles = [slice(start, min(start + _TILE, size)) for start in range(0, size, _TILE)]
        self._inverses: list[Matrix] = []  # of the triangles on the diagonal
        for tile in self._tiles:
            left = slice(0, tile.start)
            known = self._lower[tile, left].T
            remainder = matrix[tile, tile] - self._lower[tile, left] @ known
            np.einsum("ii->i", remainder)[...] += shift
            corner = np.linalg.cholesky(remainder)
            inverse = np.tril(np.linalg.inv(corner))
            self._lower[tile, tile] = corner
            self._inverses.append(inverse)
            for start in range(tile.stop, size, _ROWS):
                below = slice(start, start + _ROWS)
                self._lower[below, tile] = (
                    matrix[below, tile] - self._lower[below, left] @ known
                ) @ inverse.T

    def solve(self, block: Matrix) -> Matrix:
        """Return (L L')^-1 times the block, shape (n, vectors); vectors are divided among threads."""
        solution = np.empty_like(block)
        width = max(1, -(-block.shape[1] // cores()))

        def solve(start: int) -> None:
            part = slice(start, start + width)
            solution[:, part] = self._solved(np.ascontiguousarray(block[:, part]))

        for_each(solve, range(0, block.shape[1], width))
        return solution

    def _solved(self, block: Matrix) -> Matrix:
        solution = np.empty_like(block)
        pairs = list(zip(self._tiles, self._inverses, strict=True))
        for tile, inverse in pairs:
            left = slice(0, tile.start)
            solution[tile] = inverse @ (block[tile] - self._lower[tile, left] @ solution[left])
        for tile, inverse in reversed(pairs):
            below = slice(tile.stop, len(block))
            solution[tile] = inverse.T @ (solution[tile] - self._lower[below, tile].T @ solution[below])
        return solution


_BLOCK = 64  # vectors a step: enough for matrix products, few enough for a deep space
_TOLERANCE = 1e-9  # of each dimension's residual, relative to its squared correlation
_GROWTH = 1.1  # the space grows by this factor between two checks of it
_NEGATIVE = 1e-3  # of kappa: eigenvalues down to minus this are float32 rounding errors, harmless
_DEPENDENT = 1e-6  # of the largest square in a block: smaller ones lose digits when they are scaled up


class NotSemidefinite(ValueError):
    """A kernel with negative eigenvalues, which a Cholesky decomposition cannot drop."""


class _Side:
    """(K + kappa I)^-1 by a Cholesky decomposition; raises NotSemidefinite."""

    def __init__(self, kernel: Matrix, kappa: float, name: str) -> None:
        self.kappa = kappa
        try:
            # The first only tests whether it is positive semidefinite.
            for shift in (_NEGATIVE * kappa, kappa):
                self.factor = Factor(kernel, shift)
        except np.linalg.LinAlgError:
            raise NotSemidefinite(
                f"kernel {name} has negative eigenvalues; solver 'full' leaves them out"
            ) from None

    def shrunk(self, block: Matrix) -> Matrix:
        """Return P times the block: 1 - kappa (K + kappa I)^-1."""
        return np.asarray(block - self.kappa * self.factor.solve(block))


def solve_few(x: Matrix, y: Matrix, kappa: float, dimensions: int, *, seed: int = 0) -> Solution:
    """Return the leading `dimensions` of eq. 3 for kernels of shape (n, n), as alpha and beta, shape (n, d).

    `seed` determines the start, which affects only rounding. Signs may differ from those of `solve`. Raises
    NotSemidefinite, after which spectrum.solve can be used. Blocks are divided among threads with one BLAS
    thread each: BLAS's own threads wait for each other at the end of each small product.
    """
    with one_blas_thread():
        sides: dict[str, _Side] = {}

        def decompose(name: str) -> None:
            sides[name] = _Side(x if name == "x" else y, kappa, name)

        for_each(decompose, ("x", "y"))
        return _solve(sides["x"], sides["y"], len(x), dimensions, seed)


def _solve(first: _Side, second: _Side, pairs: int, dimensions: int, seed: int) -> Solution:
    rng = np.random.default_rng(seed)
    # V, with V' P_y V = I, and P_y V. Column-major: only written columns take memory.
    basis, applied = (np.empty((pairs, pairs), order="F") for _ in range(2))
    compressed = np.empty((0, 0))  # V' P_y P_x P_y V
    block = first.shrunk(rng.standard_normal((pairs, min(_BLOCK, pairs))))
    shared = np.empty((0, block.shape[1]))  # (P_y V)' block
    look = 2 * dimensions
    while True:
        size = len(compressed)
        space, images = basis[:, :size], applied[:, :size]
        block, image, turned = _orthonormal(block, second, space, images, shared)
        full = not block.shape[1]
        if full and not size:
            return Solution(np.empty(0), np.empty((pairs, 0)), np.empty((pairs, 0)))
        if full or size >= look:
            bounds = [max(0, size - dimensions), size - 1]
            squares, vectors = linalg.eigh(
                compressed, subset_by_index=bounds, driver="evr", check_finite=False
            )
            retained = squares > LEAST_SQUARED_CORRELATION * squares[-1]
            # The newest rows show what the operator maps from a Ritz vector to outside the space.
            newest = vectors[size - turned.shape[1] :]
            outside = np.linalg.norm(turned @ newest, axis=0)  # 0 where the space is full
            if full or (size >= dimensions and (outside <= _TOLERANCE * squares)[retained].all()):
                break
            look = int(_GROWTH * size) + 1
        grown = slice(size, size + block.shape[1])
        basis[:, grown], applied[:, grown] = block, image
        block = first.shrunk(image)
        # P_x and its images: symmetric, so the new columns are the new rows.
        shared = product(applied[:, : grown.stop].T, block)
        compressed = np.block([[compressed, shared[:size]], [shared[:size].T, shared[size:]]])
    order = np.flatnonzero(retained)[::-1]
    correlations = np.sqrt(squares[order])
    w, z = product(space, vectors[:, order]), product(images, vectors[:, order])  # w / rho, z
    return Solution(correlations, first.factor.solve(z) / correlations, second.factor.solve(w))


def _orthonormal(
    block: Matrix, side: _Side, space: Matrix, images: Matrix, shared: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """Make the block orthonormal to the space and within itself; return it, its image under P_y, and R of
    block = QR.

    `shared` is images' block. Directions that the space already contains are dropped, so the result may be
    empty.
    """
    before = float((block**2).sum(axis=0).max(initial=0.0))
    block = block - product(space, shared)
    # One pass leaves rounding errors that grow; two are enough (Kahan; Parlett 1998, 6.9).
    block -= product(space, product(images.T, block))
    image = side.shrunk(block)
    values, vectors = np.linalg.eigh(product(block.T, image))
    # Directions that P_y maps to zero, or that the space contains, remain as rounding errors.
    after = float((block**2).sum(axis=0).max(initial=0.0))
    largest = float(values.max(initial=0.0))
    retained = values > max(1e-11 * after, 1e-24 * before, 1e-14 * largest)
    scale = np.sqrt(values[retained])
    rotation = vectors[:, retained] / scale
    block, image = product(block, rotation), product(image, rotation)
    turned = scale[:, None] * vectors[:, retained].T
    # Repeat: nearly dependent columns become orthonormal up to rounding only now.
    shared = product(images.T, block)
    block -= product(space, shared)
    if len(scale) and scale[0] ** 2 < _DEPENDENT * max(largest, after):
        image = side.shrunk(block)
    else:  # P_y is linear, so there is no need to solve again
        image -= product(images, shared)
    gram = product(block.T, image)
    if len(gram):
        lower = np.linalg.cholesky((gram + gram.T) / 2)
        back = np.linalg.inv(lower).T
        block, image, turned = product(block, back), product(image, back), lower.T @ turned
    return block, image, turned
