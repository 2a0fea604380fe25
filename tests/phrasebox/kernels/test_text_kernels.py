"""Bag of words, tag rank and trigram kernels compared with their equations written out."""

from __future__ import annotations

from math import exp, log, log2, sqrt
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from phrasebox.kernels.bag_of_words import BagOfWords
from phrasebox.kernels.idf import WEIGHTINGS, Document, Idf, weights
from phrasebox.kernels.similarity import WordKernel
from phrasebox.kernels.tag_rank import TagRank
from phrasebox.kernels.trigram import Trigram
from phrasebox.kernels.trigram_similar import SimilarTrigram
from tests.phrasebox.kernels import brute

weightings = st.sampled_from(WEIGHTINGS)


@st.composite
def word_kernels(draw: st.DrawFn) -> WordKernel:
    """Draw similarities of some of the words; the others are similar to themselves only."""
    known = brute.WORDS[: draw(st.integers(1, len(brute.WORDS)))]
    vectors = np.array(draw(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3),
                                     min_size=len(known), max_size=len(known))))  # fmt: skip
    return WordKernel.of_vectors(known, vectors.astype(float))


@given(brute.collections, brute.collections, weightings)
def test_bags_of_words_are_cosines_of_weighted_counts(training, others, weighting) -> None:
    weight = weights(weighting, training)

    def vector(item) -> np.ndarray:
        return np.array([sum(words.count(w) for words in item) * weight(w) for w in brute.WORDS])

    gram = BagOfWords(training, weighting=weighting).gram(others, training)
    for row, x in enumerate(others):
        for column, y in enumerate(training):
            a, b = vector(x), vector(y)
            lengths = np.linalg.norm(a) * np.linalg.norm(b)
            assert gram[row, column] == pytest.approx(a @ b / lengths if lengths else 0.0, abs=1e-12)


@given(brute.collections, brute.collections, weightings, st.sampled_from([1.0, 0.5]))
def test_exact_trigrams_are_equation_15_and_16(training, others, weighting, gap) -> None:
    weight = weights(weighting, training)
    kernel = Trigram(training, weighting=weighting, gap=gap)
    expected = brute.gram(others, training, lambda s, t: brute.trigram(s, t, brute.same, weight, gap))
    np.testing.assert_allclose(kernel.gram(others, training), expected, atol=1e-12)


@given(brute.collections, brute.collections, weightings, word_kernels())
def test_similar_trigrams_are_equation_20_and_21(training, others, weighting, similarity) -> None:
    weight = weights(weighting, training)
    kernel = SimilarTrigram(training, similarity, weighting=weighting)

    def pair(s, t) -> float:
        return brute.trigram(s, t, similarity, weight)

    np.testing.assert_allclose(kernel.gram(others, training), brute.gram(others, training, pair), atol=1e-12)
    np.testing.assert_allclose(
        kernel.gram(training, training), brute.gram(training, training, pair), atol=1e-12
    )


@given(brute.collections, weightings)
def test_without_similarities_both_trigram_kernels_agree(training, weighting) -> None:
    nothing = WordKernel(["unheard"], np.eye(1))
    similar = SimilarTrigram(training, nothing, weighting=weighting).gram(training, training)
    np.testing.assert_allclose(
        similar, Trigram(training, weighting=weighting).gram(training, training), atol=1e-12
    )


def test_a_repeated_word_between_two_counts_once() -> None:
    """ "dog red red ball": (dog, red, ball) has the one substring 0 to 3, though two embeddings."""
    assert brute.matches(tuple("dog red red ball".split()))["dog", "red", "ball"] == 1
    items = [["dog red red ball".split()], ["dog red ball".split()]]
    # One word: 1 * 1 + 2 * 1 + 1 * 1; two: dog red 2, red ball 2, dog ball 1; three: 1.
    both = 4 / 4 + 5 / 16 + 1 / 64
    # First with itself: words 1 + 4 + 1; pairs 4 + 1 + 4 + 1 (red red); triples 1 and the two with red red.
    first = 6 / 4 + 10 / 16 + 3 / 64
    second = 3 / 4 + 3 / 16 + 1 / 64
    for kernel in (Trigram(items), SimilarTrigram(items, WordKernel(["dog"], np.eye(1)))):
        assert kernel.gram(items, items)[0, 1] == pytest.approx(both / sqrt(first * second), abs=1e-14)


