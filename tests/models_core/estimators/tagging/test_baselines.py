"""Baselines of taggers: by hand, and support vector machines compared with scikit-learn's."""

import numpy as np
import pytest

from models_core.estimators.base import Dataset, FitContext
from models_core.estimators.predictors import CandidateTags
from models_core.estimators.tagging.baselines import NeighbourVotes, RandomTags, TagFrequency
from models_core.estimators.tagging.held_out import held_out_precision, presence
from models_core.estimators.tagging.settings import (
    FrequencySettings,
    NeighbourSettings,
    RandomSettings,
    TagSVMSettings,
)
from models_core.estimators.tagging.svm import TagSVM, linear_svms
from tests.models_core.estimators.neural.sentences import LINK
from tests.models_core.estimators.tagging.pictures import tagged_pictures, tags_of

#: Three images on a line, with tags 0 to 2.
LINE = Dataset(
    {"images": np.array([[0.0], [1.0], [3.0]]), "captions": tags_of([[0, 1], [1], [2]], 3)},
    {LINK: np.arange(3)},
)
#: The tags of the line in another order, and an unknown one.
CANDIDATES = CandidateTags(("c", "new", "b", "a"), np.array([2, -1, 1, 0]))


def test_frequency_is_the_share_of_training_images_and_nothing_for_other_tags():
    model = TagFrequency(FrequencySettings()).fit(LINE, None, FitContext())
    np.testing.assert_allclose(model.score_tags(np.ones((2, 1)), CANDIDATES), [[1 / 3, 0, 2 / 3, 1 / 3]] * 2)


def test_a_random_order_depends_on_seed_and_image_alone():
    created = [RandomTags(RandomSettings()).fit(LINE, None, FitContext(seed)) for seed in (0, 0, 1)]
    result = [model.score_tags(LINE.images, CANDIDATES) for model in created]
    np.testing.assert_array_equal(result[0], result[1])
    assert (result[0] != result[2]).all() and len(np.unique(result[0])) == result[0].size


def test_neighbours_vote_by_distance():
    settings = NeighbourSettings(neighbours=(2,), decays=(2.0,))
    model = NeighbourVotes(settings).fit(LINE, None, FitContext())
    result = model.score_tags(np.array([[0.25]]), CANDIDATES)[0]
    # Images 0 and 1 at 0.25 and 0.75: weights exp(-2/3) and exp(-2), as shares of their sum.
    near = np.exp(-2 / 3) / (np.exp(-2 / 3) + np.exp(-2))
    np.testing.assert_allclose(result, [0, 0, 1, near], atol=1e-5)
    assert result[0] > 0, "the tag of no neighbour goes by frequency"


def test_settings_of_neighbours_are_chosen_on_held_out_images():
    train, new = tagged_pictures(80, held_out=30)
    model = NeighbourVotes(NeighbourSettings()).fit(train, new, FitContext())
    best = model.tried_[model.tried_[:, 2].argmax()]
    assert (model.neighbours_, model.decay_) == tuple(best[:2]) and len(model.tried_) >= 15


def test_support_vector_machines_are_those_of_scikit_learn():
    from sklearn.svm import LinearSVC

    train, _ = tagged_pictures(60, things=5)
    signs = 2 * presence(train.captions) - 1
    for cost in (0.1, 10.0):
        settings = TagSVMSettings(costs=(cost,), tolerance=1e-8, steps=3000)
        result = linear_svms(np.asarray(train.images, float), signs, cost, settings)
        for tag in range(5):
            linear_svc = LinearSVC(loss="squared_hinge", C=cost, tol=1e-10, max_iter=100_000)
            linear_svc.fit(train.images, signs[:, tag])
            np.testing.assert_allclose(result[:-1, tag], linear_svc.coef_[0], atol=1e-4)
            assert result[-1, tag] == pytest.approx(linear_svc.intercept_[0], abs=1e-4)


def test_a_tag_of_too_few_images_gets_no_classifier_and_the_cost_is_chosen_on_held_out_images():
    train, new = tagged_pictures(60, held_out=30)
    often = int(presence(train.captions).sum(axis=0).min()) + 1
    model = TagSVM(TagSVMSettings(least_images=often)).fit(train, new, FitContext())
    rare = int(presence(train.captions).sum(axis=0).argmin())
    assert not model.weights_[:-1, rare].any()
    assert model.weights_[-1, rare] == pytest.approx(2 * (often - 1) / 60 - 1)
    assert model.cost_ == model.tried_[model.tried_[:, 1].argmax(), 0]
    candidate_tags = CandidateTags(("", ""), np.array([-1, 0]))
    assert (model.score_tags(new.images, candidate_tags)[:, 0] == -1).all()


def test_held_out_precision_is_that_of_the_metric():
    from phrasebox.metrics.tagging import precision_at

    rng = np.random.default_rng(0)
    item = [rng.permutation(12)[: rng.integers(0, 9)].tolist() for _ in range(40)]
    scores = rng.integers(0, 4, (40, 12)).astype(float)
    expected = [precision_at(scores, item, k) for k in (1, 5)]
    assert held_out_precision(scores, tags_of(item, 12)) == pytest.approx(np.nanmean(expected))


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (NeighbourVotes(NeighbourSettings()), "neighbours are chosen on held-out images"),
        (TagSVM(TagSVMSettings()), "the cost is chosen on held-out images"),
    ],
)
def test_choosing_needs_held_out_images(model, match):
    with pytest.raises(ValueError, match=match):
        model.fit(LINE, None, FitContext())


@pytest.mark.parametrize(
    "model",
    [
        NeighbourVotes(NeighbourSettings(neighbours=(2,), decays=(0.0,))),
        TagSVM(TagSVMSettings(costs=(1.0,))),
    ],
)
def test_images_of_another_width_and_numbers_that_are_not_finite_are_refused(model):
    model.fit(LINE, None, FitContext())
    with pytest.raises(ValueError, match="images of 2 numbers against 1; expected the same"):
        model.score_tags(np.ones((1, 2)), CANDIDATES)
    with pytest.raises(ValueError, match="every entry must be a finite number"):
        model.score_tags(np.array([[np.nan]]), CANDIDATES)
