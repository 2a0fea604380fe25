"""Learning from clean and weak pairs: each method equals the CCA of its definition."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from models_core.estimators.base import Dataset, FitContext
from models_core.estimators.cca import CCA, CCASettings
from models_core.estimators.shared_pairs import write_pairs
from models_core.estimators.transfer.stacked import Stacked
from models_core.estimators.transfer.text_feature import TextFeature
from models_core.estimators.transfer.weak_pairs import (
    Joint,
    JointSettings,
    StackedSettings,
    TextFeatureSettings,
    WeakOnly,
    WeakSettings,
)
from tests.models_core.estimators.vectors import LINK, all_scores, every_pair, paired

SETTINGS: dict[str, Any] = {"ridges": (0.1,), "powers": (1.0,)}


@pytest.fixture
def data():
    """Clean training pairs, held-out ones, and a context with weak pairs of the same world."""
    clean, held_out = paired(60, held_out=30, seed=4)
    weak, _ = paired(90, captions=1, noise=1.5, seed=4)
    return clean, held_out, FitContext(auxiliary={"weak": weak})


def cca_of(x, y, **settings):
    pairs = Dataset({"images": x, "captions": y}, {LINK: np.arange(len(x))})
    return CCA(CCASettings(**{"components": 5, **SETTINGS, **settings})).fit(pairs, None, FitContext())


def assert_same_maps(result, expected):
    for side in ("images_", "captions_"):
        np.testing.assert_allclose(getattr(result, side).weights, getattr(expected, side).weights, atol=1e-7)
        np.testing.assert_allclose(getattr(result, side).mean, getattr(expected, side).mean, atol=1e-9)


def test_weak_pairs_alone_are_learned_and_clean_ones_choose(data):
    clean, held_out, context = data
    result = WeakOnly(WeakSettings(5, **SETTINGS)).fit(clean, None, context)
    assert_same_maps(result.cca_, cca_of(*every_pair(context.auxiliary["weak"])))
    chosen = WeakOnly(WeakSettings(5)).fit(clean, held_out, context)
    assert len(chosen.cca_.tried_) >= 20 and chosen.cca_.tried_[:, 2].max() > 0


def test_joint_training_counts_weak_pairs_by_the_square_of_their_factor(data):
    clean, _, context = data
    # Pairs that count four times equal four pairs.
    result = Joint(JointSettings(5, **SETTINGS, weight=2.0)).fit(clean, None, context)
    weak = every_pair(context.auxiliary["weak"])
    x, y = (
        np.vstack([value, *[another] * 4]) for value, another in zip(every_pair(clean), weak, strict=True)
    )
    assert_same_maps(result.cca_, cca_of(x, y))


def test_the_text_feature_is_the_mean_text_of_the_nearest_weak_images(data):
    clean, held_out, context = data
    weak = context.auxiliary["weak"]
    result = TextFeature(TextFeatureSettings(5, **SETTINGS, neighbours=3)).fit(clean, None, context)
    apart = np.linalg.norm(np.asarray(clean.images)[:, None] - weak.images, axis=2)
    nearest = np.argsort(apart, axis=1)[:, :3]
    expected = np.asarray(weak.captions)[nearest].mean(axis=1)
    np.testing.assert_allclose(result.text_features(clean.images), expected, atol=1e-5)
    scale = np.sqrt(np.var(clean.images, axis=0).mean() / expected.var(axis=0).mean())
    assert result.scale_ == pytest.approx(scale, rel=1e-5)
    x, y = np.hstack([clean.images, scale * expected])[clean.image_of], clean.captions
    np.testing.assert_allclose(result.cca_.correlations_, cca_of(x, y).correlations_, atol=1e-5)
    assert all_scores(result, held_out, "annotation").shape == (30, 30)


def test_neighbours_do_not_depend_on_how_many_weak_images_are_compared_at_a_time(data, monkeypatch):
    clean, _, context = data
    result = TextFeature(TextFeatureSettings(5, **SETTINGS, neighbours=4)).fit(clean, None, context)
    whole = result.text_features(clean.images)
    monkeypatch.setattr("models_core.estimators.transfer.text_feature._BLOCK", 7)
    np.testing.assert_allclose(result.text_features(clean.images), whole, atol=1e-6)


def test_several_texts_of_a_weak_image_are_averaged(data):
    clean, _, context = data
    weak = context.auxiliary["weak"]
    twice = Dataset(
        {"images": weak.images, "captions": sparse.csr_matrix(np.vstack([weak.captions, weak.captions * 3]))},
        {LINK: np.concatenate([weak.image_of, weak.image_of])},
    )
    settings = TextFeatureSettings(5, **SETTINGS, neighbours=3)
    first, second = (
        TextFeature(settings).fit(clean, None, FitContext(auxiliary={"weak": value}))
        for value in (weak, twice)
    )
    np.testing.assert_allclose(
        second.text_features(clean.images), 2 * first.text_features(clean.images), rtol=1e-4
    )


@pytest.mark.parametrize("original", [True, False])
def test_stacking_is_a_cca_on_top_of_the_embedding_of_weak_pairs(data, original):
    clean, _, context = data
    settings = StackedSettings(5, **SETTINGS, weak_components=4, mapping="linear", original=original)
    result = Stacked(settings).fit(clean, None, context)
    below = cca_of(*every_pair(context.auxiliary["weak"]), components=4)
    views = []
    for view, rows in zip(("images", "captions"), every_pair(clean), strict=True):
        embedded = below.embed(view, rows)
        values = getattr(clean, view)
        scale = np.sqrt(np.var(values, axis=0).mean() / below.embed(view, values).var(axis=0).mean())
        assert result.scales_[view] == pytest.approx(scale if original else 1.0)
        views.append(np.hstack([rows, scale * embedded]) if original else embedded)
    cca = cca_of(*views)
    np.testing.assert_allclose(result.cca_.correlations_, cca.correlations_, atol=1e-9)


@pytest.mark.parametrize("mapping", ["fourier", "linear"])
def test_both_sums_of_stacking_may_be_shared_with_other_processes(data, mapping, tmp_path):
    clean, held_out, context = data
    settings = StackedSettings(5, **SETTINGS, weak_components=4, features=20, neighbour=5, mapping=mapping)
    requested = []

    def shared(images, captions, image_of, *, described=None):
        requested.append(described is not None)
        return write_pairs(tmp_path, images, captions, image_of, rows=16, described=described).total()

    result = Stacked(settings).fit(clean, None, FitContext(auxiliary=context.auxiliary, sum_pairs=shared))
    alone = Stacked(settings).fit(clean, None, context)
    assert requested == [False, True]
    np.testing.assert_allclose(
        all_scores(result, held_out, "search"), all_scores(alone, held_out, "search"), atol=1e-8
    )


def test_stacking_with_fourier_features_draws_by_the_seed_alone(data):
    clean, held_out, context = data
    settings = StackedSettings(5, **SETTINGS, weak_components=4, features=20, neighbour=5)
    result = Stacked(settings).fit(clean, None, context)
    again = Stacked(settings).fit(clean, None, context)
    another = Stacked(settings).fit(clean, None, FitContext(1, auxiliary=context.auxiliary))
    first, second, third = (all_scores(model, held_out, "search") for model in (result, again, another))
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - third).max() > 1e-3
    rows = result.stacked("images", held_out.images)
    assert rows.shape == (30, 9 + 20)
    np.testing.assert_array_equal(rows[:, :9], held_out.images)
    embedded = result.weak_.embed("images", held_out.images)
    images = result.fourier_["images"]
    expected = np.sqrt(2) * np.cos(embedded @ images.frequencies_ + images.phases_)
    np.testing.assert_allclose(rows[:, 9:], result.scales_["images"] * expected)


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