def test_many_captions_of_all_lengths_fill_tiles_and_blocks_alike() -> None:
    rng = np.random.default_rng(1)
    items = [
        [[f"w{w}" for w in rng.zipf(1.5, rng.integers(0, 14)) if w < 60] for _ in range(3)]
        for _ in range(300)
    ]
    near = rng.random((40, 6))
    similarity = WordKernel.of_vectors([f"w{n}" for n in range(1, 41)], near).cut(0.7)
    kernel = SimilarTrigram(items, similarity, weighting="sqrt-idf")
    whole = kernel.gram(items, items)
    assert np.array_equal(whole, whole.T)
    np.testing.assert_allclose(whole, kernel.gram(items, list(items)), atol=1e-12)
    weight = weights("sqrt-idf", items)
    chosen = [0, 37, 150, 299]
    expected = brute.gram(
        [items[n] for n in chosen],
        [items[n] for n in chosen],
        lambda s, t: brute.trigram(s, t, similarity, weight),
    )
    np.testing.assert_allclose(whole[np.ix_(chosen, chosen)], expected, atol=1e-12)


@given(brute.collections, brute.collections)
def test_tag_ranks_are_equation_11(training, others) -> None:
    captions = [words for item in training for words in item]
    assume(len({frozenset(words) for words in captions}) > 1)

    def ranks(words) -> tuple[np.ndarray, np.ndarray]:
        absolute, relative = np.zeros(len(brute.WORDS)), np.zeros(len(brute.WORDS))
        for number, word in enumerate(brute.WORDS):
            places = [index for index, caption in enumerate(words, start=1) if caption == word]
            if places:
                p = sum(places) / len(places)
                seen = [k for caption in captions for k, w in enumerate(caption, start=1) if w == word]
                absolute[number] = 1 / log2(1 + p)
                relative[number] = 1 - sum(k <= p for k in seen) / len(seen) if seen else 0.0
        return absolute, relative

    def chi2(x: np.ndarray, y: np.ndarray) -> float:
        return sum((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0)

    known = [ranks(words) for words in captions]
    scales = [
        float(np.mean([chi2(x[n], y[n]) for i, x in enumerate(known) for j, y in enumerate(known) if i != j]))
        for n in (0, 1)
    ]
    if scales[1] == 0:
        scales[1] = 1.0  # nothing comes earlier than usual

    def pair(s, t) -> float:
        x, y = ranks(s), ranks(t)
        return sum(exp(-chi2(x[n], y[n]) / (2 * scales[n])) for n in (0, 1)) / 2

    kernel = TagRank(training)
    assert kernel.scales == pytest.approx(scales)
    np.testing.assert_allclose(kernel.gram(others, training), brute.gram(others, training, pair), atol=1e-9)
    np.testing.assert_allclose(
        kernel.gram(training, training), brute.gram(training, training, pair), atol=1e-9
    )


@given(brute.collections, weightings)
def test_kernels_are_symmetric_and_positive_semi_definite(training, weighting) -> None:
    kernels: list[Any] = [BagOfWords(training, weighting=weighting), Trigram(training, weighting=weighting)]
    if len({frozenset(words) for item in training for words in item}) > 1:
        kernels.append(TagRank(training))
    for kernel in kernels:
        gram = kernel.gram(training, training)
        np.testing.assert_allclose(gram, gram.T, atol=1e-14)
        assert brute.least_eigenvalue(gram) > -1e-9


@given(brute.collections, word_kernels())
def test_similar_trigrams_are_positive_semi_definite_where_words_are_vectors(training, similarity) -> None:
    gram = SimilarTrigram(training, similarity, weighting="sqrt-idf").gram(training, training)
    assert np.array_equal(gram, gram.T)
    assert brute.least_eigenvalue(gram) > -1e-9


def test_idf_counts_images_and_is_never_negative() -> None:
    idf = Idf([[["dog", "dog"], ["dog"]], [["dog", "red"]], [[]]])
    assert idf("red") == pytest.approx(log(3 / 2))
    assert idf("dog") == 0.0
    assert Idf([[["dog"]], [["dog"]]])("dog") == 0.0
    assert idf("unheard") == pytest.approx(log(3))


def test_an_empty_caption_shares_nothing() -> None:
    items: list[Document] = [[[]], [["dog", "run"]]]
    for kernel in (BagOfWords(items), Trigram(items), SimilarTrigram(items, WordKernel(["dog"], np.eye(1)))):
        gram = kernel.gram(items, items)
        assert gram[0].tolist() == [0.0, 0.0]
        assert gram[1, 1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BagOfWords([], weighting="idf"), "no training items"),
        (lambda: BagOfWords([[["a"]]], weighting=cast(Any, "log")), "known: none, idf, sqrt-idf"),
        (lambda: Trigram([[["a"]]], match=0), "match score 0; expected above 0"),
        (lambda: Trigram([[["a"]]], gap=2), "gap score 2; expected above 0"),
        (lambda: SimilarTrigram([[["a"]]], WordKernel(["a"], np.eye(1)), match=1.5), "match score 1.5"),
        (lambda: TagRank([[["a"]]]), "needs two different ones"),
    ],
)
def test_bad_settings_are_refused_in_one_line(make, message) -> None:
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert "\n" not in str(error.value)
