"""Phrases in pictures: compared with counting pixels, and with a detector's evaluation written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.metrics.localization import (
    Regions,
    average_precisions,
    best_detections,
    box_average_precision,
    box_recall,
    first_right,
    iou,
    suppress,
    union_box,
    upper_bound,
)
from tests.sizes import sized

#: Factor for the number of random cases in a thorough run: counting pixels is slow.
MORE = sized(1, 5)


@st.composite
def boxes(draw: st.DrawFn) -> list[int]:
    left, top = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    return [left, top, left + draw(st.integers(0, 9)), top + draw(st.integers(0, 9))]


def pixels(box: list[int]) -> set[tuple[int, int]]:
    return {(x, y) for x in range(box[0], box[2] + 1) for y in range(box[1], box[3] + 1)}


@given(boxes(), boxes())
def test_overlap_is_counted_in_pixels_with_both_corners_inside(first, second):
    expected = len(pixels(first) & pixels(second)) / len(pixels(first) | pixels(second))
    assert iou(first, second) == pytest.approx(expected)


def test_a_phrase_of_several_boxes_has_the_box_around_them():
    assert union_box([[1, 5, 3, 7], [2, 0, 9, 6]]).tolist() == [1, 0, 9, 7]


def test_half_overlap_is_right_and_less_is_not():
    gold = [[0, 0, 9, 9]]
    assert first_right([[0, 0, 9, 4]], [0], gold).tolist() == [1]  # exactly one half
    assert first_right([[0, 0, 9, 3]], [0], gold).tolist() == [math.inf]


def test_a_phrase_without_a_prediction_is_missed_and_stays_in_the_denominator():
    ranks = first_right([[50, 50, 60, 60], [0, 0, 9, 9]], [0, 0], [[0, 0, 9, 9], [0, 0, 9, 9]])
    assert ranks.tolist() == [2, math.inf]
    assert box_recall(ranks, 1).mean() == 0
    assert box_recall(ranks, 10).mean() == 0.5
    assert upper_bound(ranks).mean() == 0.5


def test_phrases_may_come_in_any_order():
    gold = [[0, 0, 9, 9], [20, 20, 29, 29]]
    regions = [[20, 20, 29, 29], [50, 50, 51, 51], [0, 0, 9, 9]]
    assert first_right(regions, [1, 0, 0], gold).tolist() == [2, 1]


def test_no_phrases_and_no_regions_are_no_fault():
    assert first_right([], [], []).shape == (0,)
    assert suppress([], [], []).shape == (0,)


def plain_suppression(result, images, scores, threshold):
    stored: list[int] = []
    for n in sorted(range(len(result)), key=lambda n: (-scores[n], n)):
        if all(images[n] != images[m] or iou(result[n], result[m]) <= threshold for m in stored):
            stored.append(n)
    return sorted(stored)


def plain_average_precision(result, images, scores, gold, gold_images):
    used: set[int] = set()
    points = []
    right = 0
    for n, detection in enumerate(sorted(range(len(result)), key=lambda n: (-scores[n], n)), start=1):
        values = [g for g in range(len(gold)) if gold_images[g] == images[detection]]
        best = max(values, key=lambda g: (float(iou(result[detection], gold[g])), -g), default=None)
        if best is not None and iou(result[detection], gold[best]) >= 0.5 and best not in used:
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
    result, images, scores = zip(*detections, strict=True) if detections else ((), (), ())
    stored = suppress(result, images, scores, threshold=threshold)
    assert stored.tolist() == plain_suppression(result, images, scores, threshold)


@given(DETECTIONS, st.lists(st.tuples(boxes(), st.integers(0, 2)), min_size=1, max_size=6))
def test_average_precision_is_the_area_under_precision_made_falling(detections, golds):
    result, images, scores = zip(*detections, strict=True) if detections else ((), (), ())
    gold, gold_images = zip(*golds, strict=True)
    expected = plain_average_precision(result, images, scores, gold, gold_images)
    assert box_average_precision(result, images, scores, gold, gold_images) == pytest.approx(expected)


def test_a_second_detection_of_a_box_is_wrong():
    twice = [[0, 0, 9, 9], [0, 0, 9, 9], [20, 0, 29, 9]]
    gold = [[0, 0, 9, 9], [20, 0, 29, 9]]
    assert box_average_precision(twice, [0, 0, 0], [3, 2, 1], gold, [0, 0]) == pytest.approx((1 + 2 / 3) / 2)


def test_phrases_are_judged_one_by_one_after_suppression():
    regions = Regions(
        np.array([0, 0, 1]),
        np.array([0, 0, 0]),
        np.array([[0.0, 0, 9, 9], [0, 0, 9, 9], [0, 0, 9, 9]]),
        np.array([2.0, 1.0, 1.0]),
    )
    gold = Regions(np.array([0, 1]), np.array([0, 1]), np.array([[0.0, 0, 9, 9]] * 2), np.zeros(2))
    result = average_precisions(regions, gold, phrases=3)
    assert result[:2].tolist() == [1.0, 0.0]
    assert math.isnan(result[2])


def bitmap(box: np.ndarray) -> int:
    """Return the pixels of a box on a grid of 16 x 16, a bit each: areas are counted, not computed."""
    left, top, right, bottom = (int(n) for n in box)
    row = ((1 << right - left + 1) - 1) << left
    return sum(row << 16 * y for y in range(top, bottom + 1))


def share(first: int, second: int) -> Fraction:
    return Fraction((first & second).bit_count(), (first | second).bit_count())


def brute_force(regions: Regions, gold: Regions, phrase: int) -> float:
    """Return one phrase's AP after suppression, over pixels and integers, and with another formula of AP.

    For each of m gold boxes: the best precision among the ranks at which this number of boxes is found, over
    m.
    """
    values = [n for n in range(len(regions.phrases)) if regions.phrases[n] == phrase]
    expected = [n for n in range(len(gold.phrases)) if gold.phrases[n] == phrase]
    seen = {n: bitmap(regions.boxes[n]) for n in values}
    ranked: list[int] = []
    for n in sorted(values, key=lambda n: -regions.scores[n]):
        rivals = [m for m in ranked if regions.images[m] == regions.images[n]]
        if not any(share(seen[n], seen[m]) > Fraction(3, 10) for m in rivals):
            ranked.append(n)
    result: list[int] = []
    taken: set[int] = set()
    for n in ranked:
        there = [g for g in expected if gold.images[g] == regions.images[n]]
        overlaps = [share(seen[n], bitmap(gold.boxes[g])) for g in there]
        right = (
            {there[overlaps.index(max(overlaps))]} if max(overlaps, default=0) >= Fraction(1, 2) else set()
        )
        result.append((result[-1] if result else 0) + len(right - taken))
        taken |= right
    if not expected:
        return math.nan
    precisions = [
        max((Fraction(hits, rank) for rank, hits in enumerate(result, start=1) if hits >= level), default=0)
        for level in range(1, len(expected) + 1)
    ]
    return float(sum(precisions) / Fraction(len(expected)))


def scattered(rng: np.random.Generator, number: int, gold: np.ndarray) -> np.ndarray:
    """Return boxes on the grid, most of them a slightly moved gold box."""
    if not len(gold):
        corners = rng.integers(0, 16, (number, 2, 2))
    else:
        corners = gold[rng.integers(0, len(gold), number)].reshape(-1, 2, 2).astype(int)
        corners = np.clip(corners + rng.integers(-1, 2, corners.shape), 0, 15)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1).astype(float)


def test_ap_after_suppression_is_the_brute_force_on_hundreds_of_random_cases():
    rng = np.random.default_rng(2015)
    phrases, images, suppressed, hits = 3, 2, 0, 0
    for _ in range(600 * MORE):
        m, n = int(rng.integers(0, 7)), int(rng.integers(0, 25))
        boxes = scattered(rng, m, np.empty(0))
        gold = Regions(rng.integers(0, phrases, m), rng.integers(0, images, m), boxes, np.zeros(m))
        # Few different scores: most are tied.
        scores = rng.integers(0, 6, n).astype(float)
        regions = Regions(
            rng.integers(0, phrases, n), rng.integers(0, images, n), scattered(rng, n, boxes), scores
        )
        expected = [brute_force(regions, gold, phrase) for phrase in range(phrases)]
        result = average_precisions(regions, gold, phrases=phrases)
        assert result == pytest.approx(np.array(expected), nan_ok=True, abs=1e-12)
        values = regions.of(0)
        suppressed += len(values.boxes) - len(suppress(values.boxes, values.images, values.scores))
        hits += int((np.nan_to_num(result) > 0).sum())
    assert suppressed > 200 * MORE and hits > 200 * MORE  # otherwise the cases would show nothing


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: iou([0, 0, 1], [0, 0, 1, 1]), r"shape \(3,\); expected \(..., 4\)"),
        (lambda: iou([[0, 0, 5, 5], [3, 0, 2, 5]], [0, 0, 1, 1]), r"box \(1,\) is \[3.0, 0.0, 2.0, 5.0\]"),
        (lambda: iou([0, 0, math.nan, 5], [0, 0, 1, 1]), "expected numbers, xmin <= xmax"),
        (lambda: union_box([]), "no boxes are given"),
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


@given(
    st.lists(st.tuples(boxes(), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=60),
    st.integers(1, 4),
)
def test_the_best_detections_are_the_first_that_suppressing_all_leaves(cases, most):
    result, images = [box for box, _, _ in cases], [image for _, image, _ in cases]
    # For tied scores the earlier region comes first.
    scores = np.array([float(score) for _, _, score in cases])
    whole = suppress(result, images, scores)
    expected = whole[np.argsort(-scores[whole], kind="stable")][:most]
    assert best_detections(scores, result, images, most).tolist() == expected.tolist()
