"""Intervals: whole clusters are drawn, reproducibly by the seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from annotation.management.base import few_images
from phrasebox.agreement import estimates as room
from phrasebox.agreement.coefficients import MEASUREMENT_LEVELS, cohen, fleiss, krippendorff
from phrasebox.agreement.estimates import Bootstrap, Estimate, few_clusters_remark, tails
from phrasebox.agreement.thresholds import retrieval, sweep


def answers(seed: int, items: int = 90) -> tuple[np.ndarray, list[str]]:
    """Return three raters' answers from 1 to 4, three items per image."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 5, items)
    ratings = np.clip(truth + rng.choice([-1, 0, 0, 0, 1], (3, items)), 1, 4).astype(float)
    ratings[0, ::7] = np.nan
    return ratings, [f"image {number // 3}" for number in range(items)]


def resampled_by_hand(figure, images: list[str], bootstrap: Bootstrap) -> list[float]:
    """Return the figure computed on each resample, from copies of the drawn images' items."""
    rng = np.random.default_rng(bootstrap.seed)
    names = list(dict.fromkeys(images))
    places = {name: [k for k, image in enumerate(images) if image == name] for name in names}
    result = []
    for _ in range(bootstrap.resamples):
        times = rng.multinomial(len(names), np.full(len(names), 1 / len(names)))
        chosen = [k for name, often in zip(names, times, strict=True) for k in places[name] * often]
        result.append(figure(chosen))
    return result


def tails_by_hand(level: float, clusters: int) -> list[float]:
    """Return the normal distribution's tails for Student's t with these degrees of freedom, times sqrt(n / (n
    - 1))."""
    out = stats.t.ppf((1 + level) / 2, clusters - 1) * np.sqrt(clusters / (clusters - 1))
    return [float(stats.norm.cdf(-out)), float(stats.norm.cdf(out))]


