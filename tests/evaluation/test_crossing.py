"""Figures and tests of cross-validated systems."""

import dataclasses

import numpy as np
import pytest
from numpy.typing import ArrayLike
from statsmodels.stats.proportion import proportion_confint

from evaluation.comparison.cross_validation import (
    MEDIAN_RANK,
    compare_systems,
    cross_validated_figures,
    printed_pairs,
)
from models_core.systems.cross_validation import CrossValidation
from models_core.systems.recipe import Recipe
from phrasebox.agreement.estimates import Bootstrap
from phrasebox.significance.mcnemar_test import mcnemar
from phrasebox.significance.resampling import figure_interval


def crossed(name: str, annotation: ArrayLike, search: ArrayLike) -> CrossValidation:
    ranks = np.array([annotation, search], dtype=float)
    return CrossValidation(
        Recipe(name), {"annotation": ranks[0], "search": ranks[1]}, np.full(ranks.shape[1], 50)
    )


def test_figures_are_shares_and_medians_of_all_queries():
    result = cross_validated_figures(crossed("one", [1, 2, 8, 20], [5, 6, 11, 30]))
    values = {d: {m: i.value for m, i in figure.items()} for d, figure in result.figures.items()}
    assert values == {
        "annotation": {"R@1": 0.25, "R@5": 0.5, "R@10": 0.75, MEDIAN_RANK: 5.0},
        "search": {"R@1": 0.0, "R@5": 0.25, "R@10": 0.5, MEDIAN_RANK: 8.5},
    }
    for figure in result.figures.values():
        assert all(i.low <= i.value <= i.high and i.level == 0.95 for i in figure.values())


def test_the_interval_of_a_share_is_that_of_a_binomial():
    values = np.repeat([1.0, 0.0], [300, 700])
    result = figure_interval(values, Bootstrap(range(1000), 2000), share=True)
    assert result.value == 0.3
    assert (result.low, result.high) == pytest.approx(proportion_confint(300, 1000, method="wilson"))
    assert (result.kind, result.clusters, result.resamples, result.remark) == ("Wilson", 1000, 0, "")
    # For many, the bootstrap gives the same.
    drawn = figure_interval(values, Bootstrap(range(1000), 2000))
    assert (drawn.low, drawn.high) == pytest.approx((result.low, result.high), abs=0.004)
    assert drawn.kind == "bootstrap"


@pytest.mark.parametrize("hit", [0.0, 1.0])
def test_a_share_of_nothing_or_all_has_an_interval_that_is_no_point(hit):
    result = figure_interval(np.full(30, hit), Bootstrap(range(30)), share=True)
    assert (result.low, result.high) == pytest.approx(proportion_confint(30 * hit, 30, method="wilson"))
    assert result.high - result.low > 0.1


def test_values_between_0_and_1_and_ranks_of_1_are_no_hits_and_misses():
    between = figure_interval([0.5, 1, 0, 0.25] * 5, Bootstrap(range(20)), share=True)
    assert between.kind == "bootstrap"
    assert figure_interval([1.0] * 20, Bootstrap(range(20))).kind == "bootstrap"
    assert (
        figure_interval([1.0] * 20, Bootstrap(range(20)), statistic="median", share=True).kind == "bootstrap"
    )


@pytest.mark.parametrize(
    ("images", "message"), [(9, "a bootstrap of 9 images, fewer than 10"), (10, ""), (1, "of 1 image,")]
)
def test_a_bootstrap_of_few_images_says_so(images, message):
    values = np.random.default_rng(0).random(40)
    result = figure_interval(values, Bootstrap([n % images for n in range(40)]))
    assert result.clusters == images
    assert result.remark.startswith(message) if images == 9 else message in result.remark
    assert bool(result.remark) == bool(message)


def test_resamples_that_are_all_alike_are_said():
    assert figure_interval([3.0] * 12, Bootstrap(range(12)), statistic="median").remark == (
        "every resample gives the same"
    )


def test_queries_of_one_image_are_drawn_together():
    values = np.repeat(np.tile([1.0, 0.0], 50), 5)
    for share in (False, True):
        alone = figure_interval(values, Bootstrap(range(500), 1000), share=share)
        together = figure_interval(values, Bootstrap(np.repeat(range(100), 5).tolist(), 1000), share=share)
        assert together.high - together.low > 1.8 * (alone.high - alone.low)


def test_pairs_are_tested_at_ten_and_adjusted_over_all():
    rng = np.random.default_rng(0)
    near, far = rng.integers(1, 15, 200), rng.integers(1, 60, 200)
    systems = [crossed("near", near, near), crossed("far", far, far)]
    tests = compare_systems(systems, [("near", "far"), ("far", "far")])
    item = mcnemar(near <= 10, far <= 10)
    assert [(t.first, t.second, t.direction) for t in tests[:2]] == [
        ("near", "far", "annotation"),
        ("near", "far", "search"),
    ]
    assert tests[0].p == item.p
    assert (tests[0].first_only, tests[0].second_only) == (item.first_only, item.second_only)
    assert tests[0].difference == pytest.approx(np.mean(near <= 10) - np.mean(far <= 10))
    assert tests[0].adjusted == pytest.approx(4 * item.p)
    assert tests[0].mark == "***"
    assert tests[2].adjusted == 1


def test_a_pair_of_a_system_that_was_not_tested_is_refused():
    with pytest.raises(ValueError, match="unknown system 'TRI5'; tested: one"):
        compare_systems([crossed("one", [1], [1])], [("one", "TRI5")])


def test_each_is_held_against_the_nearest_neighbour_and_the_best_against_those_in_print():
    pairs = printed_pairs(["NN5-F1-idf", "BoW5", "TRI5SEM"])
    assert pairs == [("BoW5", "NN5-F1-idf"), ("TRI5SEM", "NN5-F1-idf"), ("TRI5SEM", "BoW5")]
    assert printed_pairs(["BoW5"]) == []


def test_printed_names_stand_beside_ours():
    item = crossed("one", [1], [1])
    named = dataclasses.replace(item, recipe=Recipe("TRI1", printed="TRI_1"))
    assert (cross_validated_figures(named).system, cross_validated_figures(named).printed) == (
        "TRI1",
        "TRI_1",
    )
