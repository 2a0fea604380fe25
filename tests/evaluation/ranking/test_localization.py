"""Phrases in pictures: against counting pixels, and a detector's evaluation written out step by step."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.localization import (
    Regions,
    average_precision,
    average_precisions,
    first_right,
    iou,
    recall,
    suppress,
    union_box,
    upper_bound,
)


@st.composite
def boxes(draw: st.DrawFn) -> list[int]:
    left, top = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    return [left, top, left + draw(st.integers(0, 9)), top + draw(st.integers(0, 9))]


def pixels(box: list[int]) -> set[tuple[int, int]]:
    return {(x, y) for x in range(box[0], box[2] + 1) for y in range(box[1], box[3] + 1)}


@given(boxes(), boxes())
def test_overlap_is_counted_in_pixels_with_both_corners_inside(one, other):
    expected = len(pixels(one) & pixels(other)) / len(pixels(one) | pixels(other))
    assert iou(one, other) == pytest.approx(expected)


def test_a_phrase_of_several_boxes_has_the_box_around_them():
    assert union_box([[1, 5, 3, 7], [2, 0, 9, 6]]).tolist() == [1, 0, 9, 7]


def test_half_overlap_is_right_and_less_is_not():
    gold = [[0, 0, 9, 9]]
    assert first_right([[0, 0, 9, 4]], [0], gold).tolist() == [1]  # exactly one half
    assert first_right([[0, 0, 9, 3]], [0], gold).tolist() == [math.inf]


def test_a_phrase_without_a_prediction_is_missed_and_stays_in_the_denominator():
    ranks = first_right([[50, 50, 60, 60], [0, 0, 9, 9]], [0, 0], [[0, 0, 9, 9], [0, 0, 9, 9]])
    assert ranks.tolist() == [2, math.inf]
    assert recall(ranks, 1).mean() == 0
    assert recall(ranks, 10).mean() == 0.5
    assert upper_bound(ranks).mean() == 0.5


def test_phrases_may_come_in_any_order():
    gold = [[0, 0, 9, 9], [20, 20, 29, 29]]
    regions = [[20, 20, 29, 29], [50, 50, 51, 51], [0, 0, 9, 9]]
    assert first_right(regions, [1, 0, 0], gold).tolist() == [2, 1]


def test_no_phrases_and_no_regions_are_no_fault():
    assert first_right([], [], []).shape == (0,)
    assert suppress([], [], []).shape == (0,)


def plain_suppression(found, images, scores, threshold):
    kept: list[int] = []
    for n in sorted(range(len(found)), key=lambda n: (-scores[n], n)):
        if all(images[n] != images[m] or iou(found[n], found[m]) <= threshold for m in kept):
            kept.append(n)
    return sorted(kept)


def plain_average_precision(found, images, scores, gold, gold_images):
    used: set[int] = set()
    points = []
    right = 0
    for n, detection in enumerate(sorted(range(len(found)), key=lambda n: (-scores[n], n)), start=1):
        own = [g for g in range(len(gold)) if gold_images[g] == images[detection]]
        best = max(own, key=lambda g: (float(iou(found[detection], gold[g])), -g), default=None)
        if best is not None and iou(found[detection], gold[best]) >= 0.5 and best not in used:
            used.add(best)
            right += 1
        points.append((right / len(gold), right / n))
    area, reached = 0.0, 0.0
    for at, (share, _) in enumerate(points):
        area += (share - reached) * max(precision for _, precision in points[at:])
        reached = share
    return area


DETECTIONS = st.lists(st.tuples(boxes(), st.integers(0, 2), st.integers(0, 3)), max_size=12)


@given(DETECTIONS, st.sampled_from([0.3, 0.5]))
def test_suppression_keeps_what_no_better_region_of_its_image_overlaps(detections, threshold):
    found, images, scores = zip(*detections, strict=True) if detections else ((), (), ())
    kept = suppress(found, images, scores, threshold=threshold)
    assert kept.tolist() == plain_suppression(found, images, scores, threshold)


@given(DETECTIONS, st.lists(st.tuples(boxes(), st.integers(0, 2)), min_size=1, max_size=6))
def test_average_precision_is_the_area_under_precision_made_falling(detections, golds):
    found, images, scores = zip(*detections, strict=True) if detections else ((), (), ())
    gold, gold_images = zip(*golds, strict=True)
    expected = plain_average_precision(found, images, scores, gold, gold_images)
    assert average_precision(found, images, scores, gold, gold_images) == pytest.approx(expected)


def test_a_second_detection_of_a_box_is_wrong():
    twice = [[0, 0, 9, 9], [0, 0, 9, 9], [20, 0, 29, 9]]
    gold = [[0, 0, 9, 9], [20, 0, 29, 9]]
    assert average_precision(twice, [0, 0, 0], [3, 2, 1], gold, [0, 0]) == pytest.approx((1 + 2 / 3) / 2)


def test_phrases_are_judged_one_by_one_after_suppression():
    regions = Regions(
        np.array([0, 0, 1]),
        np.array([0, 0, 0]),
        np.array([[0.0, 0, 9, 9], [0, 0, 9, 9], [0, 0, 9, 9]]),
        np.array([2.0, 1.0, 1.0]),
    )
    gold = Regions(np.array([0, 1]), np.array([0, 1]), np.array([[0.0, 0, 9, 9]] * 2), np.zeros(2))
    found = average_precisions(regions, gold, phrases=3)
    assert found[:2].tolist() == [1.0, 0.0]
    assert math.isnan(found[2])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: iou([0, 0, 1], [0, 0, 1, 1]), r"shape \(3,\); expected \(..., 4\)"),
        (lambda: iou([[0, 0, 5, 5], [3, 0, 2, 5]], [0, 0, 1, 1]), r"box \(1,\) is \[3.0, 0.0, 2.0, 5.0\]"),
        (lambda: iou([0, 0, math.nan, 5], [0, 0, 1, 1]), "expected numbers, xmin <= xmax"),
        (lambda: union_box([]), "no box to put one around"),
        (lambda: first_right([[0, 0, 1, 1]], [], []), "1 regions of 0 phrases"),
        (
            lambda: first_right([[0, 0, 1, 1]], [1], [[0, 0, 1, 1]]),
            "region 0 is of phrase 1; expected 0 to 0",
        ),
        (lambda: suppress([[0, 0, 1, 1]], [0], [math.nan]), "score of region 0 is NaN"),
    ],
)
def test_what_cannot_be_localized_is_refused_in_one_line(ask: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message) as caught:
        ask()
    assert "\n" not in str(caught.value)
