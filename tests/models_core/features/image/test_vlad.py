"""VLAD compared with a loop over descriptors."""

from __future__ import annotations

import numpy as np
import pytest

from models_core.features.image.vlad import learn_codebook, vlad


def slow_vlad(points: np.ndarray, centres: np.ndarray, power: float) -> np.ndarray:
    values = np.zeros(centres.shape)
    for point in points:
        apart = [sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) for centre in centres]
        nearest = apart.index(min(apart))
        values[nearest] += point - centres[nearest]
    for index, value in np.ndenumerate(values):
        values[index] = np.sign(value) * abs(value) ** power
    return values.ravel() / np.sqrt((values**2).sum())


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_vlad_is_what_a_loop_gives(power):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 6)).astype(np.float32)
    centres = rng.standard_normal((7, 6)).astype(np.float32)
    result = vlad(points, centres, power)
    np.testing.assert_allclose(result, slow_vlad(points, centres, power), atol=1e-6)
    assert np.linalg.norm(result) == pytest.approx(1, abs=1e-6)


def test_descriptors_that_are_centres_leave_nothing():
    centres = np.eye(3, dtype=np.float32)
    assert not vlad(centres[[0, 2, 2]], centres).any()


def test_a_codebook_reduces_descriptors_first():
    points = np.random.default_rng(1).standard_normal((300, 9)).astype(np.float32)
    codebook = learn_codebook(points, words=5, numbers=4, seed=2)
    assert codebook.centres.shape == (5, 4)
    expected = slow_vlad(codebook.axes.transform(points[:50]), codebook.centres, 1.0)
    np.testing.assert_allclose(codebook.pool(points[:50]), expected, atol=1e-5)
    with pytest.raises(ValueError, match="6 clusters were requested, but there are only 4 different points"):
        learn_codebook(np.repeat(points[:4], 5, axis=0), words=6, numbers=4, seed=0)
