"""Stems of English words by Porter's algorithm.

Source: Porter 1980, "An algorithm for suffix stripping", as the Snowball project maintains it
under the name `porter` (through PyStemmer). It is the stemmer that Hodosh et al. 2013, section
4.2.2, put before ROUGE. Its successor `english` and NLTK's default variant stem some words
otherwise (dies: "di", "die", "die"), so figures that use them are not comparable.

Plain Python besides PyStemmer: no NumPy.
"""

from collections.abc import Iterable
from threading import local

import Stemmer


class _PerThread(local):
    """One stemmer for each thread: PyStemmer's objects must not be called concurrently."""

    def __init__(self) -> None:
        self.porter = Stemmer.Stemmer("porter")


_STEMMERS = _PerThread()


def stem(word: str) -> str:
    """Return the stem of `word`, which must be lower-cased ("climbing" -> "climb")."""
    stemmed: str = _STEMMERS.porter.stemWord(word)
    return stemmed


def stems(words: Iterable[str]) -> list[str]:
    """Return the stem of each of `words`, in order."""
    stemmed: list[str] = _STEMMERS.porter.stemWords(words)
    return stemmed
