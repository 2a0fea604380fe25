"""The word overlap of a caption with the captions of an image: BLEU and ROUGE of one pair.

Definitions. With c_s(w) the count of word w in caption s and R the references of an image,

    BLEU  = sum over w in s of min(c_s(w), max over r in R of c_r(w)) / sum of c_s(w)
    ROUGE = sum over r in R and w in r of min(c_s(w), c_r(w)) / sum over r in R of sum of c_r(w)

The first is a precision, without brevity penalty; the second a recall that pools numerators and denominators
over the references. BLEU takes `words`, ROUGE takes `content_words`; BLEU_pre, the filter of unlikely pairs,
is the first formula on content words.

Conventions. A fraction with denominator 0 (a caption without words, for example of stop words only) is 0:
nothing is shared. Values are one exact division, so that comparing them with 0.6 or with 1/3 is exact where
numerator and denominator are.

Source: Hodosh et al. 2013, section 4.2.2, eq. 28, and section 4.3.2 (BLEU_pre).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from phrasebox.lazy import sparse
from phrasebox.text.stems import stems
from phrasebox.text.stopwords import STOP_WORDS
from phrasebox.text.tokens import tokenise

#: Hyphens that join words: the keyboard's, and those of Unicode.
_HYPHENS = re.compile("[-\u2010\u2011\u2012\u2013\u2014]")

Tokens = Sequence[str]
#: Words, or n-grams: the units that are counted.
Entries = Sequence[Hashable]


def words(text: str) -> list[str]:
    """Return the words of a caption: tokenised, lower-cased, split at hyphens, with only letters and digits.

    >>> words("A T-shirt, and two dogs!")
    ['a', 't', 'shirt', 'and', 'two', 'dogs']
    """
    return [word for token in tokenise(text.lower()) for word in _bare(token)]


@lru_cache(maxsize=65536)
def _bare(token: str) -> tuple[str, ...]:
    """Return the words of a token; none for punctuation."""
    parts = ("".join(sign for sign in part if sign.isalnum()) for part in _HYPHENS.split(token))
    return tuple(part for part in parts if part)


def content_words(text: str, *, stop_words: frozenset[str] = STOP_WORDS, stemmed: bool = True) -> list[str]:
    """`words` of a caption without the stop words, the rest stemmed by Porter's algorithm.

    >>> content_words("A dog is running on the beach.")
    ['dog', 'run', 'beach']
    """
    content = [word for word in words(text) if word not in stop_words]
    return stems(content) if stemmed else content


def count_matrix(texts: Sequence[Entries], vocabulary: dict[Hashable, int]) -> sparse.csr_array:
    """Return counts of the entries of `texts`, shape (texts, len(vocabulary)), int64.

    New entries are added to `vocabulary`, so an earlier matrix may be narrower than a later one; `widened`
    corrects that. Entries are words or n-grams: anything hashable.
    """
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    columns = np.fromiter(
        (vocabulary.setdefault(entry, len(vocabulary)) for text in texts for entry in text),
        dtype=np.int64,
        count=len(rows),
    )
    shape = (len(texts), max(len(vocabulary), 1))
    # Duplicate coordinates are summed: that is the count.
    return sparse.coo_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape).tocsr()


def widened(matrix: sparse.csr_array, vocabulary: dict[Hashable, int]) -> sparse.csr_array:
    """Return `matrix`, as wide as `vocabulary`; the added columns are 0."""
    matrix.resize((matrix.shape[0], max(len(vocabulary), 1)))
    return matrix


def most_of_any(counts: sparse.csr_array, owners: NDArray[np.int64], number: int) -> sparse.csr_array:
    """Return per owner and column the largest count among its rows, shape (number, columns).

    `owners` is the owner, 0 to number - 1, of each row, ascending.
    """
    largest = sparse.csr_array((number, counts.shape[1]), dtype=counts.dtype)
    number_in_owner = np.arange(len(owners)) - np.searchsorted(owners, owners)
    for step in range(int(number_in_owner.max(initial=-1)) + 1):
        rows = np.flatnonzero(number_in_owner == step)
        # Row i of the selector picks the turn-th row of owner i, if there is one.
        selector = sparse.csr_array(
            (np.ones(len(rows), dtype=counts.dtype), (owners[rows], rows)), shape=(number, counts.shape[0])
        )
        largest = largest.maximum(selector @ counts)
    return largest


class Overlap:
    """BLEU and ROUGE of eq. 28 between captions and images, for chosen pairs or for all.

    `captions` are candidates; `references[i]` are the captions of image i; all are tokenised. Raises
    ValueError with the image that has no reference.
    """

    def __init__(self, captions: Sequence[Entries], references: Sequence[Sequence[Entries]]) -> None:
        for image, texts in enumerate(references):
            if not texts:
                raise ValueError(
                    f"image number {image} has no reference caption; give each image at least one"
                )
        vocabulary: dict[Hashable, int] = {}
        pooled = count_matrix([text for texts in references for text in texts], vocabulary)
        self._captions = count_matrix(captions, vocabulary)
        self._references = widened(pooled, vocabulary)
        self._owners = np.repeat(np.arange(len(references)), [len(texts) for texts in references])
        self._most = most_of_any(self._references, self._owners, len(references))
        self._caption_lengths = np.asarray(self._captions.sum(axis=1))
        self._reference_lengths = np.bincount(
            self._owners, weights=np.asarray(self._references.sum(axis=1)), minlength=len(references)
        )

    def precision(self, images: NDArray[np.int64], captions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return BLEU of the pairs (images[k], captions[k]), given as numbers; shape (pairs,)."""
        shared = self._captions[captions].minimum(self._most[images]).sum(axis=1)
        return _divided(np.asarray(shared), self._caption_lengths[captions])

    def recall(self, images: NDArray[np.int64], captions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return ROUGE of the pairs (images[k], captions[k]); shape (pairs,)."""
        shared = np.zeros(len(images), dtype=np.int64)
        first = np.searchsorted(self._owners, images)
        last = np.searchsorted(self._owners, images, side="right")
        for step in range(int((last - first).max(initial=0))):
            pairs = np.flatnonzero(first + step < last)
            reference_rows = self._references[first[pairs] + step]
            shared[pairs] += np.asarray(self._captions[captions[pairs]].minimum(reference_rows).sum(axis=1))
        return _divided(shared, self._reference_lengths[images])

    def all_precisions(self) -> NDArray[np.float64]:
        """Return BLEU of every pair, shape (images, captions)."""
        return _divided(self._shared(self._most), self._caption_lengths[None, :])

    def all_recalls(self) -> NDArray[np.float64]:
        """Return ROUGE of every pair, shape (images, captions)."""
        owned = sparse.csr_array(
            (np.ones(len(self._owners), dtype=np.int64), (self._owners, np.arange(len(self._owners)))),
            shape=(len(self._reference_lengths), len(self._owners)),
        )
        return _divided(self._shared(self._references, owned), self._reference_lengths[:, None])

    def _shared(self, counts: sparse.csr_array, owned: sparse.csr_array | None = None) -> NDArray[np.int64]:
        """Return sums over words of min(row of `counts`, caption), with rows summed by `owned` if given.

        min(a, b) is the number of levels t = 1, 2, ... that both reach, so one product of binary matrices per
        level counts all pairs at once. Repeated words are rare: there are few levels.
        """
        top = min(counts.max() if counts.nnz else 0, self._captions.max() if self._captions.nnz else 0)
        rows = counts.shape[0] if owned is None else owned.shape[0]
        shared = np.zeros((rows, self._captions.shape[0]), dtype=np.int64)
        for level in range(1, int(top) + 1):
            reached = (counts >= level).astype(np.int64)
            if owned is not None:
                reached = owned @ reached
            shared += (reached @ (self._captions >= level).astype(np.int64).T).toarray()
        return shared


def _divided(numerator: NDArray[np.int64], denominator: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the quotients; 0 if the denominator is 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)
