"""CCA: the solution of eq. 1, its ridge and power selected on held-out images, scores as in eq. 2."""

from dataclasses import replace

import numpy as np
import pytest
from cca_zoo import linear as cca_zoo_linear
from scipy import sparse
from scipy.linalg import block_diag, eigh
from sklearn import cross_decomposition

from models_core.estimators import cca
from models_core.estimators.base import Dataset, FitContext
from models_core.estimators.cca import CCA, CCASettings, canonical_maps
from models_core.estimators.covariances import sums_of_pairs
from tests.models_core.estimators.vectors import LINK, all_scores, every_pair, paired, with_sparse_captions


def covariances(data):
    return sums_of_pairs(data.images, data.captions, data.image_of).covariances()


@pytest.mark.parametrize("ridge", [0.0, 0.1, 3.0])
def test_the_correlations_solve_the_generalised_eigenproblem(ridge):
    train, _ = paired()
    result = covariances(train)
    xx, yy = (
        value + ridge * value.diagonal().mean() * np.eye(len(value)) for value in (result.xx, result.yy)
    )
    zeros = [np.zeros_like(value) for value in (result.xx, result.yy)]
    cross = np.block([[zeros[0], result.xy], [result.xy.T, zeros[1]]])
    expected = eigh(cross, block_diag(xx, yy), eigvals_only=True)[::-1][:7]
    maps = canonical_maps(result, 7, ridge)
    np.testing.assert_allclose(maps.correlations, expected, atol=1e-12)
    for weights, value in ((maps.images.weights, xx), (maps.captions.weights, yy)):
        np.testing.assert_allclose(weights.T @ value @ weights, np.eye(7), atol=1e-10)
    np.testing.assert_allclose(
        maps.images.weights.T @ result.xy @ maps.captions.weights, np.diag(expected), atol=1e-10
    )


def test_without_a_ridge_it_is_the_cca_of_scikit_learn():
    train, _ = paired(noise=1.0)
    x, y = every_pair(train)
    theirs = cross_decomposition.CCA(n_components=4, max_iter=10_000, tol=1e-14).fit(x, y).transform(x, y)
    maps = canonical_maps(covariances(train), 4, 0.0)
    ours = maps.images(x), maps.captions(y)
    for own_our, another in zip(ours, theirs, strict=True):
        for component in range(4):
            assert abs(np.corrcoef(own_our[:, component], another[:, component])[0, 1]) > 1 - 1e-6


def test_without_a_ridge_it_is_the_cca_of_cca_zoo():
    train, _ = paired(noise=1.0)
    x, y = every_pair(train)
    result = covariances(train)
    theirs = cca_zoo_linear.CCA(4).fit([x, y])
    maps = canonical_maps(result, 4, 0.0)
    for value, another in zip((maps.images(x), maps.captions(y)), theirs.transform([x, y]), strict=True):
        for component in range(4):
            assert abs(np.corrcoef(value[:, component], another[:, component])[0, 1]) > 1 - 1e-8


def test_wide_sides_are_solved_by_their_leading_vectors(monkeypatch):
    train, _ = paired(x=30, y=20, topics=8)
    result = covariances(train)
    for row in (result, covariances(paired(x=20, y=30, topics=8)[0])):
        whole = canonical_maps(row, 6, 0.1)
        with monkeypatch.context() as patch:
            patch.setattr(cca, "_SMALL", 5)
            leading = canonical_maps(row, 6, 0.1)
        np.testing.assert_allclose(leading.correlations, whole.correlations, atol=1e-9)
        np.testing.assert_allclose(leading.images.weights, whole.images.weights, atol=1e-6)
        np.testing.assert_allclose(leading.captions.weights, whole.captions.weights, atol=1e-6)


def test_the_setting_that_finds_most_on_held_out_images_is_taken_the_first_of_equals():
    train, held_out = paired(40, x=30, y=25, noise=2.0, held_out=60)
    settings = CCASettings(components=8, ridges=(1e-4, 1.0, 10.0), powers=(0.0, 1.0))
    model = CCA(settings).fit(train, held_out, FitContext())
    assert [row[:2].tolist() for row in model.tried_] == [
        [ridge, power] for ridge in settings.ridges for power in settings.powers
    ]
    best = model.tried_[model.tried_[:, 2].argmax()]
    assert (model.ridge_, model.power_) == tuple(best[:2])
    # Alone it gives the same, and the recorded recall.
    alone = CCA(CCASettings(8, True, (model.ridge_,), (model.power_,))).fit(train, held_out, FitContext())
    np.testing.assert_array_equal(alone.images_.weights, model.images_.weights)
    assert alone.tried_[0, 2] == best[2]
    assert len(set(model.tried_[:, 2])) > 1


