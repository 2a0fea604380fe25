"""K + shift I = L L' by tiles, and solving with it: products of NumPy's only, so that threads help.

SciPy's wrappers of LAPACK keep the interpreter's lock while they compute, so two of them side by side
take as long as one after the other; NumPy's products let it go. Tile columns are computed from those to
their left, and triangles on the diagonal are inverted once, so that solving is products as well. A
kernel shifted by a regulariser is conditioned well enough for that.
"""

import numpy as np

from models_core.estimators.base import Matrix
from models_core.threads import cores, for_each

_TILE = 256
_ROWS = 1024  # of a tile column at a time: few enough to stay in the cache between product and difference


class Factor:
    """L of a symmetric matrix whose diagonal is raised by `shift`; its lower triangle is read.

    Raises numpy.linalg.LinAlgError where that is not positive definite. Call inside `one_blas_thread`.
    """

    def __init__(self, matrix: Matrix, shift: float) -> None:
        size = len(matrix)
        self._lower = np.empty((size, size))  # above the diagonal's tiles nothing is ever written or read
        self._tiles = [slice(start, min(start + _TILE, size)) for start in range(0, size, _TILE)]
        self._inverses: list[Matrix] = []  # of the triangles on the diagonal
        for own in self._tiles:
            left = slice(0, own.start)
            known = self._lower[own, left].T
            remainder = matrix[own, own] - self._lower[own, left] @ known
            np.einsum("ii->i", remainder)[...] += shift
            corner = np.linalg.cholesky(remainder)
            inverse = np.tril(np.linalg.inv(corner))
            self._lower[own, own] = corner
            self._inverses.append(inverse)
            for start in range(own.stop, size, _ROWS):
                below = slice(start, start + _ROWS)
                self._lower[below, own] = (matrix[below, own] - self._lower[below, left] @ known) @ inverse.T

    def solve(self, block: Matrix) -> Matrix:
        """(L L')^-1 times the block, shape (n, vectors); vectors are divided among threads."""
        found = np.empty_like(block)
        width = max(1, -(-block.shape[1] // cores()))

        def solve(start: int) -> None:
            part = slice(start, start + width)
            found[:, part] = self._solved(np.ascontiguousarray(block[:, part]))

        for_each(solve, range(0, block.shape[1], width))
        return found

    def _solved(self, block: Matrix) -> Matrix:
        found = np.empty_like(block)
        pairs = list(zip(self._tiles, self._inverses, strict=True))
        for own, inverse in pairs:
            left = slice(0, own.start)
            found[own] = inverse @ (block[own] - self._lower[own, left] @ found[left])
        for own, inverse in reversed(pairs):
            below = slice(own.stop, len(block))
            found[own] = inverse.T @ (found[own] - self._lower[below, own].T @ found[below])
        return found
