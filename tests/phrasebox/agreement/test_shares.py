"""Intervals of shares: Wilson's, and what clusters do to it."""

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
    found = share_interval((np.arange(of) < hits).astype(float), items)
    assert found == pytest.approx(proportion_confint(hits, of, method="wilson"), abs=1e-12)


CLUSTERS = st.lists(st.tuples(st.integers(1, 6), st.floats(0, 1)), min_size=2, max_size=12)


@given(CLUSTERS)
def test_the_effective_number_is_that_of_the_linearised_variance(made: list[tuple[int, float]]) -> None:
    """Written out: variance by the jackknife's first-order terms, over that of independent items."""
    items = np.array([number for number, _ in made], dtype=float)
    hits = np.array([round(share * number) for number, share in made], dtype=float)
    found, number, share = effective_number(hits, items), items.sum(), hits.sum() / items.sum()
    assert found <= number
    if items.max() == 1:
        assert found == number
        return
    if share in (0, 1):
        assert found == len(made)
        return
    terms = [(hit - share * of) / number for hit, of in zip(hits, items, strict=True)]
    variance = len(terms) * np.var(terms, ddof=1)
    effect = max(1.0, variance / (share * (1 - share) / number))
    shrunk = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, len(made) - 1)) ** 2
    assert found == pytest.approx(number / effect * shrunk)


def test_items_that_repeat_their_image_tell_no_more_than_one_of_it() -> None:
    """Each image five times over: the interval is about that of the images, widened by Student's t."""
    own = np.array([1.0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1])
    low, high = share_interval(5 * own, np.full(20, 5.0))
    plain = wilson(own.sum(), 20)
    assert low < plain[0] and plain[1] < high
    assert high - low == pytest.approx(plain[1] - plain[0], rel=0.12)
    assert effective_number(5 * own, np.full(20, 5.0)) == pytest.approx(
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
    found = share_estimate(np.array([1.0, 0]), np.array([2.0, 0]), "nothing", of=9, level=0.9)
    assert (found.value, found.items, found.interval, found.clusters, found.level) == (
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
    found = retrieval(truth, truth, at=1, truth_at=1, bootstrap=Bootstrap(range(60)))
    low = proportion_confint(40, 40, method="wilson")[0]
    assert (found.precision.low, found.precision.high) == pytest.approx((low, 1))
    assert found.recall == found.precision
    assert (found.f1.low, found.f1.high) == pytest.approx((2 * low / (1 + low), 1))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_f1_lies_in_its_interval_and_between_precision_and_recall(pairs: list[tuple[bool, bool]]) -> None:
    first, second = np.array(pairs, dtype=float).T
    found = retrieval(
        first, second, at=1, truth_at=1, bootstrap=Bootstrap([n // 2 for n in range(len(pairs))])
    )
    for one in (found.precision, found.recall, found.f1):
        if one.value is not None:
            assert one.low is not None and one.high is not None
            assert 0 <= one.low <= one.value + 1e-12 and one.value <= one.high + 1e-12 <= 1 + 2e-12


def coverage(share: float, clusters: int, queries: int, *, alike: float = 0.3) -> float:
    """How often the interval holds the share, of 2,000 worlds; images' own shares are beta."""
    dice = np.random.default_rng(0)
    own = dice.beta(share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike, (2_000, clusters))
    hits = dice.binomial(queries, own if queries > 1 else share, (2_000, clusters)).astype(float)
    found = np.array([share_interval(each, np.full(clusters, float(queries))) for each in hits])
    return float(((found[:, 0] <= share) & (share <= found[:, 1])).mean())


@pytest.mark.parametrize(
    ("share", "clusters", "queries"), [(0.05, 5, 1), (0.95, 10, 5), (0.5, 5, 5), (0.2, 30, 5)]
)
def test_intervals_hold_about_as_often_as_they_say(share: float, clusters: int, queries: int) -> None:
    """studies/intervals.py has the whole table; a bootstrap holds 25, 81, 82 and 92 times of 100 here."""
    assert coverage(share, clusters, queries) >= 0.93
