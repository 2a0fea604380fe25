"""Kappa and alpha compared with independent implementations, and undefined values."""

from __future__ import annotations

import warnings
from typing import Any, cast

import krippendorff as published
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from phrasebox.agreement.coefficients import (
    MEASUREMENT_LEVELS,
    answer_counts,
    as_ratings,
    cohen,
    fleiss,
    krippendorff,
)
from phrasebox.agreement.estimates import AgreementError, Bootstrap
from tests.sizes import sized

NAN = float("nan")
#: Factor for the number of random cases in a thorough run: the published packages are slow.
MORE = sized(1, 5)


def by_the_package(ratings: np.ndarray, level: str) -> float:
    """Return the published alpha; NaN if it raises an error or divides by zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(published.alpha(ratings, level_of_measurement=cast(Any, level)))
        except (ValueError, AssertionError):
            return NAN


def test_alpha_equals_the_published_package_on_random_ratings() -> None:
    """Ties, missing answers, constant and empty tables; where that package raises, ours is undefined."""
    rng = np.random.default_rng(0)
    undefined = 0
    for _ in range(300 * MORE):
        raters, items, kinds = rng.integers(1, 6), rng.integers(0, 9), rng.integers(1, 5)
        ratings = rng.integers(0, kinds, (raters, items)).astype(float)
        ratings[rng.random((raters, items)) < rng.choice([0, 0.2, 0.6])] = NAN
        for level in MEASUREMENT_LEVELS:
            ours = krippendorff(ratings, level=level)
            theirs = by_the_package(ratings, level)
            if ours.value is None:
                undefined += 1
                assert ours.reason
                assert np.isnan(theirs)
            else:
                assert ours.value == pytest.approx(theirs, abs=1e-12)
    assert undefined > 20 * MORE


def test_alpha_takes_values_that_are_not_whole_numbers() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40 * MORE):
        ratings = rng.choice([0.5, 1.25, 2.0, 7.5], (4, 12))
        for level in MEASUREMENT_LEVELS:
            theirs = by_the_package(ratings, level)
            assert krippendorff(ratings, level=level).value == pytest.approx(theirs, abs=1e-12)


def test_alpha_of_krippendorffs_own_example() -> None:
    """The four observers and twelve units of his 2011 note: 0.743, 0.815, 0.849, 0.797."""
    observers: list[list[float]] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
    result = [krippendorff(observers, level=level).value for level in MEASUREMENT_LEVELS]
    assert result == pytest.approx([0.743, 0.815, 0.849, 0.797], abs=5e-4)
    assert krippendorff(observers).items == 11


def test_who_gave_an_answer_does_not_matter_to_alpha() -> None:
    rng = np.random.default_rng(2)
    ratings = rng.integers(1, 5, (3, 40)).astype(float)
    shuffled = rng.permuted(ratings, axis=0)
    for level in MEASUREMENT_LEVELS:
        assert krippendorff(shuffled, level=level).value == pytest.approx(
            krippendorff(ratings, level=level).value, abs=1e-12
        )


def test_kappa_equals_scikit_learn_on_random_answers() -> None:
    rng = np.random.default_rng(3)
    undefined = 0
    for _ in range(200 * MORE):
        items, kinds = rng.integers(1, 12), rng.integers(1, 5)
        a, b = rng.integers(0, kinds, (2, items)).astype(float)
        ours = cohen(a, b)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = cohen_kappa_score(a, b)
        if ours.value is None:
            undefined += 1
            assert (a == a[0]).all()
            assert (b == a[0]).all()
            # For 0/0 scikit-learn returns NaN, or 1 or 0, depending on the version.
            assert np.isnan(theirs) or theirs in (0, 1)
        else:
            assert ours.value == pytest.approx(theirs, abs=1e-12)
    assert undefined > 4 * MORE


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_weighted_kappa_equals_scikit_learn_on_random_answers(weights: str) -> None:
    """scikit-learn weighs the places of the labels, so it is given the whole scale."""
    rng = np.random.default_rng(5)
    undefined = 0
    for _ in range(200 * MORE):
        items, kinds = rng.integers(1, 12), rng.integers(2, 6)
        a, b = rng.integers(0, kinds, (2, items)).astype(float)
        ours = cohen(a, b, weights=weights)
        if ours.value is None:
            undefined += 1
            assert (a == a[0]).all() and (b == a[0]).all()
            continue
        theirs = cohen_kappa_score(a, b, weights=weights, labels=np.arange(kinds))
        assert ours.value == pytest.approx(theirs, abs=1e-12)
        if len(set(a) | set(b)) == 2:
            assert ours.value == pytest.approx(cohen(a, b).value, abs=1e-12)
    assert 0 < undefined < 100 * MORE


def test_weighted_kappa_counts_the_distance_of_the_grades() -> None:
    """Nobody answered 2 or 3: 1 and 4 are three apart all the same, and 4 and 5 only one."""
    far, near = [1, 4, 5, 5], [1, 4, 4, 5]
    apart_by_chance = sum(abs(a - b) for a in far for b in near) / 16
    assert cohen(far, near, weights="linear").value == pytest.approx(1 - (1 / 4) / apart_by_chance)
    assert cohen([1, 1, 2], [2, 1, 2], weights="linear") == cohen([1, 1, 2], [2, 1, 2])


def test_kappa_passes_over_items_that_one_rater_left_out() -> None:
    result = cohen([1, 1, NAN, 2, 2], [1, 2, 1, 2, NAN])
    assert result == cohen([1, 1, 2], [1, 2, 2])
    assert result.items == 3


def test_fleiss_equals_statsmodels_on_random_counts() -> None:
    rng = np.random.default_rng(4)
    undefined = 0
    for _ in range(400 * MORE):
        items, kinds, raters = rng.integers(1, 9), rng.integers(1, 5), rng.integers(2, 6)
        answers = rng.integers(0, kinds, (items, raters))
        counts = np.array([np.bincount(own_answer, minlength=kinds) for own_answer in answers])
        ours = fleiss(counts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = fleiss_kappa(counts)
        if ours.value is None:
            undefined += 1
            assert ours.reason == "every answer is the same"
            assert np.isnan(theirs)
        else:
            assert ours.value == pytest.approx(theirs, abs=1e-12)
    assert undefined > 10 * MORE


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (cohen([1, 1, 1], [1, 1, 1]), "both raters answered 1 throughout"),
        (cohen([], []), "no item was answered by both"),
        (cohen([1, NAN], [NAN, 1]), "no item was answered by both"),
        (fleiss([[3, 0], [3, 0]]), "every answer is the same"),
        (
            fleiss([[3, 0], [1, 1]]),
            "items have 2 to 3 answers, Fleiss' kappa needs the same number for each; use alpha",
        ),
        (fleiss([[1, 0], [0, 1]]), "items have 1 answers, Fleiss' kappa needs two or more"),
        (fleiss(np.zeros((0, 2))), "no items"),
        (krippendorff([[2, 2, 2], [2, 2, 2]]), "every answer is 2"),
        (krippendorff([[1, NAN], [NAN, 2]]), "no item has two answers"),
        (krippendorff(np.zeros((0, 3))), "no item has two answers"),
        (krippendorff([[-1, 2], [1, 2]], level="ratio"), "-1 is negative: a ratio scale begins at 0"),
    ],
)
def test_an_undefined_figure_says_why(result, reason: str) -> None:
    assert result.value is None
    assert result.reason == reason


def test_two_constant_raters_who_differ_agree_no_more_than_by_chance() -> None:
    assert cohen([1, 1, 1], [2, 2, 2]).value == 0


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"answered 2 and 3 items"):
        cohen([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match=r"the second rater has answers of shape \(2, 1\)"):
        cohen([1, 2], [[1], [2]])
    with pytest.raises(ValueError, match="unknown weights 'cubic'; known: none, linear, quadratic"):
        cohen([1, 2], [1, 2], weights="cubic")
    with pytest.raises(ValueError, match="unknown level 'polar'; known: nominal, ordinal"):
        krippendorff([[1, 2]], level="polar")
    with pytest.raises(ValueError, match="give whole numbers of"):
        fleiss([[0.5, 1.5]])
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        krippendorff([1, 2])
    with pytest.raises(ValueError, match="give finite numbers"):
        krippendorff([[1.0, np.inf], [1.0, 2.0]])


def test_tables_that_would_not_fit_are_refused_before_they_are_made() -> None:
    ratings = np.arange(1200.0).reshape(2, 600)
    bootstrap = Bootstrap(range(600))
    with pytest.raises(AgreementError, match="1,200 different answers .* or leave the interval out"):
        krippendorff(ratings, bootstrap=bootstrap)
    with pytest.raises(AgreementError, match="round them"):
        cohen(ratings[0], ratings[1], bootstrap=bootstrap)
    by_hand = 1 - 600**2 / (2 * np.var(ratings, ddof=1))
    assert krippendorff(ratings).value == pytest.approx(by_hand, abs=1e-9)


def test_answers_become_tables() -> None:
    counts, values = answer_counts([(1.0, 1.0, 3.0), (3.0, 3.0, 3.0)])
    assert counts.tolist() == [[2, 1], [0, 3]]
    assert values.tolist() == [1, 3]
    assert np.array_equal(as_ratings([(1.0,), (2.0, 3.0)]), [[1.0, 2.0], [NAN, 3.0]], equal_nan=True)
