"""The best labels of a chain, compared with all possible labels."""

from itertools import product

import numpy as np
import pytest

from models_core.estimators.neural.decoding import Segment, best_labels, segments


def worth(products, labels, beta):
    """Return the value of these labels by eq. 10 to 12."""
    total = sum(products[label, word] for word, label in enumerate(labels))
    return total + beta * sum(
        item == other_label for item, other_label in zip(labels, labels[1:], strict=False)
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_labels_are_worth_more(seed):
    rng = np.random.default_rng(seed)
    regions, words = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    products, beta = rng.standard_normal((regions, words)), float(rng.choice([0.0, 0.3, 1.0, 5.0]))
    result = best_labels(products, beta)
    best = max(worth(products, labels, beta) for labels in product(range(regions), repeat=words))
    assert worth(products, result.tolist(), beta) == pytest.approx(best, abs=1e-12)


def test_beta_goes_from_each_word_by_itself_to_one_region_for_all():
    products = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 0.9, 0.0, 0.9]])
    assert best_labels(products, 0).tolist() == [0, 1, 0, 1]
    assert best_labels(products, 100).tolist() == [0, 0, 0, 0]
    assert segments(best_labels(products, 0)) == [Segment(n, n + 1, n % 2) for n in range(4)]
    assert segments(best_labels(products, 100)) == [Segment(0, 4, 0)]


def test_a_sentence_without_words_has_no_segments():
    assert (
        best_labels(np.zeros((3, 0)), 1.0).tolist() == [] and segments(best_labels(np.zeros((3, 0)), 1)) == []
    )


@pytest.mark.parametrize(
    ("products", "beta", "message"),
    [
        (np.zeros((0, 2)), 1.0, "no region"),
        (np.zeros((2, 2)), -1.0, "beta is -1.0"),
        (np.zeros((2, 2)), np.nan, "beta is nan"),
        (np.zeros((2, 2)), np.inf, "beta is inf"),
        (np.array([[np.nan]]), 1.0, "not finite"),
    ],
)
def test_what_cannot_be_decoded_is_refused(products, beta, message):
    with pytest.raises(ValueError, match=message):
        best_labels(products, beta)