@pytest.mark.parametrize("clusters", [2, 5, 10, 1000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_percentiles_lie_further_out_where_clusters_are_few(clusters: int, level: float) -> None:
    assert tails(level, clusters) == pytest.approx(tails_by_hand(level, clusters), abs=1e-12)
    assert tails(level, clusters)[0] < (1 - level) / 2 < 0.5
    assert tails(level, 1) == (0, 1)


def test_an_interval_of_few_clusters_says_so_and_one_of_ten_does_not() -> None:
    ratings, _ = answers(8)
    for images, message in ((9, "a bootstrap of 9 images, fewer than 10: may be too narrow"), (10, "")):
        result = krippendorff(ratings, bootstrap=Bootstrap([str(item % images) for item in range(90)]))
        assert (result.reason, result.clusters, result.interval) == (message, images, "bootstrap")


@pytest.mark.parametrize("images", [1, 2, 9, 10])
def test_both_sides_of_the_house_call_the_same_number_few(images: int) -> None:
    assert few_clusters_remark(images) == few_images(images)


def test_clusters_of_which_nothing_enters_a_figure_do_not_count() -> None:
    """Twelve images, of which four have a pair that both answered."""
    first = [1, 2, 1, 2, *[np.nan] * 8]
    result = cohen(first, [1, 2, 2, 2, *[1] * 8], bootstrap=Bootstrap(range(12)))
    assert result.clusters == 4
    assert result.reason.startswith("a bootstrap of 4 images")


@pytest.mark.parametrize("level", MEASUREMENT_LEVELS)
def test_an_interval_of_alpha_is_that_of_alphas_computed_again(level: str) -> None:
    ratings, images = answers(1)
    bootstrap = Bootstrap(images, resamples=60, level=0.9, seed=5)
    by_hand = resampled_by_hand(
        lambda chosen: krippendorff(ratings[:, chosen], level=level).value, images, bootstrap
    )
    result = krippendorff(ratings, level=level, bootstrap=bootstrap)
    assert (result.low, result.high) == pytest.approx(
        tuple(np.quantile(by_hand, tails_by_hand(0.9, 30))), abs=1e-12
    )


def test_an_interval_of_kappa_is_that_of_kappas_computed_again() -> None:
    ratings, images = answers(2)
    bootstrap = Bootstrap(images, resamples=60, seed=6)
    by_hand = resampled_by_hand(
        lambda chosen: cohen(ratings[0, chosen], ratings[1, chosen]).value, images, bootstrap
    )
    result = cohen(ratings[0], ratings[1], bootstrap=bootstrap)
    assert (result.low, result.high) == pytest.approx(
        tuple(np.quantile(by_hand, tails_by_hand(0.95, 30))), abs=1e-12
    )


def test_each_cell_of_a_sweep_has_the_interval_it_would_have_alone() -> None:
    ratings, images = answers(3)
    bootstrap = Bootstrap(images, resamples=80, seed=7)
    result = sweep(ratings[0], ratings[1], rows=[2, 3, 4], columns=[2, 4], bootstrap=bootstrap)
    judged = ~np.isnan(ratings[0])
    for r, row in enumerate(result.rows):
        for c, column in enumerate(result.columns):
            first = np.where(judged, ratings[0] >= row, np.nan)
            second = np.where(judged, ratings[1] >= column, np.nan)
            alone = cohen(first, second, bootstrap=bootstrap)
            cell = result.kappa[r][c]
            assert (cell.value, cell.low, cell.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_drawing_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, images = answers(4)
    bootstrap = Bootstrap(images, resamples=50)
    whole = krippendorff(ratings, bootstrap=bootstrap)
    monkeypatch.setattr(room, "_BLOCK", 100)
    assert krippendorff(ratings, bootstrap=bootstrap) == whole


def width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def test_items_of_one_image_widen_the_interval_where_they_hang_together() -> None:
    """Each image's answers ten times over: no more is known, and only clusters say so."""
    ratings, _ = answers(5)
    repeated = np.repeat(ratings, 10, axis=1)
    images = [str(item // 10) for item in range(repeated.shape[1])]
    clustered = krippendorff(repeated, bootstrap=Bootstrap(images))
    loose = krippendorff(repeated, bootstrap=Bootstrap(range(repeated.shape[1])))
    assert clustered.value == loose.value
    assert width(clustered) > 2 * width(loose)


def test_resamples_without_a_value_are_counted_and_left_out() -> None:
    """Only one image has a second answer kind: a third of the resamples lack it."""
    result = cohen([1, 1, 2], [1, 1, 2], bootstrap=Bootstrap("abc", resamples=500))
    assert result.value == result.low == result.high == 1
    assert result.resamples == 500
    assert 100 < result.undefined < 250
    assert result.reason.endswith("fewer than 10: may be too narrow; every resample gives the same")


def test_a_figure_that_no_resample_has_gets_no_interval() -> None:
    """Two images of one answer each: the one resample draws one of them twice, and nothing varies."""
    result = fleiss([[2, 0], [0, 2]], bootstrap=Bootstrap("ab", resamples=1, seed=3))
    assert result.value == 1
    assert result.low is None
    assert result.reason == "no interval: undefined on all 1 resamples"


def test_an_undefined_figure_has_no_interval() -> None:
    result = retrieval([0, 0], [1, 0], at=1, truth_at=1, bootstrap=Bootstrap("ab"))
    assert result.precision.low is None
    assert result.precision.reason == "nothing is predicted at 1"
    assert result.recall.value == result.recall.low == 0
    assert result.recall.high == pytest.approx(stats.binomtest(0, 1).proportion_ci(0.95, "wilson").high)


def test_bad_settings_are_named() -> None:
    with pytest.raises(ValueError, match="0 resamples; use at least 1"):
        Bootstrap("ab", resamples=0)
    with pytest.raises(ValueError, match="999999999 resamples; use 100000 at most"):
        Bootstrap("ab", resamples=999_999_999)
    with pytest.raises(ValueError, match="level 95 is not a confidence level"):
        Bootstrap("ab", level=95)
    with pytest.raises(ValueError, match="2 clusters for 3 items"):
        cohen([1, 2, 3], [1, 2, 3], bootstrap=Bootstrap("ab"))
