"""VLAD against a loop over descriptors."""

from __future__ import annotations

import numpy as np
import pytest

from models_core.features.image.vlad import learn_codebook, vlad


def slow_vlad(points: np.ndarray, centres: np.ndarray, power: float) -> np.ndarray:
    found = np.zeros(centres.shape)
    for point in points:
        apart = [sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) for centre in centres]
        nearest = apart.index(min(apart))
        found[nearest] += point - centres[nearest]
    for place, value in np.ndenumerate(found):
        found[place] = np.sign(value) * abs(value) ** power
    return found.ravel() / np.sqrt((found**2).sum())


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_vlad_is_what_a_loop_gives(power):
    dice = np.random.default_rng(0)
    points = dice.standard_normal((200, 6)).astype(np.float32)
    centres = dice.standard_normal((7, 6)).astype(np.float32)
    found = vlad(points, centres, power)
    np.testing.assert_allclose(found, slow_vlad(points, centres, power), atol=1e-6)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)


def test_descriptors_that_are_centres_leave_nothing():
    centres = np.eye(3, dtype=np.float32)
    assert not vlad(centres[[0, 2, 2]], centres).any()


def test_a_codebook_reduces_descriptors_first():
    points = np.random.default_rng(1).standard_normal((300, 9)).astype(np.float32)
    own = learn_codebook(points, words=5, numbers=4, seed=2)
    assert own.centres.shape == (5, 4)
    wanted = slow_vlad(own.axes.transform(points[:50]), own.centres, 1.0)
    np.testing.assert_allclose(own.pool(points[:50]), wanted, atol=1e-5)
    with pytest.raises(ValueError, match="6 clusters were requested, but there are only 4 different points"):
        learn_codebook(np.repeat(points[:4], 5, axis=0), words=6, numbers=4, seed=0)
