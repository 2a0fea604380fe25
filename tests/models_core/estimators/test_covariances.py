"""Covariances summed in blocks equal those of all rows at once, for any blocks and order of merging."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from models_core.estimators.covariances import PairedSums, sums_of_pairs

PAIRS, X, Y = 60, 7, 5


def pairs(seed=0, mean=3.0, kind=np.float64):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((PAIRS, 3))
    x = common @ rng.standard_normal((3, X)) + rng.standard_normal((PAIRS, X)) + mean
    y = common @ rng.standard_normal((3, Y)) + rng.standard_normal((PAIRS, Y))
    return x.astype(kind), (y * (rng.random((PAIRS, Y)) < 0.4)).astype(kind)


def joint(result):
    """Return means and the whole covariance matrix, in one array."""
    whole = np.block([[result.xx, result.xy], [result.xy.T, result.yy]])
    return np.vstack([np.concatenate([result.x_mean, result.y_mean]), whole])


def at_once(x, y):
    both = np.hstack([x, y]).astype(np.float64)
    return np.vstack([both.mean(axis=0), np.cov(both.T, bias=True)])


@given(
    cuts=st.lists(st.integers(0, PAIRS), max_size=6),
    order=st.randoms(use_true_random=False),
    parts=st.integers(1, 4),
    sparse_y=st.booleans(),
    kind=st.sampled_from([np.float64, np.float32]),
)
def test_any_blocks_in_any_order_and_any_partial_sums_give_the_same(cuts, order, parts, sparse_y, kind):
    x, y = pairs(kind=kind)
    edges = [0, *sorted(cuts), PAIRS]
    blocks = [slice(a, b) for a, b in zip(edges, edges[1:], strict=False)]
    order.shuffle(blocks)
    partial = [PairedSums(X, Y) for _ in range(parts)]
    for block in blocks:
        value = sparse.csr_matrix(y[block]) if sparse_y else y[block]
        order.choice(partial).add(x[block], value)
    whole = partial[0]
    for another in partial[1:]:
        whole.merge(another)
    assert whole.count == PAIRS
    expected = at_once(x, y)
    error = np.abs(joint(whole.covariances()) - expected).max() / np.abs(expected).max()
    assert error < (1e-12 if kind == np.float64 else 1e-5)


def test_a_mean_far_from_zero_costs_single_precision_nothing():
    x, y = pairs(mean=0.0)
    sums = PairedSums(X, Y)
    for block in np.split(np.arange(PAIRS), 4):
        sums.add((x[block] + 1000).astype(np.float32), y[block].astype(np.float32))
    error = np.abs(sums.covariances().xx - np.cov(x.T, bias=True)).max()
    # 1000 itself is kept to 6e-5; squares of it would be off by 0.06.
    assert error < 1e-3


def test_half_precision_is_multiplied_in_single():
    x, y = pairs()
    halves = x.astype(np.float16), y.astype(np.float16)
    sums = PairedSums(X, Y)
    sums.add(*halves)
    np.testing.assert_allclose(joint(sums.covariances()), at_once(*halves), atol=1e-5)


def test_captions_that_share_an_image_are_pairs_of_their_own():
    x, y = pairs()
    image_of = np.arange(PAIRS) // 3
    covariances = sums_of_pairs(x[: PAIRS // 3], sparse.csr_matrix(y), image_of, rows=7).covariances()
    np.testing.assert_allclose(joint(covariances), at_once(x[image_of], y), atol=1e-12)


def test_stored_sums_go_on_where_they_were():
    x, y = pairs()
    sums = PairedSums(X, Y)
    sums.add(x[:40], y[:40])
    arrays, settings = sums.state()
    again = PairedSums.from_state(arrays, settings)
    for row in (sums, again):
        row.add(x[40:], y[40:])
    np.testing.assert_array_equal(joint(sums.covariances()), joint(again.covariances()))


def test_sums_that_were_merged_do_not_change_with_their_source():
    x, y = pairs()
    whole, part = PairedSums(X, Y), PairedSums(X, Y)
    part.add(x[:30], y[:30])
    whole.merge(part)
    before = joint(whole.covariances())
    part.add(x[30:], y[30:])
    np.testing.assert_array_equal(joint(whole.covariances()), before)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_a_number_that_is_not_finite_is_named_and_nothing_is_added(make):
    x, y = pairs()
    sums = PairedSums(X, Y)
    sums.add(x, y)
    before = joint(sums.covariances())
    y[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3 of a block of captions is not finite in column 2"):
        sums.add(x, make(y))
    np.testing.assert_array_equal(joint(sums.covariances()), before)
    assert sums.count == PAIRS


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.ones((2, X + 1)), np.ones((2, Y)), rf"images has shape \(2, {X + 1}\); expected \(pairs, {X}\)"),
        (np.ones((2, X)), np.ones((3, Y)), "2 images and 3 captions; expected pairs"),
        (np.ones((2, X)), np.full((2, Y), "a"), "captions is of type .*; expected real numbers"),
        (np.ones(X), np.ones((1, Y)), r"images has shape \(7,\)"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(x, y, message):
    sums = PairedSums(X, Y)
    with pytest.raises(ValueError, match=message):
        sums.add(x, y)
    assert sums.count == 0


def test_sums_of_other_widths_and_of_one_pair_are_refused():
    sums = PairedSums(X, Y)
    with pytest.raises(ValueError, match=r"sums of \(7, 4\) numbers against \(7, 5\)"):
        sums.merge(PairedSums(X, Y - 1))
    sums.add(np.ones((1, X)), np.ones((1, Y)))
    with pytest.raises(ValueError, match="covariances of 1 pairs; expected 2 or more"):
        sums.covariances()
    with pytest.raises(ValueError, match="rows of 0 and 5 numbers"):
        PairedSums(0, Y)
