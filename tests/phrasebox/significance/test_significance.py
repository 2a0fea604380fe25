"""Significance tests: compared with statsmodels, scipy, and enumeration of every arrangement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats import contingency_tables, multitest

from phrasebox.agreement.estimates import Bootstrap, tails
from phrasebox.significance import randomisation
from phrasebox.significance.mcnemar_test import mcnemar
from phrasebox.significance.preference import preference
from phrasebox.significance.randomisation import MOST_ROUNDS, of_mean, of_means, of_median
from phrasebox.significance.resampling import bootstrap_difference, bootstrap_difference_of_sums
from phrasebox.significance.tables import holm, kendall, mark, spearman

SUCCESSES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)
FEW = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=25)
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(SUCCESSES)
def test_mcnemar_is_that_of_statsmodels(pairs):
    first, second = np.array(pairs).T
    table = [[sum(a == x and b == y for a, b in pairs) for y in (1, 0)] for x in (1, 0)]
    b, c = table[0][1], table[1][0]
    result = mcnemar(first, second)
    assert (result.first_only, result.second_only) == (b, c)
    assert result.p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue)
    if b + c:  # statsmodels returns no value without discordant pairs; ours is 1
        pvalue = contingency_tables.mcnemar(table, exact=False, correction=False).pvalue
        assert mcnemar(first, second, method="chi-square").p == pytest.approx(pvalue)
    if abs(b - c) >= 1:  # statsmodels "corrects" a difference of zero to one; ours remains 0
        corrected = contingency_tables.mcnemar(table, exact=False, correction=True).pvalue
        assert mcnemar(first, second, method="corrected").p == pytest.approx(corrected)


@given(SUCCESSES)
def test_mid_p_takes_half_of_what_was_seen(pairs):
    first, second = np.array(pairs).T
    result = mcnemar(first, second, method="mid-p")
    b, n = result.first_only, result.first_only + result.second_only
    chance = [math.comb(n, k) / 2**n for k in range(n + 1)]
    # Splits as uneven as the observed one count half, on both sides.
    uneven = sum(chance[k] for k in range(n + 1) if abs(2 * k - n) > abs(2 * b - n))
    as_uneven = sum(chance[k] for k in range(n + 1) if abs(2 * k - n) == abs(2 * b - n))
    assert result.p == pytest.approx(uneven + as_uneven / 2 if 2 * b != n else 1.0)


@pytest.mark.parametrize("method", ["exact", "mid-p", "chi-square", "corrected"])
def test_systems_that_no_query_tells_apart_have_p_one(method):
    assert mcnemar([1, 0, 1], [1, 0, 1], method=method).p == 1.0


def test_queries_without_a_value_for_either_are_left_out():
    nan = math.nan
    assert mcnemar([1, nan, 1, 0], [0, nan, 0, 0]) == mcnemar([1, 1, 0], [0, 0, 0])
    assert of_mean([1, nan, 3], [0, nan, 1], rounds=99) == of_mean([1, 3], [0, 1], rounds=99)
    stored = bootstrap_difference([1, nan, 3], [0, nan, 1], Bootstrap(["a", "b", "c"]))
    assert stored == bootstrap_difference([1, 3], [0, 1], Bootstrap(["a", "c"]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8))
def test_randomisation_of_means_nears_the_count_of_all_arrangements(pairs):
    first, second = np.array(pairs, dtype=float).T
    difference = first - second
    all_signs = np.array(list(itertools.product([1, -1], repeat=len(pairs))))
    exact = np.mean(np.abs(all_signs @ difference) >= abs(difference.sum()) - 1e-9)
    result = of_mean(first, second, rounds=20_000)
    assert result.difference == pytest.approx(difference.mean())
    assert result.p == pytest.approx(exact, abs=5 * math.sqrt(0.25 / 20_000))


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=8))
def test_randomisation_of_medians_nears_the_count_of_all_arrangements(pairs):
    ranks = np.array(pairs, dtype=float)
    seen = abs(np.median(ranks[:, 0]) - np.median(ranks[:, 1]))
    counted = []
    for swaps in itertools.product([0, 1], repeat=len(pairs)):
        arranged = np.where(np.array(swaps)[:, None], ranks[:, ::-1], ranks)
        counted.append(abs(np.median(arranged[:, 0]) - np.median(arranged[:, 1])) >= seen)
    result = of_median(ranks[:, 0], ranks[:, 1], rounds=20_000)
    assert result.p == pytest.approx(np.mean(counted), abs=5 * math.sqrt(0.25 / 20_000))


@pytest.mark.parametrize("queries", [7, 8])
def test_medians_are_those_of_the_values_exchanged_by_the_same_bits(queries):
    rng = np.random.default_rng(queries)
    first, second = rng.integers(1, 6, (2, queries)).astype(float)
    first[0] = math.inf
    seen, as_large = abs(np.median(first) - np.median(second)), 0
    for bits in randomisation._bits(300, queries, 5):
        for row in bits:
            item, another = np.where(row, first, second), np.where(row, second, first)
            as_large += abs(np.median(item) - np.median(another)) >= seen
    assert of_median(first, second, rounds=300, seed=5).p == (as_large + 1) / 301


def test_randomisation_agrees_with_scipy_on_continuous_values():
    rng = np.random.default_rng(0)
    first = rng.standard_normal(12)
    second = first + 0.4 + rng.standard_normal(12)
    exact = stats.permutation_test(
        (first, second), lambda a, b: a.mean() - b.mean(), permutation_type="samples", n_resamples=np.inf
    )
    assert of_mean(first, second).p == pytest.approx(exact.pvalue, abs=0.005)


def test_every_cell_of_a_table_of_systems_is_the_test_of_its_pair():
    systems = np.random.default_rng(1).random((5, 40))
    table = of_means(systems, rounds=500, seed=3)
    for first, second in itertools.combinations(range(5), 2):
        alone = of_mean(systems[first], systems[second], rounds=500, seed=3)
        assert table.p[first, second] == table.p[second, first] == alone.p
        assert table.differences[first, second] == pytest.approx(alone.difference)
        assert table.differences[second, first] == pytest.approx(-alone.difference)
    assert (np.diag(table.p) == 1).all()


def test_a_difference_never_equalled_has_the_smallest_p_there_is():
    assert of_mean(np.ones(200), np.zeros(200), rounds=999).p == 1 / 1000


def test_equal_systems_have_p_one():
    values = np.random.default_rng(2).random(30)
    assert of_mean(values, values, rounds=200).p == 1.0
    assert of_median(values, values, rounds=200).p == 1.0


def test_the_seed_decides_and_is_all_that_decides():
    first, second = np.random.default_rng(4).random((2, 50))
    assert of_mean(first, second, rounds=300, seed=1) == of_mean(first, second, rounds=300, seed=1)
    assert of_mean(first, second, rounds=300, seed=1).p != of_mean(first, second, rounds=300, seed=2).p


@pytest.mark.parametrize("test", [of_mean, of_median])
@pytest.mark.parametrize(("rounds", "says"), [(0, "at least 1"), (MOST_ROUNDS + 1, "1000000 at most")])
def test_rounds_that_nobody_can_wait_for_are_refused(test, rounds, says):
    with pytest.raises(ValueError, match=f"{rounds} permutations; use {says}"):
        test([1.0], [2.0], rounds=rounds)


def test_ranks_that_were_not_retrieved_are_the_largest():
    inf = math.inf
    assert of_median([1, 2, inf], [1, 2, inf], rounds=50).p == 1.0
    assert of_median([inf] * 9, [1] * 9, rounds=50).difference == inf
    both = bootstrap_difference([inf, inf], [inf, inf], Bootstrap([1, 2]), statistic="median")
    assert (both.value, both.low, both.high) == (0, 0, 0)
    item = bootstrap_difference([inf, 3, 2, 2], [1, 1, 1, 1], Bootstrap(list("abcd")), statistic="median")
    assert (item.value, item.low, item.high) == (1.5, 1, inf)


@given(FEW, st.sampled_from(["mean", "median"]))
def test_the_bootstrap_resamples_whole_images(pairs, statistic):
    first, second = np.array(pairs, dtype=float).T
    clusters = [n % 3 for n in range(len(pairs))]
    result = bootstrap_difference(
        first, second, Bootstrap(clusters, resamples=200, seed=1), statistic=statistic
    )
    # By hand: the drawn images, each with all its captions.
    of_image = [np.flatnonzero(np.array(clusters) == image) for image in dict.fromkeys(clusters)]
    number = len(of_image)
    drawn = np.random.default_rng(1).multinomial(number, np.full(number, 1 / number), size=200)
    take = np.mean if statistic == "mean" else np.median
    differences = []
    for times in drawn:
        chosen = np.concatenate([np.tile(value, n) for value, n in zip(of_image, times, strict=True)])
        differences.append(take(first[chosen]) - take(second[chosen]))
    assert result.value == pytest.approx(take(first) - take(second))
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(differences, tails(0.95, number))))
    assert result.clusters == number
    assert result.remark.startswith(f"a bootstrap of {number} image")


def test_captions_of_one_image_widen_the_interval():
    rng = np.random.default_rng(5)
    image = np.repeat(np.arange(60), 5)
    first = np.repeat(rng.standard_normal(60), 5)  # the captions of an image have similar scores
    clustered = bootstrap_difference(first, np.zeros(300), Bootstrap(image.tolist()))
    apart = bootstrap_difference(first, np.zeros(300), Bootstrap(list(range(300))))
    assert clustered.high - clustered.low > 1.8 * (apart.high - apart.low)


def test_a_bootstrap_that_always_finds_the_same_sign_has_a_small_p():
    result = bootstrap_difference(np.ones(20), np.zeros(20), Bootstrap(list(range(20)), resamples=999))
    assert result.p == 2 / 1000
    assert (result.low, result.high) == (1, 1)


def test_the_difference_of_means_of_means_is_that_of_a_loop_over_the_same_draws():
    """Phrases of several categories: the mean over those categories that were drawn."""
    rng = np.random.default_rng(4)
    phrases, categories = 9, 3
    belongs = rng.random((phrases, categories)) < 0.4
    belongs[:, 0] |= ~belongs.any(axis=1)
    belongs[3:, 2] = False  # so that some resamples contain none of the last
    precisions = rng.random((2, phrases))
    tables = [np.concatenate([precision[:, None] * belongs, belongs], axis=1) for precision in precisions]

    def figure(sums):
        added, counted = sums[:, :categories], sums[:, categories:]
        return np.nanmean(np.where(counted > 0, added / np.maximum(counted, 1), np.nan), axis=1)

    def by_hand(drawn, precision):
        means = []
        for category in range(categories):
            values = [precision[phrase] for phrase in drawn if belongs[phrase, category]]
            if values:
                means.append(sum(values) / len(values))
        return sum(means) / len(means)

    bootstrap = Bootstrap([f"phrase {n}" for n in range(phrases)], resamples=400, seed=7)
    result = bootstrap_difference_of_sums(tables[0], tables[1], figure, bootstrap)
    counts = np.random.default_rng(7).multinomial(phrases, np.full(phrases, 1 / phrases), size=400)
    assert (counts @ belongs == 0).any(), "a category is not drawn"
    moved = [
        by_hand(drawn, precisions[0]) - by_hand(drawn, precisions[1])
        for drawn in (np.repeat(np.arange(phrases), row) for row in counts)
    ]
    every = list(range(phrases))
    assert result.value == pytest.approx(by_hand(every, precisions[0]) - by_hand(every, precisions[1]))
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(moved, tails(0.95, phrases))))
    side = min(sum(item <= 0 for item in moved), sum(item >= 0 for item in moved))
    assert result.p == min(1, 2 * (side + 1) / 401) and result.clusters == phrases
    twice = bootstrap_difference_of_sums(tables[0], tables[0], figure, bootstrap)
    assert (twice.value, twice.low, twice.high, twice.p) == (0, 0, 0, 1)
    together = Bootstrap(["a"] * 4 + ["b"] * 5, resamples=50)
    assert bootstrap_difference_of_sums(tables[0], tables[1], figure, together).clusters == 2
    with pytest.raises(ValueError, match=r"shapes \(9, 6\) and \(8, 6\)"):
        bootstrap_difference_of_sums(tables[0], tables[1][1:], figure, bootstrap)


@given(FEW)
def test_rank_correlations_are_what_their_definitions_say(pairs):
    first, second = np.array(pairs, dtype=float).T
    constant = len(set(first)) == 1 or len(set(second)) == 1
    rho, tau = spearman(first, second), kendall(first, second)
    if constant:
        assert rho.value is None and "the same value for all systems" in rho.reason
        assert tau.value is None and "the same value for all systems" in tau.reason
        return
    agree = [
        np.sign(first[i] - first[j]) * np.sign(second[i] - second[j])
        for i, j in itertools.combinations(range(len(pairs)), 2)
    ]
    untied = [
        sum(v[i] != v[j] for i, j in itertools.combinations(range(len(pairs)), 2)) for v in (first, second)
    ]
    assert tau.value == pytest.approx(sum(agree) / math.sqrt(untied[0] * untied[1]))
    fewer = min(len(set(first)), len(set(second)))
    most = len(pairs) ** 2 * (fewer - 1) / (2 * fewer)
    assert kendall(first, second, variant="c").value == pytest.approx(sum(agree) / most)
    ranks = np.array([[(v < x).sum() + ((v == x).sum() + 1) / 2 for x in v] for v in (first, second)])
    assert rho.value == pytest.approx(np.corrcoef(ranks)[0, 1])


def test_one_system_has_no_rank_correlation():
    assert spearman([1.0], [2.0]).value is None
    assert "give at least two" in kendall([1.0], [2.0]).reason


@given(SHARES)
def test_holm_is_that_of_statsmodels(p):
    with pytest.MonkeyPatch.context() as patch:
        # It collects garbage at every call, which took most of this test's time.
        patch.setattr("gc.collect", lambda: 0)
        expected = multitest.multipletests(p, method="holm")[1]
    np.testing.assert_allclose(holm(p), expected)


def test_no_test_needs_no_correction():
    assert holm([]).shape == (0,)


def test_holm_counts_only_what_was_tested():
    table = [[math.nan, 0.01], [0.04, math.nan]]
    np.testing.assert_allclose(holm(table), [[math.nan, 0.02], [0.04, math.nan]])


@pytest.mark.parametrize(
    ("p", "sign"), [(0.1, "*"), (0.1001, ""), (0.05, "**"), (0.01, "***"), (0.0, "***"), (math.nan, "")]
)
def test_marks_are_those_of_the_printed_tables(p, sign):
    assert mark(p) == sign


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: mcnemar([0, 1], [0, 1, 1]), r"shapes \(2,\), \(3,\)"),
        (lambda: mcnemar([0, 0.5], [0, 1]), r"query 1 scores \[0.5, 1.0\]; McNemar's test needs 0 or 1"),
        (lambda: mcnemar([0, 1], [0, 1], method="fisher"), "unknown method 'fisher'; known: exact, mid-p"),  # type: ignore[arg-type]
        (lambda: of_mean([1, math.nan], [1, 2]), "query 1 has no value for system 0 and one for another"),
        (lambda: of_mean([math.nan], [math.nan]), "no query has a value"),
        (lambda: of_mean([1], [2], rounds=0), "0 permutations; use at least 1"),
        (lambda: bootstrap_difference([1, 2], [1, 2], Bootstrap(["a"])), "1 clusters for 2 items"),
        (lambda: bootstrap_difference([math.inf], [1], Bootstrap([1])), "it has no mean; use the median"),
        (lambda: spearman([1, 2], [1]), r"shapes \(2,\) and \(1,\)"),
        (lambda: kendall([1, math.nan], [1, 2]), "system 1 has no value"),
        (lambda: holm([0.5, 1.5]), "p is 1.5; expected 0 to 1"),
    ],
)
def test_what_cannot_be_tested_is_refused_in_one_line(ask: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_preferences_are_counted_query_by_query_and_tested_by_the_signs():
    rng = np.random.default_rng(5)
    for _ in range(20):
        first, second = rng.integers(1, 5, (2, 30))
        result = preference(first, second)
        better = sum(int(a > b) for a, b in zip(first, second, strict=True))
        worse = sum(int(a < b) for a, b in zip(first, second, strict=True))
        assert (result.better, result.equal, result.worse) == (better, 30 - better - worse, worse)
        assert result.share == better / (better + worse) and result.low < result.share < result.high
        assert result.p == pytest.approx(stats.binomtest(better, better + worse).pvalue)
        turned = preference(first, second, higher_is_better=False)
        assert (turned.better, turned.worse, turned.p) == (worse, better, result.p)
    same = preference([1, 2], [1, 2])
    assert (same.equal, same.share, same.p) == (2, None, 1.0)
    assert preference([np.inf, 3], [np.inf, 2]).equal == 1
