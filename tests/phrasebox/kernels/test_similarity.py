"""Word kernels: cosines, cut-offs, unions, and the three similarities that they use."""

from __future__ import annotations

from collections import Counter
from math import log, log2, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_core.features.text.distributional import distributional, frequent, information
from models_core.features.text.lin import Lin
from models_core.features.text.wordnet import WordNet
from phrasebox.kernels.similarity import WordKernel, average, greater

WORDS = "abcde"


def kernel(words: str, *entries: float) -> WordKernel:
    """Return a kernel of a few words, with the entries above the diagonal row by row."""
    matrix = np.eye(len(words))
    matrix[np.triu_indices(len(words), 1)] = entries
    return WordKernel(words, np.maximum(matrix, matrix.T))


def test_cosines_of_vectors_and_a_zero_vector_is_like_itself_only() -> None:
    created = WordKernel.of_vectors("abc", np.array([[3.0, 4.0], [0.0, 1.0], [0.0, 0.0]]))
    assert created("a", "b") == pytest.approx(0.8)
    assert created("c", "c") == 1.0
    assert created("a", "c") == created("c", "b") == 0.0


def test_outside_its_vocabulary_a_word_is_like_itself_only() -> None:
    created = kernel("ab", 0.5)
    assert (created("a", "x"), created("x", "x"), created("x", "y")) == (0.0, 1.0, 0.0)
    assert created.over("bxa").matrix.tolist() == [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]]


def test_entries_under_the_cut_off_go_and_those_at_it_stay() -> None:
    assert kernel("abc", 0.05, 0.049, 0.2).cut(0.05).matrix[0].tolist() == [1.0, 0.05, 0.0]


def test_equations_26_and_27_over_all_words_of_either() -> None:
    first, second = kernel("ab", 0.4), kernel("bc", 0.6)
    mean, most = average(first, second), greater(first, second)
    assert set(mean.words) == {"a", "b", "c"}
    assert (mean("a", "b"), mean("b", "c"), mean("c", "c")) == (0.2, 0.3, 1.0)
    assert (most("a", "b"), most("b", "c"), most("a", "c")) == (0.4, 0.6, 0.0)


def test_the_nearest_words_come_in_order_and_ties_by_the_alphabet() -> None:
    assert kernel("abcd", 0.3, 0.5, 0.3, 0, 0, 0).nearest("a", 3) == (("c", 0.5), ("b", 0.3), ("d", 0.3))


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        ("ab", np.eye(3), "for 2 words"),
        ("aa", np.eye(2), "contains a word twice"),
        ("ab", np.array([[1, np.nan], [0, 1]]), "'a' and 'b' is not finite"),
        ("ab", np.array([[1, 0.2], [0.3, 1]]), "'a' is as similar to 'b' as 0.2, .* 0.3; expected the same"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(words, matrix, message) -> None:
    with pytest.raises(ValueError, match=message):
        WordKernel(words, matrix)


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=12))
def test_distributional_similarity_is_equation_24_and_a_cosine(sentences) -> None:
    created = distributional(sentences, least=1)
    sets = [set(words) for words in sentences]

    def share(*words: str) -> float:
        return sum(set(words) <= own_set for own_set in sets) / len(sets)

    def pmi(w: str, c: str) -> float:
        if w == c or not share(w, c):
            return 0.0
        return max(0.0, log2(share(w, c) / (share(w) * share(c))))

    vectors = np.array([[pmi(w, c) for c in created.words] for w in created.words])
    for i, w in enumerate(created.words):
        for j, v in enumerate(created.words):
            lengths = np.linalg.norm(vectors[i]) * np.linalg.norm(vectors[j])
            expected = 1.0 if i == j else vectors[i] @ vectors[j] / lengths if lengths > 1e-9 else 0.0
            assert created(w, v) == pytest.approx(expected, abs=1e-6)
    assert np.linalg.eigvalsh(created.matrix).min() > -1e-9


def test_a_background_text_gives_its_own_contexts_and_the_corpus_its_words() -> None:
    text = [["a", "x"], ["b", "x"], ["c", "y"], ["a", "y"], ["b", "z"]]
    created = distributional(text, among={"a", "b", "unheard"}, least=1)
    assert created.words == ("a", "b")
    assert created("a", "b") > 0
    assert information(text, ["a"], ["x"]).toarray() == pytest.approx(np.array([[log2(0.2 / 0.16)]]))


def test_rare_words_have_no_similarity_and_no_words_at_all_are_refused() -> None:
    assert frequent([["a"] * 5, ["b"] * 4]) == ("a",)
    with pytest.raises(ValueError, match="no word appears 5 times in 1 sentences; give a larger text"):
        distributional([["a", "b"]])


@pytest.fixture(scope="module")
def lin(wordnet) -> Lin:
    return Lin(WordNet(wordnet), Counter(dog=6, cat=3, wolf=1, xyzzy=9, stone=2))


def test_lin_is_equation_22_by_the_corpus_counts(lin) -> None:
    """Of 12 nouns, all but the stones are carnivores, and wolves and dogs are canines."""
    canine, carnivore = log(7 / 12), log(10 / 12)
    assert lin.similarity("dog", "wolf") == pytest.approx(2 * canine / (log(6 / 12) + log(1 / 12)))
    assert lin.similarity("dog", "cat") == pytest.approx(2 * carnivore / (log(6 / 12) + log(3 / 12)))
    assert lin.similarity("dog", "stone") == 0.0
    assert lin.similarity("dog", "dog") == 1.0


def test_the_lin_kernel_is_the_cosine_over_hypernyms(lin) -> None:
    created = lin.kernel(["dog", "wolf", "xyzzy", "absent"])
    assert created.words == ("dog", "wolf")

    def vector(word: str) -> dict[int, float]:
        values = lin.information[lin.senses[word]]
        return {
            s: 1.0 if s == lin.senses[word] else 2 * lin.information[s] / (values + lin.information[s])
            for s in lin.ancestors(lin.senses[word])
        }

    dog, wolf = vector("dog"), vector("wolf")
    dot = sum(value * wolf.get(s, 0.0) for s, value in dog.items())
    lengths = sqrt(sum(v * v for v in dog.values()) * sum(v * v for v in wolf.values()))
    assert created("dog", "wolf") == pytest.approx(dot / lengths)
    assert created("dog", "wolf") != pytest.approx(lin.similarity("dog", "wolf"))


def test_a_corpus_without_nouns_has_no_lin_similarity(wordnet) -> None:
    with pytest.raises(ValueError, match="none of the corpus's 1 words"):
        Lin(WordNet(wordnet), {"xyzzy": 3})
