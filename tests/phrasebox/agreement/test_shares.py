"""Intervals of shares: Wilson's, and the effect of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from phrasebox.agreement.estimates import Bootstrap
from phrasebox.agreement.shares import effective_number, share_estimate, share_interval, wilson
from phrasebox.agreement.thresholds import retrieval

COUNTED = [(0, 40), (3, 40), (20, 40), (40, 40), (1, 1), (0, 10_374)]


@pytest.mark.parametrize(("hits", "of"), COUNTED)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilson_is_that_of_scipy_and_statsmodels(hits: int, of: int, level: float) -> None:
    theirs = stats.binomtest(hits, of).proportion_ci(level, method="wilson")
    assert wilson(hits, of, level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert wilson(hits, of, level) == pytest.approx(
        proportion_confint(hits, of, alpha=1 - level, method="wilson"), abs=1e-12
    )


def test_wilson_says_nothing_of_nothing_and_refuses_what_is_no_share() -> None:
    assert wilson(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="expected a share"):
        wilson(3, 2)


@pytest.mark.parametrize(("hits", "of"), COUNTED)
def test_one_item_a_cluster_is_wilsons_own(hits: int, of: int) -> None:
    items = np.ones(of)
    result = share_interval((np.arange(of) < hits).astype(float), items)
    assert result == pytest.approx(proportion_confint(hits, of, method="wilson"), abs=1e-12)


CLUSTERS = st.lists(st.tuples(st.integers(1, 6), st.floats(0, 1)), min_size=2, max_size=12)


@given(CLUSTERS)
def test_the_effective_number_is_that_of_the_linearised_variance(created: list[tuple[int, float]]) -> None:
    """Written out: variance by the jackknife's first-order terms, over that of independent items."""
    items = np.array([number for number, _ in created], dtype=float)
    hits = np.array([round(share * number) for number, share in created], dtype=float)
    result, number, share = effective_number(hits, items), items.sum(), hits.sum() / items.sum()
    assert result <= number
    if items.max() == 1:
        assert result == number
        return
    if share in (0, 1):
        assert result == len(created)
        return
    terms = [(hit - share * of) / number for hit, of in zip(hits, items, strict=True)]
    variance = len(terms) * np.var(terms, ddof=1)
    effect = max(1.0, variance / (share * (1 - share) / number))
    shrunk = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, len(created) - 1)) ** 2
    assert result == pytest.approx(number / effect * shrunk)


def test_items_that_repeat_their_image_tell_no_more_than_one_of_it() -> None:
    """Each image five times over: the interval is about that of the images, widened by Student's t."""
    values = np.array([1.0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1])
    low, high = share_interval(5 * values, np.full(20, 5.0))
    plain_value = wilson(values.sum(), 20)
    assert low < plain_value[0] and plain_value[1] < high
    assert high - low == pytest.approx(plain_value[1] - plain_value[0], rel=0.12)
    assert effective_number(5 * values, np.full(20, 5.0)) == pytest.approx(
        19 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 19)) ** 2
    )


def test_where_all_items_are_equal_each_cluster_counts_as_one() -> None:
    items = np.array([3.0, 1, 8, 0])
    assert share_interval(np.zeros(4), items) == wilson(0, 3)
    assert share_interval(items, items) == wilson(3, 3)


def test_one_cluster_of_both_says_nothing_of_others() -> None:
    assert share_interval(np.array([2.0]), np.array([5.0])) == (0, 1)
    assert share_interval(np.zeros(2), np.zeros(2)) == (0, 1)


def test_clusters_without_items_change_nothing() -> None:
    hits, items = np.array([1.0, 0, 2]), np.array([2.0, 3, 2])
    assert share_interval(np.append(hits, 0), np.append(items, 0)) == share_interval(hits, items)


def test_an_estimate_says_on_how_many_clusters_it_rests() -> None:
    result = share_estimate(np.array([1.0, 0]), np.array([2.0, 0]), "nothing", of=9, level=0.9)
    assert (result.value, result.items, result.interval, result.clusters, result.level) == (
        0.5,
        9,
        "Wilson",
        1,
        0.9,
    )
    nothing = share_estimate(np.zeros(2), np.zeros(2), "nothing there", of=9, level=0.9)
    assert (nothing.value, nothing.reason, nothing.low) == (None, "nothing there", None)


def test_precision_recall_and_f1_at_their_ends_have_an_interval() -> None:
    """All resamples of a perfect finder are perfect; its interval is not a point."""
    truth = np.tile([1.0, 0, 1], 20)
    result = retrieval(truth, truth, at=1, truth_at=1, bootstrap=Bootstrap(range(60)))
    low = proportion_confint(40, 40, method="wilson")[0]
    assert (result.precision.low, result.precision.high) == pytest.approx((low, 1))
    assert result.recall == result.precision
    assert (result.f1.low, result.f1.high) == pytest.approx((2 * low / (1 + low), 1))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_f1_lies_in_its_interval_and_between_precision_and_recall(pairs: list[tuple[bool, bool]]) -> None:
    first, second = np.array(pairs, dtype=float).T
    result = retrieval(
        first, second, at=1, truth_at=1, bootstrap=Bootstrap([n // 2 for n in range(len(pairs))])
    )
    for row in (result.precision, result.recall, result.f1):
        if row.value is not None:
            assert row.low is not None and row.high is not None
            assert 0 <= row.low <= row.value + 1e-12 and row.value <= row.high + 1e-12 <= 1 + 2e-12


def coverage(share: float, clusters: int, queries: int, *, alike: float = 0.3) -> float:
    """Return how often the interval contains the share, in 2,000 simulations; images' own shares are beta."""
    rng = np.random.default_rng(0)
    beta = rng.beta(share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike, (2_000, clusters))
    hits = rng.binomial(queries, beta if queries > 1 else share, (2_000, clusters)).astype(float)
    values = np.array([share_interval(hit, np.full(clusters, float(queries))) for hit in hits])
    return float(((values[:, 0] <= share) & (share <= values[:, 1])).mean())


@pytest.mark.parametrize(
    ("share", "clusters", "queries"), [(0.05, 5, 1), (0.95, 10, 5), (0.5, 5, 5), (0.2, 30, 5)]
)
def test_intervals_hold_about_as_often_as_they_say(share: float, clusters: int, queries: int) -> None:
    """studies/intervals.py has the whole table; a bootstrap holds 25, 81, 82 and 92 times of 100 here."""
    assert coverage(share, clusters, queries) >= 0.93
