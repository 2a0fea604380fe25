"""Intervals of captions' scores: compared with resamples that are scored again, one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phrasebox.agreement.estimates import AgreementError, Bootstrap, tails
from phrasebox.metrics.captioning import bleu
from phrasebox.metrics.captions import Captions, CaptionScore, score_captions
from phrasebox.significance.captions import NO_COUNTS, caption_difference, caption_interval
from phrasebox.significance.resampling import figure_interval

WORDS = "a dog cat runs sits on the mat red big".split()
MEANS = ("ROUGE-1", "BLEU_pre", "ROUGE-L", "CIDEr", "CIDEr-D")


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
    result = caption_interval(score, Bootstrap(images, resamples=60, seed=4))
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
            caption_interval(score, bootstrap),
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
        caption_interval(score, bootstrap),
        figure_interval(score.per_item, bootstrap),
    )
    assert (result.low, result.high) == pytest.approx((other_figure_interval.low, other_figure_interval.high))
    assert result.clusters == 4


def test_a_figure_says_why_it_has_no_interval() -> None:
    score = CaptionScore("METEOR", 0.5, np.array([0.4, 0.6]))
    assert caption_interval(score, Bootstrap([1, 2])).reason == NO_COUNTS
    assert caption_interval(score, None).reason == ""
    (of_nothing,) = score_captions(Captions([], []), ["BLEU-1"]).values()
    assert caption_interval(of_nothing, None).reason == "no image was scored"
    (score_caption,) = score_captions(Captions(["a dog"], [["a cat"]]), ["BLEU-1"]).values()
    assert "a bootstrap of 1 image, fewer than 10" in caption_interval(score_caption, Bootstrap(["a"])).reason
    with pytest.raises(AgreementError, match="2 clusters for 1 items"):
        caption_interval(score_caption, Bootstrap(["a", "b"]))


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
    bootstrap = Bootstrap(clusters, resamples=6, seed=seed)
    for name in measures:
        result = caption_difference(second[name], first[name], bootstrap)
        turned = caption_difference(first[name], second[name], bootstrap)
        assert result is not None and turned is not None
        assert result.value == pytest.approx(second[name].value - first[name].value)
        bounds = np.quantile(drawn[name], tails(0.95, images))
        assert (result.low, result.high) == pytest.approx(tuple(bounds), abs=1e-9)
        assert (turned.value, turned.low, turned.high) == pytest.approx(
            (-result.value, -result.high, -result.low), abs=1e-9
        )
        assert turned.p == result.p


def test_a_figure_without_sums_or_resamples_has_a_difference_without_interval() -> None:
    meteor = CaptionScore("METEOR", 0.5, np.array([0.4, 0.6]))
    (rouge,) = score_captions(Captions(*texts(4, 2)), ["ROUGE-L"]).values()
    assert caption_difference(meteor, meteor, Bootstrap([1, 2])) is None
    assert caption_difference(rouge, rouge, None) is None
    same = caption_difference(rouge, rouge, Bootstrap([1, 2]))
    assert same is not None and (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)
