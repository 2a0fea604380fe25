"""Tests of systems whose queries are captions, several per image: images are exchanged, not captions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from phrasebox.agreement.shares import share_interval
from phrasebox.significance.mcnemar_test import mcnemar
from phrasebox.significance.preference import preference
from phrasebox.significance.randomisation import of_mean, of_means, of_median

ROUNDS = 20_000


def exact(first: np.ndarray, second: np.ndarray, images: list[str], statistic) -> float:
    """Return the share of all exchanges of whole images with at least the same difference."""
    names = sorted(set(images))
    of = np.array([names.index(image) for image in images])
    seen, moved = statistic(first) - statistic(second), []
    for signs in product([False, True], repeat=len(names)):
        turned = np.array(signs)[of]
        item, another = np.where(turned, second, first), np.where(turned, first, second)
        moved.append(statistic(item) - statistic(another))
    return float(np.mean(np.abs(moved) >= abs(seen) - 1e-9))


@pytest.mark.parametrize("seed", range(3))
def test_p_is_the_share_of_all_exchanges_of_whole_images(seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = [f"i{n}" for n in range(8) for _ in range(1 + n % 3)]
    first, second = rng.integers(1, 9, (2, len(images))).astype(float)
    first[:4] += 3
    for test, statistic in ((of_mean, np.mean), (of_median, np.median)):
        result = test(first, second, images=images, rounds=ROUNDS)
        assert result.difference == pytest.approx(statistic(first) - statistic(second))
        assert result.p == pytest.approx(exact(first, second, images, statistic), abs=0.015)


def test_queries_without_a_value_are_left_out_with_their_images_kept_apart() -> None:
    first, second = [1, np.nan, 0, 1, 1], [0, np.nan, 0, 0, 1]
    whole = of_mean(first, second, images=["a", "b", "a", "c", "c"], rounds=500)
    assert whole == of_mean([1, 0, 1, 1], [0, 0, 0, 1], images=["a", "a", "c", "c"], rounds=500)
    with pytest.raises(ValueError, match="2 images for 5 queries"):
        of_mean(first, second, images=["a", "b"])


def test_images_of_one_query_each_change_nothing() -> None:
    rng = np.random.default_rng(3)
    values = rng.random((3, 40))
    images = list(range(40))[::-1]
    np.testing.assert_array_equal(
        of_means(values, images=images, rounds=500).p, of_means(values, rounds=500).p
    )
    alone = of_median(values[0], values[1], rounds=500)
    assert of_median(values[0], values[1], images=images, rounds=500) == alone
    assert preference(values[0], values[1], images=images) == preference(values[0], values[1])


def test_two_systems_that_are_equally_good_seldom_differ() -> None:
    """80 images of five captions that go together (as docs/significance.md has them): McNemar's test finds a
    difference in far more than one of twenty worlds."""
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(80), 5).tolist()
    by_caption, by_image, held = [], [], []
    for _ in range(200):
        item, another = ((rng.random((80, 1)) < 0.5) ^ (rng.random((80, 5)) < 0.22) for _ in range(2))
        first, second = item.ravel().astype(float), another.ravel().astype(float)
        by_caption.append(mcnemar(first, second).p <= 0.05)
        result = preference(first, second, images=images, rounds=400)
        assert result.p == of_mean(first, second, images=images, rounds=400).p
        by_image.append(result.p <= 0.05)
        held.append(result.low <= 0.5 <= result.high)
    assert np.mean(by_caption) > 0.15
    assert np.mean(by_image) < 0.1
    assert np.mean(held) > 0.9


def test_the_interval_of_preferences_is_that_of_images() -> None:
    first, second = [2, 2, 2, 1, 1, 1, 3], [1, 1, 1, 1, 1, 2, 1]
    images = ["a", "a", "a", "b", "b", "c", "d"]
    result = preference(first, second, images=images, rounds=200)
    assert (result.better, result.equal, result.worse, result.share) == (4, 2, 1, 0.8)
    expected = share_interval(np.array([3, 0, 1]), np.array([3, 1, 1]))
    assert (result.low, result.high) == expected
    assert preference([1, 1], [1, 1], images=["a", "a"], rounds=10).share is None
