"""Random Fourier features: inner products near those of the Gaussian kernel; the width is a mean distance."""

import numpy as np
import pytest

from models_core.features import fourier
from models_core.features.fourier import FourierFeatures, neighbour_distance

ROWS = np.random.default_rng(0).standard_normal((60, 5))


def distances(rows):
    return np.linalg.norm(rows[:, None] - rows, axis=2)


def test_inner_products_are_those_of_the_gaussian_kernel():
    rng = np.random.default_rng(1)
    created = FourierFeatures(20_000, neighbour=7).fit(ROWS, rng)
    sigma = np.sort(distances(ROWS), axis=1)[:, 7].mean()
    result = created.transform(ROWS) @ created.transform(ROWS).T / 20_000
    np.testing.assert_allclose(result, np.exp(-(distances(ROWS) ** 2) / (2 * sigma**2)), atol=0.05)


def test_as_printed_frequencies_grow_with_the_width_and_phases_end_at_one():
    created = FourierFeatures(5_000, neighbour=7, as_printed=True).fit(ROWS, np.random.default_rng(1))
    sigma = np.sort(distances(ROWS), axis=1)[:, 7].mean()
    assert created.frequencies_.std() == pytest.approx(sigma, rel=0.02)
    assert 0.95 < created.phases_.max() <= 1 and created.phases_.min() >= 0


def test_the_distance_is_to_the_neighbour_or_to_the_farthest():
    rng = np.random.default_rng(0)
    expected = np.sort(distances(ROWS), axis=1)
    assert neighbour_distance(ROWS, 3, rng) == pytest.approx(expected[:, 3].mean())
    assert neighbour_distance(ROWS, 500, rng) == pytest.approx(expected[:, -1].mean())
    with pytest.raises(ValueError, match="neighbours of 1 rows"):
        neighbour_distance(ROWS[:1], 3, rng)


@pytest.mark.parametrize(("numbers", "deviation"), [(5, 0.0), (20, 3.0)])
def test_of_many_rows_a_sample_is_asked_and_its_neighbours_are_looked_for_among_all(
    numbers, deviation, monkeypatch
):
    """As by brute force: the 50th of all rows, not that of the sample, which is some hundred rows farther."""
    monkeypatch.setattr(fourier, "NEIGHBOUR_SAMPLE", 130)
    monkeypatch.setattr(fourier, "_TOGETHER", 40)
    monkeypatch.setattr(fourier, "_COMPARED", 170)
    rows = (deviation + np.random.default_rng(7).standard_normal((1500, numbers))).astype(np.float32)
    requested = np.random.default_rng(3).permutation(len(rows))[:130]
    expected = np.sort(distances(rows.astype(np.float64))[requested], axis=1)
    for neighbour in (1, 50, 400, 5000):
        result = neighbour_distance(rows, neighbour, np.random.default_rng(3))
        assert result == pytest.approx(expected[:, min(neighbour, 1499)].mean())
    within = np.sort(distances(rows[requested].astype(np.float64)), axis=1)[:, 50].mean()
    assert within > 1.2 * neighbour_distance(rows, 50, np.random.default_rng(3))


def test_copies_of_a_row_are_its_neighbours():
    rows = np.repeat(ROWS, 4, axis=0)
    expected = np.sort(distances(rows), axis=1)
    for neighbour in (3, 4, 9):
        result = neighbour_distance(rows, neighbour, np.random.default_rng(0))
        assert result == pytest.approx(expected[:, neighbour].mean(), abs=1e-6)


def test_what_cannot_be_learned_from_is_refused_and_a_state_gives_the_same():
    with pytest.raises(ValueError, match="have no distance from each other"):
        FourierFeatures(10).fit(np.ones((5, 2)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="0 features by neighbour 50"):
        FourierFeatures(0)
    created = FourierFeatures(10).fit(ROWS, np.random.default_rng(2))
    again = FourierFeatures(10).take_state(created.state())
    np.testing.assert_array_equal(again.transform(ROWS), created.transform(ROWS))
