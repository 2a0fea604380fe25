"""Intersection kernels compared with their equations; diagonals and powers of all kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.kernels.grams import normalised, powered, scaled_diagonal
from phrasebox.kernels.intersection import Intersection, level_weights
from tests.phrasebox.kernels.brute import least_eigenvalue


def pyramids(images: int, words: int, seed: int, levels: int = 2) -> np.ndarray:
    """Return shares of random pixels in nested cells, shape (images, cells, words); each level sums to 1."""
    rng = np.random.default_rng(seed)
    finest = rng.multinomial(400, np.full(4**levels * words, 1 / (4**levels * words)), images) / 400
    side = 2**levels
    grid = finest.reshape(images, side, side, words)
    parts = []
    for level in range(levels + 1):
        n = 2**level
        nested = grid.reshape(images, n, side // n, n, side // n, words).sum(axis=(2, 4))
        parts.append(nested.reshape(images, n * n, words))
    return np.concatenate(parts, axis=1)


def level(item: np.ndarray, another: np.ndarray, number: int) -> float:
    """Eq. 7."""
    first = sum(4**n for n in range(number))
    return float(np.minimum(item[first : first + 4**number], another[first : first + 4**number]).sum())


def by_levels(first: np.ndarray, second: np.ndarray, levels: int) -> float:
    """The first line of eq. 8."""
    i = [level(first, second, n) for n in range(levels + 1)]
    return i[levels] + sum((i[n] - i[n + 1]) / 2 ** (levels - n) for n in range(levels))


@given(
    st.integers(1, 70), st.integers(1, 9), st.integers(0, 99), st.sampled_from([0, 1, 2]), st.integers(1, 3)
)
def test_pyramids_are_equations_6_to_8(images, words, seed, levels, power) -> None:
    kinds = [pyramids(images, words + kind, seed + kind, levels) for kind in range(3)]
    others = [kind[: max(1, images // 2)] for kind in kinds]
    kernel = Intersection(levels=levels, power=power)
    whole = kernel.gram(kinds, kinds)
    part = kernel.gram(others, kinds)
    chosen = range(0, images, 13)
    for row in chosen:
        for column in chosen:
            expected = np.mean([by_levels(kind[row], kind[column], levels) for kind in kinds]) ** power
            assert whole[row, column] == pytest.approx(expected, abs=2e-6)
    np.testing.assert_allclose(part, whole[: len(others[0])], atol=1e-9)
    assert np.array_equal(whole, whole.T)
    assert least_eigenvalue(whole) > -1e-5


@given(st.integers(0, 99))
def test_a_finer_level_never_intersects_more(seed) -> None:
    first, second = pyramids(2, 5, seed)
    values = [level(first, second, number) for number in range(3)]
    assert values[0] >= values[1] - 1e-12
    assert values[1] >= values[2] - 1e-12


def test_histograms_are_equation_5() -> None:
    first, second = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]), np.array([[0.1, 0.6, 0.3]])
    gram = Intersection(levels=0).gram([first], [second])
    np.testing.assert_allclose(gram, [[0.6], [0.7]], atol=1e-7)


def test_cells_weigh_as_the_second_line_of_equation_8_says() -> None:
    assert level_weights(2).tolist() == [1 / 4] + [1 / 4] * 4 + [1 / 2] * 16
    assert level_weights(0).tolist() == [1.0]


def test_an_image_agrees_with_itself_wholly() -> None:
    kinds = [pyramids(5, 6, 3), pyramids(5, 8, 4)]
    np.testing.assert_allclose(Intersection(power=3).gram(kinds, kinds).diagonal(), 1.0, atol=1e-6)


def _two(**changed: np.ndarray) -> list[np.ndarray]:
    return [changed.get("first", pyramids(2, 4, 0)), changed.get("second", pyramids(2, 4, 1))]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ([], "no kinds of words"),
        (_two(second=np.ones((2, 5, 4))), "kind 2 has shape .* 21 cells"),
        (_two(second=pyramids(3, 4, 1)), "kind 2 has 3 images, kind 1 has 2"),
        (_two(first=np.full((2, 21, 4), np.nan)), "kind 1, image 0 .* negative or not a number"),
        (_two(second=-np.ones((2, 21, 4))), "kind 2, image 0 .* negative or not a number"),
    ],
)
def test_bad_pyramids_are_refused_naming_the_kind(kinds, message) -> None:
    with pytest.raises(ValueError, match=message):
        Intersection().gram(kinds, kinds)


def test_images_of_other_words_do_not_compare() -> None:
    with pytest.raises(ValueError, match="expected the same words and cells"):
        Intersection().gram([pyramids(2, 4, 0)], [pyramids(2, 5, 0)])


def test_diagonals_are_scaled_and_powers_taken() -> None:
    gram = np.array([[1.0, 0.5], [0.5, 2.0]])
    assert scaled_diagonal(gram, 4).tolist() == [[4.0, 0.5], [0.5, 8.0]]
    assert gram[0, 0] == 1.0
    assert powered(gram, 3).tolist() == [[1.0, 0.125], [0.125, 8.0]]
    for invalid, call in (
        ("is not square", lambda: scaled_diagonal(gram[:1], 2)),
        ("diagonal factor 0.5", lambda: scaled_diagonal(gram, 0.5)),
        ("power 0", lambda: powered(gram, 0)),
    ):
        with pytest.raises(ValueError, match=invalid):
            call()


def test_what_responds_to_nothing_has_no_similarity() -> None:
    values = np.array([4.0, 0.0])
    assert normalised(np.array([[4.0, 0.0], [0.0, 0.0]]), values, values).tolist() == [[1.0, 0.0], [0.0, 0.0]]
