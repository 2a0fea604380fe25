"""Scores of the nearest training pair, as in eq. 2."""

import numpy as np
import pytest
from scipy import sparse

from models_core.estimators.nearest_neighbour import f1_similarity, score_pairs

TRAINING_IMAGES = np.array([[0.9, 0.1, 0.2], [0.3, 0.4, 0.8]])  # two new images, three training pairs
SENTENCES = np.array([[0.5, 0.6, 0.1], [0.0, 0.2, 0.7], [1.0, 1.0, 0.0]])


def test_annotation_scores_sentences_by_the_pair_of_the_nearest_image():
    # Image 0 is nearest to pair 0, image 1 to pair 2.
    expected = [[0.5, 0.0, 1.0], [0.1, 0.7, 0.0]]
    np.testing.assert_array_equal(score_pairs(TRAINING_IMAGES, SENTENCES, direction="annotation"), expected)


def test_search_scores_images_by_the_pair_of_the_nearest_sentence():
    # Sentence 0 is nearest to pair 1, sentence 1 to pair 2, sentence 2 to the first of two.
    expected = [[0.1, 0.2, 0.9], [0.4, 0.8, 0.3]]
    np.testing.assert_array_equal(score_pairs(TRAINING_IMAGES, SENTENCES, direction="search"), expected)


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    new = sparse.csr_matrix([[2, 1, 0], [0, 0, 0]])
    training = sparse.csr_matrix([[1, 1, 1], [3, 0, 0], [0, 0, 4]])
    # "a a b" and "a b c": two shared of three each. "a a b" and "a a a": two shared of three each.
    np.testing.assert_allclose(f1_similarity(new, training), [[2 / 3, 2 / 3, 0.0], [0.0, 0.0, 0.0]])
    # With idf (0.5, 2, 1): shared 0.5 + 2 of 3 and of 3.5.
    precision, recall = 2.5 / 3, 2.5 / 3.5
    weighted = f1_similarity(new, training, [0.5, 2, 1])
    assert weighted[0, 0] == pytest.approx(2 * precision * recall / (precision + recall))


def test_f1_equals_counting_by_hand():
    rng = np.random.default_rng(0)
    new, training, weights = rng.poisson(0.5, (7, 30)), rng.poisson(1.0, (9, 30)), rng.random(30)
    result = f1_similarity(sparse.csr_matrix(new), sparse.csr_matrix(training), weights)
    for i, a in enumerate(new):
        for j, b in enumerate(training):
            expected = 2 * (weights * np.minimum(a, b)).sum() / ((weights * a).sum() + (weights * b).sum())
            assert result[i, j] == pytest.approx(expected)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match=r"\(2, 3\), text similarities \(3, 2\)"):
        score_pairs(TRAINING_IMAGES, SENTENCES[:, :2], direction="search")
    with pytest.raises(ValueError, match="direction 'both' is unknown"):
        score_pairs(TRAINING_IMAGES, SENTENCES, direction="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 and 3 words"):
        f1_similarity(sparse.csr_matrix((1, 2)), sparse.csr_matrix((1, 3)))
    with pytest.raises(ValueError, match="below 0"):
        f1_similarity(sparse.csr_matrix((1, 2)), sparse.csr_matrix((1, 2)), [1, -0.1])
