"""Bags of words: counts times idf of the training texts, compared with a slow reference."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_core.features.bags import TfIdfBags

TEXT = st.lists(st.sampled_from("abcdef"), max_size=8)


def slow(size, training, texts, *, normalised):
    often = Counter(word for text in training for word in text)
    words = [word for word, _ in sorted(often.items(), key=lambda pair: (-pair[1], pair[0]))][:size]
    idf = {word: math.log(len(training) / sum(word in text for text in training)) for word in words}
    rows = np.array([[text.count(word) * idf[word] for word in words] for text in texts])
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return words, rows / np.where(lengths > 0, lengths, 1) if normalised else rows


@given(st.lists(TEXT, min_size=1, max_size=8), st.lists(TEXT, min_size=1, max_size=5), st.booleans())
def test_weights_are_those_of_a_slow_reference(training, texts, normalised):
    bags = TfIdfBags(4, normalised=normalised)
    if not any(training):
        with pytest.raises(ValueError, match="have no word"):
            bags.fit(training)
        return
    words, expected = slow(4, training, texts, normalised=normalised)
    result = bags.fit(training).transform(texts)
    assert list(bags.words_) == words
    assert result.dtype == np.float32
    np.testing.assert_allclose(result.toarray(), expected, atol=1e-5)
    arrays, settings = bags.state()
    again = TfIdfBags.from_state(arrays, settings)
    np.testing.assert_array_equal(again.transform(texts).toarray(), result.toarray())


def test_bags_of_no_words_are_refused():
    with pytest.raises(ValueError, match="bags of 0 words"):
        TfIdfBags(0)
