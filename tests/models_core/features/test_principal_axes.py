"""PCA compared with the singular value decomposition, on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from models_core.features.principal_axes import PrincipalAxes, unit_rows


@pytest.mark.parametrize("shape", [(600, 20), (15, 700), (12, 12)])
def test_axes_are_those_of_the_svd(shape):
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal(shape) * np.linspace(3, 1, shape[1]) + 5).astype(np.float32)
    values = PrincipalAxes.fit(rows, 6)
    _, _, others = np.linalg.svd(rows - rows.mean(axis=0, dtype=np.float64), full_matrices=False)
    np.testing.assert_allclose(np.abs(np.sum(values.axes * others[:6].T, axis=0)), 1, atol=1e-5)
    np.testing.assert_allclose(values.axes.T @ values.axes, np.eye(6), atol=1e-5)
    assert (values.axes[np.abs(values.axes).argmax(axis=0), np.arange(6)] > 0).all()
    expected = (rows - rows.mean(axis=0)) @ others[:6].T
    np.testing.assert_allclose(np.abs(values.transform(rows)), np.abs(expected), atol=1e-3)


def test_directions_without_variance_are_left_out():
    rows = np.zeros((30, 5), np.float32)
    rows[:, 1:3] = np.random.default_rng(1).standard_normal((30, 2))
    assert PrincipalAxes.fit(rows, 5).axes.shape == (5, 2)
    assert PrincipalAxes.fit(rows[:2], 5).axes.shape == (5, 1)


def test_rows_that_are_all_the_same_are_refused():
    with pytest.raises(ValueError, match="9 rows are all the same"):
        PrincipalAxes.fit(np.full((9, 4), 0.1, np.float32), 2)


def test_unit_rows_leave_zeros():
    np.testing.assert_allclose(
        unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), np.array([[0.6, 0.8], [0.0, 0.0]])
    )
