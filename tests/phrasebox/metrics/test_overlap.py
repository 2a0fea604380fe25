"""BLEU and ROUGE of eq. 28 compared with the formula written out, on random captions and by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.metrics.overlap import Overlap, content_words, words

texts = st.lists(st.sampled_from("abcd"), max_size=6)
cases = st.tuples(
    st.lists(texts, min_size=1, max_size=4),
    st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=4),
)


def bleu_as_printed(caption: list[str], references: list[list[str]]) -> float:
    counts = Counter(caption)
    shared = sum(min(n, max(Counter(r)[w] for r in references)) for w, n in counts.items())
    return shared / len(caption) if caption else 0.0


def rouge_as_printed(caption: list[str], references: list[list[str]]) -> float:
    counts, total = Counter(caption), sum(map(len, references))
    shared = sum(min(counts[w], n) for r in references for w, n in Counter(r).items())
    return shared / total if total else 0.0


@given(cases)
def test_every_pair_has_the_printed_formula(case: tuple[list[list[str]], list[list[list[str]]]]) -> None:
    captions, references = case
    overlap = Overlap(captions, references)
    bleu = np.array([[bleu_as_printed(c, r) for c in captions] for r in references])
    rouge = np.array([[rouge_as_printed(c, r) for c in captions] for r in references])
    assert np.array_equal(overlap.all_precisions(), bleu)
    assert np.array_equal(overlap.all_recalls(), rouge)


@given(cases)
def test_chosen_pairs_are_those_of_all_pairs(case: tuple[list[list[str]], list[list[list[str]]]]) -> None:
    captions, references = case
    overlap = Overlap(captions, references)
    images, chosen = np.indices((len(references), len(captions))).reshape(2, -1)
    assert np.array_equal(overlap.precision(images, chosen), overlap.all_precisions().ravel())
    assert np.array_equal(overlap.recall(images, chosen), overlap.all_recalls().ravel())


def test_a_word_counts_as_often_as_the_reference_that_has_it_most() -> None:
    overlap = Overlap([["a", "a", "a", "b"]], [[["a", "c"], ["a", "a", "d"]]])
    assert overlap.all_precisions()[0, 0] == 2 / 4
    assert overlap.all_recalls()[0, 0] == (1 + 2) / 5


def test_a_score_of_a_third_is_a_third_exactly() -> None:
    overlap = Overlap([["a", "b", "c"]], [[["a", "d", "e"]]])
    assert overlap.all_precisions()[0, 0] >= 1 / 3
    assert not overlap.all_precisions()[0, 0] > 1 / 3


def test_a_caption_without_a_word_shares_nothing() -> None:
    overlap = Overlap([[]], [[["a"], []]])
    assert overlap.all_precisions()[0, 0] == 0
    assert overlap.all_recalls()[0, 0] == 0


def test_an_image_without_references_is_named() -> None:
    with pytest.raises(ValueError, match="image number 1 has no reference"):
        Overlap([["a"]], [[["a"]], []])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man 's T-shirt .", ["a", "man", "s", "t", "shirt"]),
        ("A man's T-shirt.", ["a", "man", "s", "t", "shirt"]),
        ("Two dogs (brown & white) run, fast!", ["two", "dogs", "brown", "white", "run", "fast"]),
        ("He does n't", ["he", "does", "nt"]),
        ("snow–covered", ["snow", "covered"]),
        ("", []),
        ("Über 3 Hügel", ["über", "3", "hügel"]),
    ],
)
def test_hyphens_are_broken_and_signs_stripped(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_content_words_lose_stop_words_first_and_their_endings_then() -> None:
    assert content_words("The dogs are playing with the boys") == ["dog", "plai", "boi"]
    assert content_words("The dogs are", stop_words=frozenset(), stemmed=False) == ["the", "dogs", "are"]
