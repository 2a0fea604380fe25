"""Random Fourier features: inner products near those of the Gaussian kernel; the width is a mean distance."""

import numpy as np
import pytest

from models_core.features.fourier import FourierFeatures, neighbour_distance

ROWS = np.random.default_rng(0).standard_normal((60, 5))


def distances(rows):
    return np.linalg.norm(rows[:, None] - rows, axis=2)


def test_inner_products_are_those_of_the_gaussian_kernel():
    dice = np.random.default_rng(1)
    made = FourierFeatures(20_000, neighbour=7).fit(ROWS, dice)
    sigma = np.sort(distances(ROWS), axis=1)[:, 7].mean()
    found = made.transform(ROWS) @ made.transform(ROWS).T / 20_000
    np.testing.assert_allclose(found, np.exp(-(distances(ROWS) ** 2) / (2 * sigma**2)), atol=0.05)


def test_as_printed_frequencies_grow_with_the_width_and_phases_end_at_one():
    made = FourierFeatures(5_000, neighbour=7, as_printed=True).fit(ROWS, np.random.default_rng(1))
    sigma = np.sort(distances(ROWS), axis=1)[:, 7].mean()
    assert made.frequencies_.std() == pytest.approx(sigma, rel=0.02)
    assert 0.95 < made.phases_.max() <= 1 and made.phases_.min() >= 0


def test_the_distance_is_to_the_neighbour_or_to_the_farthest():
    dice = np.random.default_rng(0)
    wanted = np.sort(distances(ROWS), axis=1)
    assert neighbour_distance(ROWS, 3, dice) == pytest.approx(wanted[:, 3].mean())
    assert neighbour_distance(ROWS, 500, dice) == pytest.approx(wanted[:, -1].mean())
    with pytest.raises(ValueError, match="neighbours of 1 rows"):
        neighbour_distance(ROWS[:1], 3, dice)


def test_what_cannot_be_learned_from_is_refused_and_a_state_gives_the_same():
    with pytest.raises(ValueError, match="have no distance from each other"):
        FourierFeatures(10).fit(np.ones((5, 2)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="0 features by neighbour 50"):
        FourierFeatures(0)
    made = FourierFeatures(10).fit(ROWS, np.random.default_rng(2))
    again = FourierFeatures(10).take_state(made.state())
    np.testing.assert_array_equal(again.transform(ROWS), made.transform(ROWS))
