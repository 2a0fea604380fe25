"""Ridge regression: the least squares of the papers' equation, solved in another way."""

from dataclasses import replace

import numpy as np
import pytest

from models_core.estimators.base import FitContext
from models_core.estimators.covariances import PairedSums
from models_core.estimators.ridge import RidgeRegression, RidgeSettings
from tests.models_core.estimators.vectors import every_pair, paired


def test_images_are_mapped_by_the_least_squares_with_the_ridge_as_further_rows():
    train, held_out = paired(held_out=20)
    model = RidgeRegression(RidgeSettings(4, ridges=(0.5,))).fit(train, held_out, FitContext())
    x, y = every_pair(train)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    directions = np.linalg.svd(y, full_matrices=False)[2][:4].T
    weights = model.captions_.weights
    np.testing.assert_allclose(np.abs(np.sum(directions * weights, axis=0)), 1, atol=1e-10)
    weight = np.sqrt(0.5 * x.var(axis=0).mean() * len(x))
    rows = np.vstack([x, weight * np.eye(x.shape[1])])
    expected = np.linalg.lstsq(rows, np.vstack([y @ weights, np.zeros((x.shape[1], 4))]), rcond=None)[0]
    np.testing.assert_allclose(model.images_.weights, expected, atol=1e-9)


def test_the_ridge_that_finds_most_is_taken():
    train, held_out = paired(30, x=40, y=25, noise=2.0, held_out=60)
    ridges = (1e-6, 1.0, 100.0)
    model = RidgeRegression(RidgeSettings(8, ridges=ridges)).fit(train, held_out, FitContext())
    assert model.tried_[:, 0].tolist() == list(ridges)
    assert model.ridge_ == ridges[model.tried_[:, 1].argmax()]
    assert len(set(model.tried_[:, 1])) > 1
    alone = RidgeRegression(RidgeSettings(8, ridges=(model.ridge_,))).fit(train, None, FitContext())
    np.testing.assert_array_equal(alone.images_.weights, model.images_.weights)


def test_a_ridge_that_is_too_small_for_what_rounding_left_gives_way_to_a_larger_one(monkeypatch):
    train, held_out = paired(held_out=20)

    def rounded(self):
        result = covariances(self)
        values, vectors = np.linalg.eigh(result.xx)
        values[0] = -1e-3 * result.xx.diagonal().mean()
        return replace(result, xx=(vectors * values) @ vectors.T)

    covariances = PairedSums.covariances
    monkeypatch.setattr(PairedSums, "covariances", rounded)
    model = RidgeRegression(RidgeSettings(3, ridges=(1e-6, 1.0))).fit(train, held_out, FitContext())
    assert model.tried_[:2, 0].tolist() == [1e-6, 1.0] and model.tried_[0, 1] == -1 and model.ridge_ >= 1.0
    with pytest.raises(ValueError, match="singular: columns depend on each other; take a ridge above 1e-06"):
        RidgeRegression(RidgeSettings(3, ridges=(1e-6,))).fit(train, None, FitContext())


def test_several_ridges_need_held_out_images_and_images_must_vary():
    train, _ = paired()
    with pytest.raises(ValueError, match="ridge regression chooses its ridge on held-out images"):
        RidgeRegression(RidgeSettings(3)).fit(train, None, FitContext())
    train.views["images"][:] = 1.0
    with pytest.raises(ValueError, match="all 9 columns of the images are constant"):
        RidgeRegression(RidgeSettings(3, ridges=(1.0,))).fit(train, None, FitContext())
