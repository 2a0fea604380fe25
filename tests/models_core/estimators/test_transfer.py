"""Learning from clean and weak pairs: each method is the CCA that its definition says."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from models_core.estimators.base import Dataset, FitContext
from models_core.estimators.cca import CCA, CCASettings
from models_core.estimators.shared_pairs import write_pairs
from models_core.estimators.transfer.settings import (
    JointSettings,
    StackedSettings,
    TextFeatureSettings,
    WeakSettings,
)
from models_core.estimators.transfer.stacked import Stacked
from models_core.estimators.transfer.text_feature import TextFeature
from models_core.estimators.transfer.weak_pairs import Joint, WeakOnly
from tests.models_core.estimators.vectors import LINK, all_scores, every_pair, paired

ONE: dict[str, Any] = {"ridges": (0.1,), "powers": (1.0,)}


@pytest.fixture
def data():
    """Clean training pairs, held-out ones, and a context with weak pairs of the same world."""
    clean, held_out = paired(60, held_out=30, seed=4)
    weak, _ = paired(90, captions=1, noise=1.5, seed=4)
    return clean, held_out, FitContext(auxiliary={"weak": weak})


def cca_of(x, y, **settings):
    pairs = Dataset({"images": x, "captions": y}, {LINK: np.arange(len(x))})
    return CCA(CCASettings(**{"components": 5, **ONE, **settings})).fit(pairs, None, FitContext())


def assert_same_maps(found, wanted):
    for side in ("images_", "captions_"):
        np.testing.assert_allclose(getattr(found, side).weights, getattr(wanted, side).weights, atol=1e-7)
        np.testing.assert_allclose(getattr(found, side).mean, getattr(wanted, side).mean, atol=1e-9)


def test_weak_pairs_alone_are_learned_and_clean_ones_choose(data):
    clean, held_out, context = data
    found = WeakOnly(WeakSettings(5, **ONE)).fit(clean, None, context)
    assert_same_maps(found.cca_, cca_of(*every_pair(context.auxiliary["weak"])))
    chosen = WeakOnly(WeakSettings(5)).fit(clean, held_out, context)
    assert len(chosen.cca_.tried_) >= 20 and chosen.cca_.tried_[:, 2].max() > 0


def test_joint_training_counts_weak_pairs_by_the_square_of_their_factor(data):
    clean, _, context = data
    # Pairs that count four times are four pairs.
    found = Joint(JointSettings(5, **ONE, weight=2.0)).fit(clean, None, context)
    weak = every_pair(context.auxiliary["weak"])
    x, y = (np.vstack([own, *[other] * 4]) for own, other in zip(every_pair(clean), weak, strict=True))
    assert_same_maps(found.cca_, cca_of(x, y))


def test_the_text_feature_is_the_mean_text_of_the_nearest_weak_images(data):
    clean, held_out, context = data
    weak = context.auxiliary["weak"]
    found = TextFeature(TextFeatureSettings(5, **ONE, neighbours=3)).fit(clean, None, context)
    apart = np.linalg.norm(np.asarray(clean.images)[:, None] - weak.images, axis=2)
    nearest = np.argsort(apart, axis=1)[:, :3]
    wanted = np.asarray(weak.captions)[nearest].mean(axis=1)
    np.testing.assert_allclose(found.text_features(clean.images), wanted, atol=1e-5)
    scale = np.sqrt(np.var(clean.images, axis=0).mean() / wanted.var(axis=0).mean())
    assert found.scale_ == pytest.approx(scale, rel=1e-5)
    x, y = np.hstack([clean.images, scale * wanted])[clean.image_of], clean.captions
    np.testing.assert_allclose(found.cca_.correlations_, cca_of(x, y).correlations_, atol=1e-5)
    assert all_scores(found, held_out, "annotation").shape == (30, 30)


def test_neighbours_do_not_depend_on_how_many_weak_images_are_compared_at_a_time(data, monkeypatch):
    clean, _, context = data
    found = TextFeature(TextFeatureSettings(5, **ONE, neighbours=4)).fit(clean, None, context)
    whole = found.text_features(clean.images)
    monkeypatch.setattr("models_core.estimators.transfer.text_feature._BLOCK", 7)
    np.testing.assert_allclose(found.text_features(clean.images), whole, atol=1e-6)


def test_several_texts_of_a_weak_image_are_averaged(data):
    clean, _, context = data
    weak = context.auxiliary["weak"]
    twice = Dataset(
        {"images": weak.images, "captions": sparse.csr_matrix(np.vstack([weak.captions, weak.captions * 3]))},
        {LINK: np.concatenate([weak.image_of, weak.image_of])},
    )
    settings = TextFeatureSettings(5, **ONE, neighbours=3)
    one, other = (
        TextFeature(settings).fit(clean, None, FitContext(auxiliary={"weak": own})) for own in (weak, twice)
    )
    np.testing.assert_allclose(
        other.text_features(clean.images), 2 * one.text_features(clean.images), rtol=1e-4
    )


@pytest.mark.parametrize("original", [True, False])
def test_stacking_is_a_cca_on_top_of_the_embedding_of_weak_pairs(data, original):
    clean, _, context = data
    settings = StackedSettings(5, **ONE, weak_components=4, mapping="linear", original=original)
    found = Stacked(settings).fit(clean, None, context)
    below = cca_of(*every_pair(context.auxiliary["weak"]), components=4)
    views = []
    for view, rows in zip(("images", "captions"), every_pair(clean), strict=True):
        embedded = below.embed(view, rows)
        own = getattr(clean, view)
        scale = np.sqrt(np.var(own, axis=0).mean() / below.embed(view, own).var(axis=0).mean())
        assert found.scales_[view] == pytest.approx(scale if original else 1.0)
        views.append(np.hstack([rows, scale * embedded]) if original else embedded)
    wanted = cca_of(*views)
    np.testing.assert_allclose(found.cca_.correlations_, wanted.correlations_, atol=1e-9)


@pytest.mark.parametrize("mapping", ["fourier", "linear"])
def test_both_sums_of_stacking_may_be_shared_with_other_processes(data, mapping, tmp_path):
    clean, held_out, context = data
    settings = StackedSettings(5, **ONE, weak_components=4, features=20, neighbour=5, mapping=mapping)
    asked = []

    def shared(images, captions, image_of, *, described=None):
        asked.append(described is not None)
        return write_pairs(tmp_path, images, captions, image_of, rows=16, described=described).total()

    found = Stacked(settings).fit(clean, None, FitContext(auxiliary=context.auxiliary, sum_pairs=shared))
    alone = Stacked(settings).fit(clean, None, context)
    assert asked == [False, True]
    np.testing.assert_allclose(
        all_scores(found, held_out, "search"), all_scores(alone, held_out, "search"), atol=1e-8
    )


def test_stacking_with_fourier_features_draws_by_the_seed_alone(data):
    clean, held_out, context = data
    settings = StackedSettings(5, **ONE, weak_components=4, features=20, neighbour=5)
    found = Stacked(settings).fit(clean, None, context)
    again = Stacked(settings).fit(clean, None, context)
    other = Stacked(settings).fit(clean, None, FitContext(1, auxiliary=context.auxiliary))
    first, second, third = (all_scores(model, held_out, "search") for model in (found, again, other))
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - third).max() > 1e-3
    rows = found.stacked("images", held_out.images)
    assert rows.shape == (30, 9 + 20)
    np.testing.assert_array_equal(rows[:, :9], held_out.images)
    embedded = found.weak_.embed("images", held_out.images)
    made = found.fourier_["images"]
    wanted = np.sqrt(2) * np.cos(embedded @ made.frequencies_ + made.phases_)
    np.testing.assert_allclose(rows[:, 9:], found.scales_["images"] * wanted)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (WeakOnly, WeakSettings(5)),
        (Joint, JointSettings(5)),
        (TextFeature, TextFeatureSettings(5)),
        (Stacked, StackedSettings(5)),
    ],
)
def test_without_weak_pairs_there_is_nothing_to_transfer(data, kind, settings):
    clean, held_out, _ = data
    with pytest.raises(ValueError, match="learns from weak pairs too; give a weak collection"):
        kind(settings).fit(clean, held_out, FitContext())
