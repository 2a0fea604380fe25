"""Scores converted to yes and no by a threshold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

from phrasebox.agreement.thresholds import binarised, retrieval, sweep
from tests.sizes import sized

NAN = np.nan
#: Factor for the number of random cases in a thorough run: scikit-learn is slow.
MORE = sized(1, 5)


@pytest.mark.parametrize("strict", [False, True])
def test_a_sweep_is_scikit_learns_kappa_of_every_two_cuts(strict: bool) -> None:
    rng = np.random.default_rng(0)
    undefined = 0
    for _ in range(20 * MORE):
        items = rng.integers(1, 15)
        a, b = rng.integers(0, 4, items) / 3, rng.integers(0, 3, items) / 2
        rows, columns = [0.0, 1 / 3, 2 / 3, 1.0], [0.0, 0.5, 1.0]
        result = sweep(a, b, rows=rows, columns=columns, strict=strict)
        for r, row in enumerate(rows):
            for c, column in enumerate(columns):
                first, second = binarised(a, row, strict=strict), binarised(b, column, strict=strict)
                cell = result.kappa[r][c]
                if cell.value is None:
                    undefined += 1
                    assert set(first) == set(second)
                    assert cell.reason == f"both say {'yes' if first[0] else 'no'} throughout"
                else:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        theirs = cohen_kappa_score(first, second)
                    assert cell.value == pytest.approx(theirs, abs=1e-12)
    assert undefined > 6 * MORE


def test_precision_recall_and_f1_are_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    undefined = 0
    for _ in range(100 * MORE):
        items = rng.integers(1, 12)
        scores, truth = rng.integers(0, 3, (2, items)).astype(float)
        result = retrieval(scores, truth, at=2, truth_at=1)
        theirs = precision_recall_fscore_support(
            truth >= 1, scores >= 2, average="binary", zero_division=np.nan
        )
        for ours, expected in zip((result.precision, result.recall, result.f1), theirs, strict=False):
            if ours.value is None:
                undefined += 1
                assert ours.reason
                assert np.isnan(expected)
            else:
                assert ours.value == pytest.approx(expected, abs=1e-12)
    assert undefined > 10 * MORE


def test_strict_and_not_strict_differ_at_the_threshold_alone() -> None:
    scores = np.array([1 / 3, 0.34, NAN])
    assert binarised(scores, 1 / 3).tolist() == [True, True, False]
    assert binarised(scores, 1 / 3, strict=True).tolist() == [False, True, False]


def test_what_was_not_judged_is_left_out() -> None:
    result = sweep([1, 0, 1, NAN], [1, 0, NAN, 1], rows=[1], columns=[1])
    assert result.kappa[0][0].value == 1
    assert result.kappa[0][0].items == 2
    assert retrieval([1, NAN], [1, 1], at=1, truth_at=1).recall.value == 1


def test_the_best_pair_of_thresholds_is_the_first_of_equals() -> None:
    result = sweep([1, 2, 3, 4], [1, 2, 3, 4], rows=[4, 3, 2], columns=[4, 3, 2])
    assert result.best == (4.0, 4.0, 1.0)
    assert sweep([1, 1], [1, 1], rows=[1], columns=[1]).best is None


def test_no_item_in_common_is_a_reason() -> None:
    assert sweep([NAN], [1], rows=[1], columns=[1]).kappa[0][0].reason == "no item has both scores"


def test_lists_of_unlike_length_are_refused() -> None:
    with pytest.raises(ValueError, match="give two lists over the same items"):
        sweep([1, 2], [1], rows=[1], columns=[1])
