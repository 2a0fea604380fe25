"""Ranks without sorting, the best k, Borda counts: compared with complete sorting."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from phrasebox.scoring import copies, ranking, tiles
from phrasebox.scoring.ranking import borda, count, positions, ranks, top_k
from phrasebox.scoring.tiles import Dense, NotANumber, Products, tile_grid

#: Few values, so that nearly every case has ties.
SCORES = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, np.inf]),
)


def plain_counts(row: np.ndarray, score: float) -> tuple[int, int]:
    return sum(value > score for value in row), sum(value == score for value in row)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_ENTRIES", 7)
    monkeypatch.setattr(tiles, "_PRODUCT_ROWS", 3)
    monkeypatch.setattr(tiles, "_PRODUCT_COLUMNS", 4)


@given(SCORES, st.randoms(use_true_random=False), st.sampled_from([1, 10**6]))
def test_both_directions_count_as_one_would_by_hand(scores, random, many):
    pairs = [(r, c) for r in range(scores.shape[0]) for c in range(scores.shape[1])]
    chosen = random.choices(pairs, k=random.randrange(1, 40))
    random.shuffle(chosen)
    rows, columns = (np.array(n, dtype=np.intp) for n in zip(*chosen, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "_ENTRIES", 7)
        patch.setattr(ranking, "_MANY", many)  # 1: by sorting; a million: by comparing
        across, down = count(Dense(scores), (rows, columns), (rows, columns))
    by_hand = [plain_counts(scores[r], scores[r, c]) for r, c in chosen]
    assert list(zip(*across, strict=True)) == by_hand
    by_hand = [plain_counts(scores[:, c], scores[r, c]) for r, c in chosen]
    assert list(zip(*down, strict=True)) == by_hand


@pytest.mark.parametrize("high", [1, 254, 255, 256, 511])
def test_columns_longer_than_a_byte_can_count_are_counted(high):
    _, down = count(Dense(np.ones((high, 1))), in_columns=(np.array([0]), np.array([0])))
    assert (down.better[0], down.equal[0]) == (0, high)


def test_ties_share_the_middle_rank_or_take_the_first_or_the_last():
    scores = [[5.0, 3.0, 3.0, 3.0, 1.0]]
    assert ranks(scores, [2]) == [3.0]
    assert ranks(scores, [2], ties="optimistic") == [2.0]
    assert ranks(scores, [2], ties="pessimistic") == [4.0]
    assert ranks(np.zeros((1, 10)), [4]) == [5.5]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.bool_])
def test_every_real_type_is_ranked(dtype):
    scores = np.array([[0, 1, 1, 0], [1, 0, 0, 0]]).astype(dtype)
    assert ranks(scores, [0, 0]).tolist() == [3.5, 1.0]
    assert top_k(scores, 3).items.tolist() == [[1, 2, 0], [0, 1, 2]]


def test_large_integers_are_not_rounded():
    scores = np.array([[2**53, 2**53 + 1]])
    assert ranks(scores, [0]).tolist() == [2.0]


def test_the_first_nan_is_named(small_tiles):
    scores = np.zeros((4, 5))
    scores[3, 0] = scores[2, 4] = scores[2, 1] = np.nan
    with pytest.raises(NotANumber, match="row 2, column 1 ") as caught:
        ranks(scores, [0, 0, 0, 0])
    assert (caught.value.row, caught.value.column) == (2, 1)
    with pytest.raises(NotANumber, match="row 2, column 1 "):
        top_k(scores, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dense(np.zeros(3)), r"shape \(3,\); expected \(queries, items\)"),
        (lambda: Dense(np.array([["a"]])), "type <U1; expected real numbers"),
        (lambda: Dense(np.array([[1j]])), "complex128; expected real numbers"),
        (lambda: Products(np.zeros((2, 3)), np.zeros((2, 4))), "3 dimensions, items 4"),
        (lambda: Products(np.zeros(3), np.zeros((2, 3))), r"expected \(queries, dimensions\)"),
        (
            lambda: Products(np.zeros((1, 2)), np.array([[0, 1], [np.inf, 0]])),
            "items is not finite, row 1, column 0",
        ),
        (lambda: ranks(np.zeros((2, 3)), [0]), r"gold has shape \(1,\); expected \(2,\)"),
        (lambda: top_k(np.zeros((2, 3)), 0), "k is 0; expected 1 or more"),
        (lambda: borda([0, 1]), "expected \\(systems, ..., items\\)"),
        (lambda: borda([[0.3, 0.7]]), "expected positions, not scores"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_one_line(make: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_embeddings_score_as_their_products_do(small_tiles, cosine, dtype):
    rng = np.random.default_rng(0)
    queries, items = (rng.standard_normal((n, 6)).astype(dtype) for n in (8, 11))
    queries[2] = 0
    scores = Products(queries, items, cosine=cosine)
    expected = queries.astype(np.float64) @ items.T.astype(np.float64)
    if cosine:
        lengths = np.linalg.norm(queries.astype(np.float64), axis=1)[:, None]
        expected /= np.where(lengths > 0, lengths, 1) * np.linalg.norm(items.astype(np.float64), axis=1)
    whole = np.full(scores.shape, np.nan)
    for high, wide in tile_grid(scores):
        whole[high, wide] = scores.tile(high, wide)
    np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=1e-5)
    rows, columns = (n.ravel() for n in np.indices(scores.shape))
    assert np.array_equal(scores.at(rows, columns), whole.ravel())


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        (np.float16, (1e-7, 6e4)),
        (np.float32, (1e-44, 1e-30, 1e-20, 1, 1e20, 3e38)),
        (np.float64, (1e-320, 1e-200, 1e-160, 1, 1e160, 1.4e308)),
    ],
)
def test_cosines_do_not_depend_on_lengths_that_single_precision_cannot_hold(dtype, sizes):
    """Squares of 1e20 overflow in single precision, those of 1e-30 vanish: lengths are taken in double."""
    direction = np.array([3, 4, 0, 0])
    queries = np.array([size / 4 * direction for size in sizes]).astype(dtype)
    scores = Products(queries, np.eye(4, dtype=dtype), cosine=True)
    # From the numbers as the type represents them: the smallest have few digits.
    expected = queries.astype(np.float64)
    expected /= np.abs(expected).max(axis=1, keepdims=True)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(scores.tile(slice(None), slice(None)), expected, rtol=1e-6)
    assert [len(row) for side in scores.odd for row in side] == [0, 0, 0, 0]
    assert scores.tile(slice(None), slice(None)).dtype == np.result_type(dtype, np.float32)


def test_lengths_of_many_dimensions_are_of_double_precision():
    """One number and ten thousand that single precision adds to it in vain."""
    vectors = np.full((1, 10_001), 1e-4, dtype=np.float32)
    vectors[0, 0] = 1
    (cosine,) = Products(vectors, np.eye(1, 10_001, dtype=np.float32), cosine=True).tile(
        slice(None), slice(None)
    )[0]
    exact = 1 / math.sqrt(math.fsum(float(x) ** 2 for x in vectors[0]))
    assert cosine == np.float32(exact)


def test_vectors_of_zeros_and_overflowing_ones_are_numbered_on_either_side():
    queries = np.array([[0, 0], [1e30, 0], [1, 0], [0, 0]], dtype=np.float32)
    items = np.array([[0, 1], [0, 0], [3e19, 0]], dtype=np.float32)
    products = Products(queries, items)
    assert [[row.tolist() for row in side] for side in products.odd] == [[[0, 3], [1]], [[1], [2]]]
    assert products.turned().odd == products.odd[::-1]
    assert [row.tolist() for row in products.select(np.array([2, 3]), np.array([0])).odd[0]] == [[1], []]
    with np.errstate(over="ignore"):
        finite = np.isfinite(products.tile(slice(None), slice(None)))
    assert np.argwhere(~finite).tolist() == [[1, 2]]
    assert [row.tolist() for row in Products(queries, items, cosine=True).odd[0]] == [[0, 3], []]
    long = Products(np.full((2, 4), 1.7e308), np.eye(4), cosine=True)
    assert [row.tolist() for row in long.odd[0]] == [[], [0, 1]]


def test_an_item_ties_with_itself_and_its_copies_whatever_the_rounding():
    rng = np.random.default_rng(1)
    items = np.repeat(rng.standard_normal((900, 64), dtype=np.float32), 5, axis=0)
    queries = rng.standard_normal((700, 64), dtype=np.float32)
    gold = rng.integers(0, len(items), 700)
    across, down = count(
        Products(queries, items, cosine=True), (np.arange(700), gold), (np.arange(700), gold)
    )
    assert (across.equal == 5).all()
    assert (down.equal >= 1).all()


@pytest.mark.parametrize("cosine", [False, True])
def test_copies_tie_wherever_they_stand(monkeypatch, cosine):
    """Copies of queries and of items in several tiles and groups: the rounding of none is its own."""
    monkeypatch.setattr(tiles, "_PRODUCT_ROWS", 16)
    monkeypatch.setattr(tiles, "_PRODUCT_COLUMNS", 24)
    monkeypatch.setattr(copies, "_TOGETHER", 3)
    rng = np.random.default_rng(4)
    base = rng.standard_normal((50, 40), dtype=np.float32)
    queries, items = base[rng.integers(0, 40, 90)], base[rng.integers(10, 50, 130)]
    items[7], items[100] = 0, 0
    scores = Products(queries, items, cosine=cosine)
    whole = np.empty(scores.shape, np.float32)
    for rows, columns in tiles.tile_grid(scores):
        whole[rows, columns] = scores.tile(rows, columns)
    lengths = [np.linalg.norm(side, axis=1) for side in (queries, items)]
    exact = queries.astype(np.float64) @ items.T
    if cosine:
        exact /= np.outer(lengths[0], np.where(lengths[1], lengths[1], 1))
    np.testing.assert_allclose(whole, exact, rtol=1e-4, atol=1e-4)
    for across in (queries, items):
        _, first, number = np.unique(across, axis=0, return_index=True, return_inverse=True)
        same = first[number.ravel()]
        assert len(first) < len(across)
        copied = whole[same] if across is queries else whole[:, same]
        np.testing.assert_array_equal(whole, copied)
    places = np.arange(90), rng.integers(0, 130, 90)
    np.testing.assert_array_equal(scores.at(*places), whole[places])
    turned = scores.turned()
    assert turned._copies[0] is scores._copies[1]


def test_selecting_queries_and_items_selects_their_scores():
    rng = np.random.default_rng(2)
    queries, items = rng.standard_normal((6, 4)), rng.standard_normal((7, 4))
    for rows, columns in (([1, 2, 3], [0, 1]), ([5, 0], [6, 2, 3])):
        chosen = np.array(rows), np.array(columns)
        expected = (queries @ items.T)[np.ix_(rows, columns)]
        for scores in (Products(queries, items), Dense(queries @ items.T)):
            result = scores.select(*chosen)
            np.testing.assert_allclose(result.tile(slice(None), slice(None)), expected)


def test_turned_scores_are_the_same_from_the_other_side(small_tiles):
    rng = np.random.default_rng(5)
    queries, items = rng.integers(-2, 3, (10, 3)).astype(float), rng.integers(-2, 3, (23, 3)).astype(float)
    for scores in (Products(queries, items, cosine=True), Dense(queries @ items.T)):
        whole = scores.tile(slice(None), slice(None))
        assert scores.turned().shape == (23, 10)
        np.testing.assert_array_equal(scores.turned().tile(slice(None), slice(None)), whole.T)
        np.testing.assert_array_equal(scores.turned().turned().tile(slice(None), slice(None)), whole)


@given(SCORES, st.integers(1, 14), st.integers(1, 40))
def test_the_best_k_are_those_of_a_stable_sort(scores, k, entries):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "_ENTRIES", entries)
        best = top_k(scores, k)
    expected = [[item for _, item in sorted(zip(-row, range(len(row)), strict=True))][:k] for row in scores]
    assert best.items.tolist() == expected
    assert np.array_equal(best.scores, np.take_along_axis(scores, np.array(expected), axis=1))


def test_the_best_k_of_many_tiles_are_those_of_the_whole(small_tiles):
    rng = np.random.default_rng(3)
    queries = rng.integers(-2, 3, (10, 3)).astype(float)
    items = rng.integers(-2, 3, (23, 3)).astype(float)
    assert np.array_equal(top_k(Products(queries, items), 6).items, top_k(queries @ items.T, 6).items)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_nothing_to_rank_gives_nothing(shape):
    assert top_k(np.zeros(shape), 3).items.shape == (shape[0], min(3, shape[1]))
    assert ranks(np.zeros((0, 4)), np.zeros(0)).shape == (0,)


@given(SCORES)
def test_positions_are_the_ranks_less_one(scores):
    places = positions(scores)
    for item in range(scores.shape[1]):
        assert np.array_equal(places[:, item], ranks(scores, np.full(len(scores), item)) - 1)


def test_borda_adds_what_each_system_gives():
    # Three systems over A, B, C, D; N - r gives A 4+4+1, B 3+2+4, C 2+3+3, D 1+1+2.
    systems = [[0, 1, 2, 3], [0, 2, 1, 3], [3, 0, 1, 2]]
    scores = borda(systems)
    # A and B have 9 each; the median rank of A is 0, of B 1.
    assert np.argsort(-scores, kind="stable").tolist() == [0, 1, 2, 3]
    assert scores[0] > scores[1] > scores[2] > scores[3]


def test_borda_leaves_items_tied_that_are_equal_in_sum_and_median():
    scores = borda([[0, 1, 2], [1, 0, 2]])
    assert scores[0] == scores[1] > scores[2]


@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_borda_orders_by_sum_then_median_exactly(systems, queries, items, seed):
    raw = np.random.default_rng(seed).integers(0, 3, (systems, queries, items))
    places = positions(raw)
    created = borda(places)
    for query in range(queries):
        keys = [
            (float((items - places[:, query, i]).sum()), -float(np.median(places[:, query, i])))
            for i in range(items)
        ]
        for index in range(items):
            for another in range(items):
                assert (created[query, index] > created[query, another]) == (keys[index] > keys[another])
