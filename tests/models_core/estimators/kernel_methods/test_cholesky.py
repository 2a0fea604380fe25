"""The Cholesky decomposition by tiles: the same solution as NumPy, at sizes smaller and larger than a
tile."""

import numpy as np
import pytest

from models_core.estimators.kcca.krylov import Factor
from phrasebox.threads import one_blas_thread


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 700, 1400])
def test_it_solves_what_numpy_solves(size):
    rng = np.random.default_rng(size)
    half = rng.standard_normal((size, size)) / np.sqrt(size)
    matrix = half @ half.T
    block = rng.standard_normal((size, 7))
    with one_blas_thread():
        result = Factor(matrix, 0.1).solve(block)
    np.testing.assert_allclose(result, np.linalg.solve(matrix + 0.1 * np.eye(size), block), atol=1e-10)


def test_a_block_of_one_vector_and_of_none_are_solved():
    with one_blas_thread():
        factor = Factor(2 * np.eye(5), 2.0)
        np.testing.assert_allclose(factor.solve(np.full((5, 1), 8.0)), np.full((5, 1), 2.0))
        assert factor.solve(np.empty((5, 0))).shape == (5, 0)


def test_a_matrix_with_a_negative_eigenvalue_is_refused_wherever_it_lies():
    for index in (0, 300, 599):
        values = np.ones(600)
        values[index] = -0.5
        with one_blas_thread():
            Factor(np.diag(values), 0.6)
            with pytest.raises(np.linalg.LinAlgError):
                Factor(np.diag(values), 0.4)
