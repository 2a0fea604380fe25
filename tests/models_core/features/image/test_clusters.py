"""k-means finds existing clusters, and refuses a number that is too large."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from models_core.features.image.clusters import k_means, nearest


def blobs(number: int = 6, item: int = 100, dimensions: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    middles = 20 * rng.standard_normal((number, dimensions))
    points = np.repeat(middles, item, axis=0) + rng.standard_normal((number * item, dimensions))
    return points.astype(np.float32), middles


def test_separate_clusters_are_found():
    points, middles = blobs()
    centres = k_means(points, 6, seed=1)
    _, squares = nearest(middles.astype(np.float32), centres)
    assert squares.max() < 0.5


def test_points_go_to_the_nearest_centre():
    points, _ = blobs()
    centres = points[::50]
    total = ((points[:, None] - centres) ** 2).sum(axis=2)
    owner, squares = nearest(points, centres)
    np.testing.assert_array_equal(owner, total.argmin(axis=1))
    np.testing.assert_allclose(squares, total.min(axis=1), atol=1e-2)


def test_the_result_is_as_good_as_scikit_learns():
    points = np.random.default_rng(1).random((3000, 8), dtype=np.float32)
    ours = nearest(points, k_means(points, 32, seed=0))[1].sum()
    theirs = KMeans(32, n_init=1, random_state=0).fit(points).inertia_
    assert ours < 1.03 * theirs


def test_the_seed_decides():
    points, _ = blobs()
    first, again, another = (k_means(points, 9, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, another)


def test_every_centre_serves_points_where_many_points_coincide():
    points = np.repeat(np.eye(4, dtype=np.float32), [500, 1, 1, 1], axis=0)
    centres = k_means(points, 4, seed=0)
    assert sorted(set(nearest(points, centres)[0].tolist())) == [0, 1, 2, 3]


def test_more_clusters_than_points_are_refused():
    points = np.repeat(np.eye(3, dtype=np.float32), 5, axis=0)
    with pytest.raises(ValueError, match="4 clusters were requested, but there are only 3 different points"):
        k_means(points, 4, seed=0)
