"""The losses over ranked tags: by hand, compared with a slow sum, and their gradients with differences."""

import numpy as np
import pytest

from models_core.estimators.tagging.bilinear import bilinear_loss
from models_core.estimators.tagging.settings import TagLoss, delta_one, delta_two
from tests.models_core.estimators.tagging.pictures import tags_of

LOSSES = [
    TagLoss("sje-1"),
    TagLoss("sje-2"),
    TagLoss("listwise", 1),
    TagLoss("listwise", 3),
    TagLoss("listwise", 99),
]


def slow(loss, scores):
    """Equations 3 and 6 as printed, with ranks from 1, for one image's scores."""
    size = len(scores)

    def delta(k, i):
        return float(k != i) if loss.name == "sje-1" else 1 - 1 / (i - k + 1)

    def hinge(k, i):
        return max(0.0, delta(k, i) + scores[i - 1] - scores[k - 1])

    if loss.name != "listwise":
        return max((hinge(1, i) for i in range(1, size + 1)), default=0.0)
    return sum(hinge(k, i) for k in range(1, min(loss.top, size) + 1) for i in range(k + 1, size + 1))


def losses_by_image(scores):
    """Return scores of images with different numbers of tags, and a mask of the tags."""
    there = np.zeros((len(scores), max(map(len, scores))), bool)
    for row, own_score in enumerate(scores):
        there[row, : len(own_score)] = True
    padded = np.zeros(there.shape)
    padded[there] = np.concatenate([np.asarray(own_score, float) for own_score in scores])
    return padded, there


def test_deltas_are_those_of_equations_4_and_5():
    np.testing.assert_array_equal(delta_one(3), [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    np.testing.assert_allclose(delta_two(3), np.array([[0, 1 / 2, 2 / 3], [0, 0, 1 / 2], [0, 0, 0]]))


def test_losses_are_those_computed_by_hand():
    scores, there = losses_by_image([[0.3, 0.5, 0.1]])
    # D I: 1 + 0.5 - 0.3 = 1.2 and 1 + 0.1 - 0.3 = 0.8; D II: 0.5 + 0.2 = 0.7 and 2/3 - 0.2 = 0.4667.
    assert TagLoss("sje-1").of(scores, there)[0] == pytest.approx([1.2])
    assert TagLoss("sje-2").of(scores, there)[0] == pytest.approx([0.7])
    assert TagLoss("listwise", 1).of(scores, there)[0] == pytest.approx([0.7 + 2 / 3 - 0.2])
    # The second tag compared with the third: 0.5 + 0.1 - 0.5 = 0.1.
    assert TagLoss("listwise", 2).of(scores, there)[0] == pytest.approx([0.7 + 2 / 3 - 0.2 + 0.1])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_losses_equal_a_slow_sum(loss):
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal(size) for size in rng.integers(0, 9, 200)]
    result, gradient = loss.of(*losses_by_image(rows))
    np.testing.assert_allclose(result, np.array([slow(loss, row) for row in rows]), atol=1e-12)
    assert not gradient[~losses_by_image(rows)[1]].any(), "what is no tag has no part"


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradients_equal_finite_differences(loss):
    rng = np.random.default_rng(1)
    images, vectors = rng.standard_normal((6, 5)), rng.standard_normal((7, 4))
    tags = tags_of([rng.permutation(7)[: rng.integers(1, 7)] for _ in range(6)], 7, vectors)
    weights, batch = rng.standard_normal((5, 4)) / 3, np.array([5, 0, 3, 4])

    def value(at):
        return bilinear_loss(at, images, tags, vectors, loss, batch)[0] / len(batch)

    _, gradient = bilinear_loss(weights, images, tags, vectors, loss, batch)
    step = 1e-6
    for index in np.ndindex(weights.shape):
        ahead, behind = weights.copy(), weights.copy()
        ahead[index] += step
        behind[index] -= step
        assert gradient[index] == pytest.approx((value(ahead) - value(behind)) / (2 * step), abs=1e-6)
    assert np.abs(gradient).max() > 0.1


def test_a_top_of_one_is_sje_with_delta_ii_of_two_tags_and_else_the_sum_of_its_hinges():
    rng = np.random.default_rng(2)
    two, many = (
        losses_by_image(rng.standard_normal((50, 2)).tolist()),
        losses_by_image(rng.standard_normal((50, 6)).tolist()),
    )
    for got, expected in zip(TagLoss("listwise", 1).of(*two), TagLoss("sje-2").of(*two), strict=True):
        np.testing.assert_array_equal(got, expected)
    hinges = np.maximum(0, delta_two(6)[0] + many[0] - many[0][:, :1])[:, 1:]
    np.testing.assert_allclose(TagLoss("listwise", 1).of(*many)[0], hinges.sum(axis=1))
    np.testing.assert_allclose(TagLoss("sje-2").of(*many)[0], hinges.max(axis=1))
    assert (hinges.sum(axis=1) > hinges.max(axis=1)).any()