@pytest.mark.parametrize("direction", ["annotation", "search"])
def test_scores_are_cosines_or_distances_of_the_embeddings(direction):
    train, held_out = paired(held_out=6)
    for normalised in (True, False):
        settings = CCASettings(components=5, normalised=normalised, ridges=(0.1,), powers=(2.0,))
        model = CCA(settings).fit(train, held_out, FitContext())
        maps = canonical_maps(covariances(train), 5, 0.1)
        power = maps.correlations**2 if normalised else np.ones(5)
        images = [(row - maps.images.mean) @ maps.images.weights * power for row in held_out.images]
        texts = [(row - maps.captions.mean) @ maps.captions.weights * power for row in held_out.captions]
        expected = np.array(
            [
                [a @ b / np.sqrt(a @ a * (b @ b)) if normalised else -((a - b) @ (a - b)) / 2 for b in texts]
                for a in images
            ]
        )
        scores = all_scores(model, held_out, direction)
        np.testing.assert_allclose(scores if direction == "annotation" else scores.T, expected, atol=1e-6)


@pytest.mark.parametrize("normalised", [True, False])
def test_features_of_single_precision_are_ranked_in_single_precision_to_the_same_figures(normalised):
    train, new = paired(80, held_out=30)
    settings = CCASettings(3, normalised=normalised, ridges=(0.1,), powers=(1.0,))
    result = CCA(settings).fit(train, None, FitContext())
    views = {name: view.astype(np.float32) for name, view in new.views.items()}
    single = Dataset({**views, "captions": sparse.csr_matrix(views["captions"])}, new.links)
    ours, exact = all_scores(result, single, "search"), all_scores(result, new, "search")
    np.testing.assert_allclose(ours, exact, atol=1e-5)
    assert exact.dtype == np.float64
    if normalised:  # distances are distinguished in double precision
        assert ours.dtype == np.float32
    mixed = Dataset({**new.views, "images": views["images"]}, new.links)
    assert all_scores(result, mixed, "search").dtype == np.float64


def test_sparse_captions_are_learned_and_ranked_as_dense_ones():
    train, held_out = paired(held_out=20)
    dense = CCA(CCASettings(4)).fit(train, held_out, FitContext())
    held_sparse = with_sparse_captions(held_out)
    thin = CCA(CCASettings(4)).fit(with_sparse_captions(train), held_sparse, FitContext())
    np.testing.assert_allclose(thin.images_.weights, dense.images_.weights, atol=1e-9)
    for direction in ("annotation", "search"):
        np.testing.assert_allclose(
            all_scores(thin, held_sparse, direction), all_scores(dense, held_out, direction), atol=1e-6
        )


def test_constant_and_dependent_columns_are_named_where_no_ridge_helps():
    train, _ = paired()
    images = np.array(train.images)
    images[:, 4] = 1.5
    with pytest.raises(ValueError, match=r"1 columns of the images are constant, first \[4\]"):
        canonical_maps(covariances(Dataset({**train.views, "images": images}, train.links)), 3, 0.0)
    images[:, 4] = images[:, 0] + images[:, 1]
    dependent = covariances(Dataset({**train.views, "images": images}, train.links))
    with pytest.raises(ValueError, match="covariance of the images is singular"):
        canonical_maps(dependent, 3, 0.0)
    assert len(canonical_maps(dependent, 3, 0.01).correlations) == 3
    flat = Dataset({**train.views, "captions": np.ones((len(train.image_of), 3))}, {LINK: train.image_of})
    with pytest.raises(ValueError, match="all 3 columns of the captions are constant"):
        canonical_maps(covariances(flat), 3, 0.1)


def test_a_ridge_that_is_too_small_for_what_rounding_left_gives_way_to_a_larger_one():
    """Sums in single precision may leave an eigenvalue a little below 0."""
    train, held_out = paired(held_out=20)
    result = covariances(train)
    values, vectors = np.linalg.eigh(result.xx)
    values[0] = -1e-3 * result.xx.diagonal().mean()
    rounded = replace(result, xx=(vectors * values) @ vectors.T)
    ridges = (1e-4, 1e-2, 0.1)
    learned = CCA(CCASettings(3, ridges=ridges)).solve(rounded, held_out, FitContext())
    assert learned.tried_[0, 2] == -1 and (learned.tried_[1:, 2] >= 0).any() and learned.ridge_ > 1e-4
    with pytest.raises(ValueError, match="singular: columns depend on each other; take a ridge above 0.0001"):
        CCA(CCASettings(3, ridges=ridges[:1], powers=(1.0,))).solve(rounded, None, FitContext())


def test_several_settings_need_held_out_images():
    train, _ = paired()
    with pytest.raises(ValueError, match="chooses its ridge on held-out images"):
        CCA(CCASettings(3)).fit(train, None, FitContext())
    assert CCA(CCASettings(3, ridges=(0.1,), powers=(1.0,))).fit(train, None, FitContext()).ridge_ == 0.1
