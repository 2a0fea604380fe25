"""Tags among distractors, and average precision by tag and by image."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from phrasebox.metrics.scoring import evaluate
from phrasebox.metrics.tagging import (
    among_distractors,
    by_tag_and_image,
    draw_distractors,
    expected_precision_at,
    precision_at,
)


def test_precision_compares_the_best_of_the_pool_with_the_first_true_tags():
    # Tags 0, 1, 2 are true in this order; 3 is a distractor. Ranked: 1, 3, 0, 2.
    scores = [[2.0, 9.0, 1.0, 5.0]]
    expected = {1: 0, 2: 1 / 2, 3: 2 / 3}
    for k, share in expected.items():
        assert precision_at(scores, [[0, 1, 2]], k, distractors=[[3]])[0] == pytest.approx(share)


def test_without_distractors_precision_grows_to_one():
    scores = np.random.default_rng(0).random((200, 6))
    tags = [list(np.random.default_rng(n).permutation(6)) for n in range(200)]
    means = [precision_at(scores, tags, k).mean() for k in range(1, 7)]
    assert means == sorted(means)
    assert means[-1] == 1


def test_a_cut_beyond_the_true_tags_stops_at_them():
    assert precision_at([[3.0, 2.0, 1.0]], [[0, 1]], 5, distractors=[[2]])[0] == 1


def test_ties_count_against_the_true_tags():
    assert precision_at([[1.0, 1.0]], [[0]], 1, distractors=[[1]])[0] == 0


def test_an_image_without_tags_has_no_precision():
    assert math.isnan(precision_at([[1.0]], [[]], 1)[0])
    assert math.isnan(expected_precision_at([[]], 1)[0])


def test_a_random_order_reaches_what_is_expected_of_it():
    rng = np.random.default_rng(1)
    tags = [[0, 1, 2]] * 4000
    distractors = [[3, 4, 5]] * 4000
    for k in (1, 2, 3, 9):
        mean = precision_at(rng.random((4000, 6)), tags, k, distractors=distractors).mean()
        assert mean == pytest.approx(expected_precision_at(tags, k, distractors=distractors)[0], abs=0.03)


def test_distractors_are_tags_of_other_images_and_the_seed_s():
    tags = [[0, 1], [1, 2, 3], [4]]
    drawn = draw_distractors(tags, 2, seed=5)
    for tag, extra in zip(tags, drawn, strict=True):
        assert len(set(extra.tolist())) == 2
        assert not set(extra.tolist()) & set(tag)
    assert [d.tolist() for d in drawn] == [d.tolist() for d in draw_distractors(tags, 2, seed=5)]
    assert len(draw_distractors(tags, 99)[1]) == 2  # 0 and 4: there are no others


def test_map_is_the_mean_over_tags_and_miap_over_images():
    rng = np.random.default_rng(2)
    scores, relevant = rng.random((40, 14)), rng.random((40, 14)) < 0.3
    relevant[:, 3] = False  # averages exclude a tag without images
    tags, images = by_tag_and_image(scores, relevant)
    by_tag = [
        average_precision_score(relevant[:, t], scores[:, t]) for t in range(14) if relevant[:, t].any()
    ]
    by_image = [average_precision_score(relevant[i], scores[i]) for i in range(40) if relevant[i].any()]
    for ranked, name, there, expected in ((tags, "MAP", 0, by_tag), (images, "MiAP", 1, by_image)):
        values = evaluate(ranked, [name])[name].per_query[relevant.any(axis=there)]
        assert values.mean() == pytest.approx(np.mean(expected))


def test_wrong_tags_beside_are_as_columns_of_a_table_of_all():
    """Lists of different lengths, ties among listed tags too, and further tags that nobody lists."""
    rng = np.random.default_rng(4)
    for tags, more in ((12, 30), (5, 1), (4, 0)):
        table = np.full((25, tags + more), -np.inf)
        for row in table:
            listed = rng.permutation(tags + more)[: rng.integers(0, tags)]
            row[listed] = rng.integers(0, 6, len(listed))
        relevant = rng.random((25, tags)) < 0.3
        all_relevant = np.concatenate([relevant, np.zeros((25, more), bool)], axis=1)
        _, expected = by_tag_and_image(table, all_relevant)
        _, images = by_tag_and_image(table[:, :tags], relevant)
        others = [[score for score in row[tags:].tolist() if score > -np.inf] for row in table]
        result = among_distractors(images, table[:, :tags], others, more)
        np.testing.assert_array_equal(result.better, expected.better)
        np.testing.assert_array_equal(result.equal, expected.equal)
        np.testing.assert_array_equal(result.depth, expected.depth)
        measures = ["P@1", "P@5", "MiAP"]
        for name, figure in evaluate(expected, measures).items():
            np.testing.assert_array_equal(evaluate(result, measures)[name].per_query, figure.per_query)
    with pytest.raises(ValueError, match="image 0 has 2 further tags; expected 1 at most"):
        among_distractors(images, table[:, :tags], [[1.0, 2.0]], 1)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: precision_at([[1.0]], [[0], [0]], 1), r"shape \(1, 1\); expected \(2, tags\)"),
        (lambda: precision_at([[1.0]], [[0]], 0), "k is 0"),
        (lambda: precision_at([[1.0]], [[1]], 1), "image 0 has tag 1; expected 0 to 0"),
        (
            lambda: precision_at([[1.0, 2]], [[1]], 1, distractors=[[1]]),
            "tag 1 is in the pool of image 0 twice",
        ),
        (lambda: precision_at([[math.nan]], [[0]], 1), "score of image 0 with tag 0 is NaN"),
        (lambda: draw_distractors([[0]], -1), "-1 distractors"),
    ],
)
def test_what_cannot_be_tagged_is_refused_in_one_line(ask: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message) as caught:
        ask()
    assert "\n" not in str(caught.value)
