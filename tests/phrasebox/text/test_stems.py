"""Stems by Porter's algorithm, in any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from nltk.stem.porter import PorterStemmer

from phrasebox.text.stems import stem, stems

WORDS = "climbing climbs dies dying plays boy relational conflated hopping happy sky running dresses".split()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("relational", "relat"),
        ("hopefulness", "hope"),
        ("plays", "plai"),
        ("dies", "di"),
        ("dying", "dy"),
    ],
)
def test_words_are_stemmed_as_porter_has_it(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_nltk_gives_the_same_in_its_original_mode_only() -> None:
    original, default = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM), PorterStemmer()
    assert stems(WORDS) == [original.stem(word) for word in WORDS]
    assert stems(WORDS) != [default.stem(word) for word in WORDS]


def test_nothing_is_stemmed_to_nothing() -> None:
    assert stems([]) == []


def test_threads_do_not_disturb_each_other() -> None:
    alone = stems(WORDS * 200)
    with ThreadPoolExecutor(8) as pool:
        assert all(result == alone for result in pool.map(stems, [WORDS * 200] * 64))
