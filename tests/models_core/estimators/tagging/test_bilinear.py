"""The bilinear map of images and tags: scores by hand, unseen tags, checkpoints, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from models_core.checkpoints import Checkpoints
from models_core.estimators.base import Dataset, FitContext
from models_core.estimators.predictors import CandidateTags
from models_core.estimators.tagging.bilinear import BilinearTagger
from models_core.estimators.tagging.held_out import held_out_precision, known_tags
from models_core.estimators.tagging.settings import BilinearSettings
from tests.models_core.estimators.tagging.pictures import tagged_pictures, tags_of

FEW = BilinearSettings(rates=(0.003, 0.03), epochs=4, batch=8)
PRINTED = BilinearSettings(rates=(0.0001,), epochs=10, choose_epoch=False)


class Killed(Exception):
    """Raised by a progress bar."""


def held():
    """Return a map of two numbers and tags of two, for two images, without training."""
    model = BilinearTagger(PRINTED)
    model.weights_ = np.array([[1.0, 0.0], [0.0, 2.0]])
    model.centres_ = np.array([[1, 0], [3, 4]], np.float32)
    return model


def test_scores_are_those_of_equations_1_and_10_by_hand():
    model, images = held(), np.array([[3.0, 4.0]])
    tags = CandidateTags(("a", "b", "new"), np.array([0, 1, -1]), np.array([[1.0, 0], [0, 1], [1, 1]]))
    np.testing.assert_allclose(model.score_tags(images, tags), [[3, 8, 11]])
    # W t is (1, 0), (0, 2) and (1, 2); the image has length 5.
    s1 = [3 / 5, 8 / (5 * 2), 11 / (5 * np.sqrt(5))]
    np.testing.assert_allclose(model.score_tags(images, tags, "s1"), [s1])
    np.testing.assert_allclose(model.score_tags(images, tags, "s2"), [[3 / 5, 1, 0]])
    np.testing.assert_allclose(
        model.score_tags(images, tags, "mean"), [[(s1[0] + 0.6) / 2, (s1[1] + 1) / 2, s1[2] / 2]]
    )


def test_it_learns_the_order_of_tags_and_chooses_on_held_out_images():
    train, new = tagged_pictures(200, held_out=40)
    model = BilinearTagger(replace(FEW, epochs=15)).fit(train, new, FitContext())
    assert model.tried_[:2, 0].tolist() == list(FEW.rates) and len(model.curve_) == 15
    chosen = model.tried_[model.tried_[:, 2].argmax()]
    assert (model.rate_, model.epoch_) == (chosen[0], chosen[1])
    assert model.curve_[model.epoch_ - 1, 2] == chosen[2] == model.curve_[:, 2].max()
    figure = held_out_precision(model.score_tags(new.images, known_tags(new.captions)), new.captions)
    assert figure == pytest.approx(chosen[2]) and figure > 0.75
    assert model.curve_[-1, 1] < model.curve_[0, 1]


def test_the_printed_setting_keeps_its_last_epoch_and_needs_no_held_out_images():
    train, new = tagged_pictures(30, held_out=10)
    model = BilinearTagger(PRINTED).fit(train, None, FitContext())
    assert (model.rate_, model.epoch_, len(model.curve_)) == (0.0001, 10, 10)
    again = BilinearTagger(PRINTED).fit(train, new, FitContext())
    np.testing.assert_array_equal(again.weights_, model.weights_)


def test_the_first_step_is_adams_from_zero():
    train, _ = tagged_pictures(5)
    settings = replace(PRINTED, epochs=1, batch=5)
    model = BilinearTagger(settings).fit(train, None, FitContext())
    # Adam's first step is the rate times the negative sign of the gradient.
    assert np.abs(model.weights_).max() == pytest.approx(0.0001, rel=1e-3)


def test_tags_that_were_never_learned_from_rank_above_chance():
    """Images are of things with traits; a tag's vector has the traits of its thing."""
    rng = np.random.default_rng(0)
    traits, looks = rng.standard_normal((60, 4)), rng.standard_normal((4, 10))
    traits /= np.linalg.norm(traits, axis=1, keepdims=True)

    def displayed(count, things):
        item = [rng.permutation(things)[:3] for _ in range(count)]
        pictures = np.array([traits[values].T @ [1, 0.5, 0.25] for values in item]) @ looks
        views = {"images": pictures, "captions": tags_of(item, 60, traits)}
        return Dataset(views, {("captions", "images"): np.arange(count)})

    known = np.arange(40)
    model = BilinearTagger(FEW).fit(displayed(200, known), displayed(30, known), FitContext())
    new = displayed(200, np.arange(40, 60))
    result = model.score_tags(new.images, CandidateTags(("",) * 20, np.full(20, -1), traits[40:]))
    first = np.array([new.captions.item(index)[0] - 40 for index in range(200)])
    values = np.take_along_axis(result, first[:, None], axis=1)
    assert np.mean(result < values) > 0.75, "half would be chance"


