"""B-cubed and box scores compared with independent computations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.merging import canonical_layer
from annotation.protocol.scores import b_cubed, compare_layers, matched_iou
from annotation.protocol.terms import Box, Chain
from tests.protocol.build import mentions

labels = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
    )
)


def clusters(assigned):
    return [[str(i) for i, label in enumerate(assigned) if label == k] for k in sorted(set(assigned))]


@given(labels)
def test_b_cubed_equals_counting_pairs(both):
    result, gold = both
    n = len(result)
    same = [[(result[i] == result[j], gold[i] == gold[j]) for j in range(n)] for i in range(n)]
    precision = sum(sum(f and g for f, g in row) / sum(f for f, _ in row) for row in same) / n
    recall = sum(sum(f and g for f, g in row) / sum(g for _, g in row) for row in same) / n
    scores = b_cubed(clusters(result), clusters(gold))
    assert scores.precision == pytest.approx(precision) and scores.recall == pytest.approx(recall)
    assert scores.f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_a_mention_the_other_side_lacks_scores_nothing():
    scores = b_cubed([["a"], ["b"]], [["a"], ["c"], ["d"]])
    assert (scores.precision, scores.recall) == (1 / 2, 1 / 3)


def test_missing_and_superfluous_boxes_both_cost():
    box, two = Box(1, 1, 10, 10), Box(50, 50, 60, 60)
    assert matched_iou([box], [box]) == 1.0
    assert matched_iou([box], [box, two]) == 0.5 == matched_iou([two, box], [box])
    assert matched_iou([], [box]) == 0.0


def test_a_layer_equals_itself_and_kinds_are_told_apart():
    ball, park = mentions("a ball/other, the park/scene")
    boxed = canonical_layer(
        [(Chain("1", (ball,)), (Box(1, 1, 5, 5),), ""), (Chain("2", (park,)), (), "scene")]
    )
    other_canonical_layer = canonical_layer(
        [(Chain("1", (ball,)), (Box(1, 1, 5, 5),), ""), (Chain("2", (park,)), (), "none")]
    )
    same = compare_layers(boxed, boxed)
    assert (same.f1, same.iou, same.kind_accuracy, same.boxed) == (1.0, 1.0, 1.0, 1)
    assert compare_layers(other_canonical_layer, boxed).kind_accuracy == 0.5
