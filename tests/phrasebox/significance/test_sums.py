"""Intervals of captions' scores: compared with resamples that are scored again, one by one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from phrasebox.agreement.estimates import AgreementError, Bootstrap, Estimate, tails
from phrasebox.agreement.summary import Resampling
from phrasebox.metrics.captioning import bleu
from phrasebox.metrics.captions import Captions, CaptionScore, score_captions
from phrasebox.significance import holm, randomisation
from phrasebox.significance.resampling import figure_interval
from phrasebox.significance.sums import (
    DifferenceFromFirst,
    SummedFigure,
    differences_from_first,
    interval_of_sums,
    mean_of,
    mean_sums,
)
from tests.phrasebox.metrics.conftest import stand_in

__all__ = ["stand_in"]

WORDS = "a dog cat runs sits on the mat red big".split()
MEANS = ("ROUGE-1", "BLEU_pre", "ROUGE-L", "CIDEr", "CIDEr-D")


def interval(score: CaptionScore, bootstrap: Bootstrap | None) -> Estimate:
    return interval_of_sums(score.sums.added, score.sums.figure, bootstrap)


def difference(
    second: CaptionScore, first: CaptionScore, clusters: Sequence[int], how: Resampling, rounds: int = 0
) -> DifferenceFromFirst:
    added = {"first": first.sums.added, "second": second.sums.added}
    (row,) = differences_from_first(
        [SummedFigure(first.measure, added, first.sums.figure, clusters)], how, rounds=rounds
    )
    return row


def texts(seed: int, items: int) -> tuple[list[str], list[list[str]]]:
    """Return captions that share some of their words with their references."""
    rng = random.Random(seed)
    references = [
        [" ".join(rng.choices(WORDS, k=rng.randint(3, 9))) for _ in range(rng.randint(1, 4))]
        for _ in range(items)
    ]
    candidates = [
        reference[0] if rng.random() < 0.5 else " ".join(rng.choices(WORDS, k=rng.randint(2, 8)))
        for reference in references
    ]
    return candidates, references


@pytest.mark.parametrize("order", [1, 4])
def test_bleu_is_drawn_from_its_counts_as_if_every_resample_were_scored(order: int) -> None:
    candidates, references = texts(1, 15)
    images = list(range(15))
    (score,) = score_captions(Captions(candidates, references), [f"BLEU-{order}"]).values()
    result = interval(score, Bootstrap(images, resamples=60, seed=4))
    rng = np.random.default_rng(4)
    drawn = []
    for times in rng.multinomial(15, np.full(15, 1 / 15), size=60):
        again = [image for image in images for _ in range(times[image])]
        cut = [candidates[k].split() for k in again], [[r.split() for r in references[k]] for k in again]
        drawn.append(bleu(*cut).corpus()[order - 1])
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(drawn, tails(0.95, 15))))
    assert (
        result.value
        == score.value
        == bleu(
            [text.split() for text in candidates],
            [[r.split() for r in reference] for reference in references],
        ).corpus()[order - 1]
    )
    assert result.low is not None and result.low < score.value < (result.high or 0)


def test_means_have_the_interval_of_other_means() -> None:
    candidates, references = texts(2, 20)
    bootstrap = Bootstrap([f"{k}.jpg" for k in range(20)], resamples=200, level=0.9, seed=1)
    for score in score_captions(Captions(candidates, references), MEANS).values():
        result, other_figure_interval = (
            interval(score, bootstrap),
            figure_interval(score.per_item, bootstrap),
        )
        assert (result.value, result.low, result.high) == pytest.approx(
            (other_figure_interval.value, other_figure_interval.low, other_figure_interval.high)
        )
        assert (result.items, result.level, result.resamples, result.clusters) == (20, 0.9, 200, 20)


def test_captions_of_one_image_are_drawn_together() -> None:
    candidates, references = texts(3, 12)
    (score,) = score_captions(Captions(candidates, references), ["ROUGE-L"]).values()
    bootstrap = Bootstrap([k // 3 for k in range(12)], resamples=100)
    result, other_figure_interval = (
        interval(score, bootstrap),
        figure_interval(score.per_item, bootstrap),
    )
    assert (result.low, result.high) == pytest.approx((other_figure_interval.low, other_figure_interval.high))
    assert result.clusters == 4


def test_a_figure_without_resamples_has_no_interval_and_few_images_a_remark() -> None:
    (score,) = score_captions(Captions(["a dog"], [["a cat"]]), ["BLEU-1"]).values()
    assert interval(score, None).reason == "" and interval(score, None).low is None
    assert "a bootstrap of 1 image, fewer than 10" in interval(score, Bootstrap(["a"])).reason
    with pytest.raises(AgreementError, match="2 clusters for 1 items"):
        interval(score, Bootstrap(["a", "b"]))


def test_meteor_has_the_interval_of_its_statistics(stand_in: Path) -> None:
    candidates, references = texts(5, 30)
    (score,) = score_captions(Captions(candidates, references), ["METEOR"]).values()
    result = interval(score, Bootstrap(range(30), resamples=50))
    assert result.value == pytest.approx(score.value)
    assert result.low is not None and result.low < score.value < (result.high or 0)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), images=st.integers(2, 8), captions_per_image=st.integers(1, 2))
def test_differences_are_those_of_scoring_both_sets_in_every_resample_and_change_sign_with_their_order(
    seed: int, images: int, captions_per_image: int
) -> None:
    candidates, references = texts(seed, images * captions_per_image)
    others, _ = texts(seed + 1, images * captions_per_image)
    measures = ("BLEU-4", "ROUGE-L", "CIDEr-D")

    def scores(value: list[str], items: list[int]) -> dict[str, CaptionScore]:
        again = [references[k] for k in items]
        chosen = Captions([value[k] for k in items], again, tokens="own", documents=references)
        return score_captions(chosen, measures)

    clusters = [item // captions_per_image for item in range(images * captions_per_image)]
    whole = list(range(images * captions_per_image))
    first, second = scores(candidates, whole), scores(others, whole)
    draws = np.random.default_rng(seed).multinomial(images, np.full(images, 1 / images), size=6)
    drawn: dict[str, list[float]] = {name: [] for name in measures}
    for times in draws:
        items = [item for item in whole for _ in range(times[clusters[item]])]
        both = scores(candidates, items), scores(others, items)
        for name in measures:
            drawn[name].append(both[1][name].value - both[0][name].value)
    how = Resampling(6, seed=seed)
    for name in measures:
        result = difference(second[name], first[name], clusters, how)
        turned = difference(first[name], second[name], clusters, how)
        assert result.difference == pytest.approx(second[name].value - first[name].value)
        bounds = np.quantile(drawn[name], tails(0.95, images))
        assert (result.low, result.high) == pytest.approx(tuple(bounds), abs=1e-9)
        assert turned.low is not None and turned.high is not None
        assert (turned.difference, turned.low, turned.high) == pytest.approx(
            (-result.difference, -bounds[1], -bounds[0]), abs=1e-9
        )


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), images=st.integers(2, 6), captions_per_image=st.integers(1, 2))
def test_the_randomisation_exchanges_whole_images_and_scores_both_sets_again(
    seed: int, images: int, captions_per_image: int
) -> None:
    candidates, references = texts(seed, images * captions_per_image)
    others, _ = texts(seed + 1, images * captions_per_image)
    measures, rounds = ("BLEU-2", "BLEU-4", "CIDEr-D"), 24
    clusters = [item // captions_per_image for item in range(images * captions_per_image)]

    def scores(value: list[str]) -> dict[str, CaptionScore]:
        return score_captions(Captions(value, references, tokens="own"), measures)

    first, second = scores(candidates), scores(others)
    as_large = dict.fromkeys(measures, 0)
    (bits,) = randomisation._bits(rounds, images, seed)
    for row in bits:
        mine = [(others if row[c] else candidates)[k] for k, c in enumerate(clusters)]
        theirs = [(candidates if row[c] else others)[k] for k, c in enumerate(clusters)]
        both = scores(mine), scores(theirs)
        for name in measures:
            seen = abs(second[name].value - first[name].value)
            as_large[name] += abs(both[0][name].value - both[1][name].value) >= seen - 1e-9
    for name in measures:
        row = difference(second[name], first[name], clusters, Resampling(0, seed=seed), rounds)
        assert row.p == (as_large[name] + 1) / (rounds + 1) and row.low is None


def test_means_are_tested_as_other_means_and_holm_adjusts_all_tests() -> None:
    rng = np.random.default_rng(3)
    values = rng.random((3, 40))
    values[:, 5] = np.nan
    images = [k // 2 for k in range(40)]
    added = {name: mean_sums(row) for name, row in zip("abc", values, strict=True)}
    figures = [SummedFigure("m", added, mean_of, images), SummedFigure("n", added, mean_of, range(40))]
    rows = differences_from_first(figures, Resampling(0, seed=2), rounds=400)
    assert [(row.measure, row.system) for row in rows] == [("m", "b"), ("m", "c"), ("n", "b"), ("n", "c")]
    for row in rows:
        clusters = images if row.measure == "m" else None
        test = randomisation.of_mean(
            values["abc".index(row.system)], values[0], images=clusters, rounds=400, seed=2
        )
        assert row.difference == pytest.approx(test.difference)
        if row.measure == "m":  # with the same random bits
            assert row.p == test.p
    assert [row.adjusted for row in rows] == holm(np.array([row.p for row in rows], np.float64)).tolist()
    (same,) = differences_from_first(
        [SummedFigure("m", {"a": added["a"], "b": added["a"]}, mean_of, images)], Resampling(9), rounds=9
    )
    assert (same.difference, same.low, same.high, same.p, same.adjusted) == (0, 0, 0, 1, 1)


def test_a_mean_over_categories_is_drawn_as_if_every_resample_were_computed_in_a_loop() -> None:
    """mAP, with three categories; one phrase in four belongs to two."""
    rng = np.random.default_rng(7)
    values, resamples = rng.random((2, 25)), 40
    belongs = [[k % 3, (k + 1) % 3] if k % 4 == 0 else [k % 3] for k in range(25)]

    def figure(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        added, counted = totals[:, :3], totals[:, 3:]
        means = np.divide(added, counted, out=np.zeros_like(added), where=counted > 0)
        return np.asarray(means.sum(axis=1) / (counted > 0).sum(axis=1))

    def slowly(precisions: NDArray[np.float64], phrases: list[int]) -> float:
        of_categories = [[precisions[k] for k in phrases if c in belongs[k]] for c in range(3)]
        return float(np.mean([np.mean(held) for held in of_categories if held]))

    added = {}
    for name, precisions in zip("ab", values, strict=True):
        added[name] = np.zeros((25, 6))
        for k, of_phrase in enumerate(belongs):
            for c in of_phrase:
                added[name][k, c], added[name][k, 3 + c] = precisions[k], 1
    (row,) = differences_from_first(
        [SummedFigure("mAP", added, figure, range(25), "phrase")], Resampling(resamples, seed=3), rounds=0
    )
    drawn = []
    for times in np.random.default_rng(3).multinomial(25, np.full(25, 1 / 25), size=resamples):
        phrases = [k for k in range(25) for _ in range(times[k])]
        drawn.append(slowly(values[1], phrases) - slowly(values[0], phrases))
    assert row.difference == pytest.approx(slowly(values[1], [*range(25)]) - slowly(values[0], [*range(25)]))
    assert (row.low, row.high) == pytest.approx(tuple(np.quantile(drawn, tails(0.95, 25))))