@pytest.mark.parametrize("at", [10, 24])
def test_a_training_that_was_killed_ends_as_one_that_was_not(tmp_path, at):
    train, new = tagged_pictures(40, held_out=12)
    few = replace(FEW, epochs=3)
    whole = BilinearTagger(few).fit(train, new, FitContext())
    messages = []

    def kill(*item):
        messages.append(item)
        if len(messages) == at:
            raise Killed

    def context(folder, progress):
        clock = iter(range(0, 10**6, 50))  # every third step is late enough to be stored
        checkpoints = Checkpoints(folder, {"seed": 0}, clock=lambda: next(clock))
        return FitContext(progress=progress, checkpoints=checkpoints)

    with pytest.raises(Killed):
        BilinearTagger(few).fit(train, new, context(tmp_path, kill))
    steps = []
    model = BilinearTagger(few).fit(train, new, context(tmp_path, lambda *item: steps.append(item)))
    assert 0 < steps[0][1] < at and steps[-1][1] == steps[-1][2] == len(whole.tried_) * 3 * 5
    assert steps[0][1] % 5, "in the middle of an epoch"
    for name in ("weights_", "centres_", "tried_", "curve_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(whole, name))
    assert (model.rate_, model.epoch_) == (whole.rate_, whole.epoch_)


def test_what_it_cannot_learn_from_is_named_in_a_line():
    train, new = tagged_pictures(20, held_out=10)

    def error(match, images=None, tags=None, held_out=new, settings=FEW):
        views = {"images": train.images, "captions": train.captions}
        views |= {} if images is None else {"images": images}
        views |= {} if tags is None else {"captions": tags}
        with pytest.raises(ValueError, match=match) as message:
            BilinearTagger(settings).fit(Dataset(views, train.links), held_out, FitContext())
        assert "\n" not in str(message.value)

    broken = np.array(train.images)
    broken[2, 1] = np.nan
    error(r"images is nan at \(2, 1\)", images=broken)
    error("tags have no word vectors; give some", tags=replace(train.captions, vectors=None))
    vectors = np.array(train.captions.vectors)
    vectors[0, 0] = np.inf
    error(r"tag vectors is inf at \(0, 0\)", tags=replace(train.captions, vectors=vectors))
    error("no image has a known tag", tags=tags_of([[]] * 20, 8, train.captions.vectors))
    bare = Dataset({**new.views, "captions": tags_of([[]] * 10, 8, train.captions.vectors)}, new.links)
    error("no image has a known tag", held_out=bare)
    error("rate and epoch are chosen on held-out images", held_out=None)
    narrow = Dataset({**new.views, "images": new.images[:, :4]}, new.links)
    error("held-out images of 4 numbers against 10; expected the same", held_out=narrow)


def test_what_it_cannot_score_is_named_in_a_line():
    model, tags = held(), CandidateTags(("a",), np.array([0]), np.ones((1, 2)))
    for images, value, match in (
        (np.ones((1, 3)), tags, "images of 3 numbers against 2; expected the same"),
        (np.full((1, 2), np.nan), tags, "every entry must be a finite number"),
        (np.ones((1, 2)), replace(tags, vectors=np.ones((1, 5))), "tag vectors of 5 numbers against 2"),
        (np.ones((1, 2)), replace(tags, vectors=None), "tags have no word vectors"),
    ):
        with pytest.raises(ValueError, match=match):
            model.score_tags(images, value)
