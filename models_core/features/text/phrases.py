"""Phrases as vectors: the mean of their words' vectors, or a Fisher vector, computed on access.

A phrase is its words in lower case without articles, so "A man" and "the man" are the same phrase. For
423,134 phrases (Plummer et al. 2015, Table 4) vectors of 18,000 numbers would take 30 GB, so rows are
computed in blocks on request.

Source: Plummer et al. 2015, section 3.1, and Table 3 for phrases without articles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasebox.text.tokens import plain_words

ARTICLES = frozenset({"a", "an", "the"})

#: Takes numbers of words, the begin and end of each phrase, and the vectors of the words; returns a row per
#: phrase.
DescribePhrases = Callable[
    [NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]], NDArray[np.float32]
]


def phrase_words(words: Sequence[str]) -> list[str]:
    """Return the words in lower case without articles; all of them if they are only articles.

    >>> phrase_words(["The", "little", "girl"])
    ['little', 'girl']
    """
    lower = [word.lower() for word in words]
    return [word for word in lower if word not in ARTICLES] or lower


def phrase_text(text: str) -> str:
    """Return a phrase's words in lower case, without punctuation and articles, for comparisons.

    >>> phrase_text("A man's hat")
    "man 's hat"
    """
    return " ".join(phrase_words(plain_words(text)))


@dataclass(frozen=True)
class PhraseRows:
    """Phrases as rows of `numbers` numbers in single precision, computed on access.

    Row i is the phrase `phrase_of[i]`, whose words are `words[begin:end]`, numbers of rows of `vectors`;
    equal phrases have the same number. A phrase without a known word is a row of zeros.
    """

    phrase_of: NDArray[np.intp]
    words: NDArray[np.intp]
    begin: NDArray[np.intp]
    end: NDArray[np.intp]
    vectors: NDArray[np.float32]
    numbers: int
    describe: DescribePhrases

    @property
    def shape(self) -> tuple[int, int]:
        """(phrases, numbers)."""
        return len(self.phrase_of), self.numbers

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single precision."""
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.phrase_of)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all rows at once, for callers that need an array."""
        return np.asarray(self[:], dtype)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each row has a word with a vector, shape (phrases,)."""
        return np.asarray((self.end > self.begin)[self.phrase_of])

    @property
    def distinct(self) -> PhraseRows:
        """Return each phrase once, in the order of their numbers."""
        return self.of_phrases(np.arange(len(self.begin)))

    def of_phrases(self, phrase_of: NDArray[np.intp]) -> PhraseRows:
        """Return other rows of the same phrases."""
        return PhraseRows(
            phrase_of, self.words, self.begin, self.end, self.vectors, self.numbers, self.describe
        )

    def __getitem__(self, chosen: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """Return these rows, shape (rows, numbers); each phrase among them is described once."""
        distinct, rows = np.unique(self.phrase_of[chosen], return_inverse=True)
        begin, end = self.begin[distinct], self.end[distinct]
        counts = end - begin
        until = np.cumsum(counts)
        places = np.arange(counts.sum()) + np.repeat(begin - until + counts, counts)
        used, numbers = np.unique(self.words[places], return_inverse=True)
        described = self.describe(numbers.ravel(), until - counts, until, self.vectors[used])
        return (
            described
            if len(distinct) == len(rows) and (rows == np.arange(len(rows))).all()
            else described[rows]
        )


def numbered_phrases(
    phrases: Sequence[Sequence[str]], number_of: dict[str, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the number of each row's phrase, and the known words of each phrase: `words`, `begin`, `end`.

    Phrases that differ only in unknown words stay different.
    """
    number: dict[tuple[str, ...], int] = {}
    phrase_of = np.asarray([number.setdefault(tuple(words), len(number)) for words in phrases], np.intp)
    known = [[number_of[word] for word in words if word in number_of] for words in number]
    end = np.cumsum([len(phrase_words) for phrase_words in known], dtype=np.intp)
    flat = np.asarray([word for phrase_words in known for word in phrase_words], np.intp)
    begin = end - np.asarray([len(phrase_words) for phrase_words in known], np.intp)
    return phrase_of, flat, begin, end


def mean_vectors(
    words: NDArray[np.intp], begin: NDArray[np.intp], end: NDArray[np.intp], vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the mean of each phrase's words, shape (phrases, dimensions); zeros if it has none."""
    sums = np.zeros((len(words) + 1, vectors.shape[1]))
    np.cumsum(vectors[words], axis=0, out=sums[1:], dtype=np.float64)
    return np.asarray((sums[end] - sums[begin]) / np.maximum(end - begin, 1)[:, None], np.float32)
