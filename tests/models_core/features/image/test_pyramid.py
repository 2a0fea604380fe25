"""Counts in cells, and shares at every level."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models_core.features.image.pyramid import count_in_cells, histogram, pyramid


def test_words_are_counted_in_their_cell():
    words = np.zeros((4, 8), dtype=np.intp)
    words[0, 0], words[3, 7] = 2, 1
    result = count_in_cells(words, 3)
    assert result.shape == (16, 3)
    assert result[0].tolist() == [1, 0, 1]
    assert result[15].tolist() == [1, 1, 0]
    assert result[5].tolist() == [2, 0, 0]


def test_levels_are_the_whole_the_quarters_and_the_sixteenths():
    words = np.arange(16).reshape(4, 4)
    result = pyramid(count_in_cells(words, 16)[None])[0]
    assert result.shape == (21, 16)
    np.testing.assert_allclose(result[0], np.full(16, 1 / 16))
    # The upper right quarter contains the words 2, 3, 6, 7.
    assert np.flatnonzero(result[2]).tolist() == [2, 3, 6, 7]
    np.testing.assert_allclose(result[5:], np.eye(16) / 16)


@given(st.integers(16, 40), st.integers(16, 40), st.integers(1, 6), st.integers(0, 1000))
def test_intersections_never_grow_from_level_to_level(rows, columns, vocabulary, seed):
    rng = np.random.default_rng(seed)
    counts = [count_in_cells(rng.integers(0, vocabulary, (rows, columns)), vocabulary) for _ in range(2)]
    first, second = pyramid(np.stack(counts))
    shared = np.minimum(first, second).sum(axis=1)
    levels = shared[0], shared[1:5].sum(), shared[5:].sum()
    assert levels[0] >= levels[1] - 1e-6 and levels[1] >= levels[2] - 1e-6
    np.testing.assert_allclose(pyramid(np.stack(counts))[:, :1].sum(axis=(1, 2)), 1, rtol=1e-5)
    np.testing.assert_array_equal(histogram(np.stack(counts))[0], first[0])
