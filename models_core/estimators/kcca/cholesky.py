"""K + shift I = L L' by tiles, and solving with it: products of NumPy's only, so that threads help.

SciPy's wrappers of LAPACK keep the interpreter's lock while they compute, so two of them side by side
take as long as one after the other; NumPy's products let it go. Tile columns are computed from those to
their left, and triangles on the diagonal are inverted once, so that solving is products as well. A
kernel shifted by a regulariser is conditioned well enough for that.
"""

import numpy as np

from models_core.estimators.base import Matrix
from phrasebox.threads import cores, for_each

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
        """(L L')^-1 times the block, shape (n, vectors); vectors are divided among threads."""
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
