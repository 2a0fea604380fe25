"""Similarity of words by the sentences that they appear in: non-negative pointwise mutual information.

    w_D(i) = max(0, log2(P(w, w_i) / (P(w) P(w_i))))                                     (eq. 24)

P(w) is the share of sentences with w, P(w, w_i) the share with both. The component of the word itself is 0:
its information with itself says nothing about its context, and with it the similarities of Figure 3 cannot be
reproduced. The similarity of two words is the cosine of their vectors.

Source: Hodosh et al. 2013, section 3.5.3. Words and contexts appear at least 5 times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from phrasebox.kernels.similarity import WordKernel
from phrasebox.lazy import sparse

#: Minimum number of occurrences of a word.
_LEAST = 5


def frequent(sentences: Iterable[Sequence[str]], *, least: int = _LEAST) -> tuple[str, ...]:
    """Return the words that appear at least `least` times, in alphabetical order."""
    counts = Counter(word for words in sentences for word in words)
    return tuple(sorted(word for word, count in counts.items() if count >= least))


def distributional(
    sentences: Sequence[Sequence[str]], *, among: Collection[str] | None = None, least: int = _LEAST
) -> WordKernel:
    """Return kappa_D of a text, given as sentences of lemmas without stop words.

    Contexts are the words that appear at least `least` times in it. The kernel covers these words or, for a
    background text, those of them in `among` (the corpus's own frequent words). Raises ValueError if no word
    remains.
    """
    contexts = frequent(sentences, least=least)
    words = [word for word in contexts if among is None or word in among]
    if not words:
        raise ValueError(
            f"no word appears {least} times in {len(sentences)} sentences"
            + ("" if among is None else " and is one of the corpus's frequent words")
            + "; give a larger text"
        )
    return WordKernel.of_vectors(words, information(sentences, words, contexts))


def information(
    sentences: Sequence[Sequence[str]], words: Sequence[str], contexts: Sequence[str]
) -> sparse.csr_array:
    """Return eq. 24, shape (words, contexts). Every word and context must appear in a sentence."""
    has_context, has_word = _incidence(sentences, contexts), _incidence(sentences, words)
    both = (has_word.T @ has_context).tocoo()
    first, second = has_word.sum(axis=0), has_context.sum(axis=0)
    values = np.log2(both.data * len(sentences) / (first[both.row] * second[both.col]))
    itself = np.asarray(words, dtype=object)[both.row] == np.asarray(contexts, dtype=object)[both.col]
    retained = (values > 0) & ~itself
    return sparse.csr_array((values[retained], (both.row[retained], both.col[retained])), shape=both.shape)


def _incidence(sentences: Sequence[Sequence[str]], words: Sequence[str]) -> sparse.csc_array:
    """Return the incidence of words in sentences, shape (sentences, words), float64 of 0 and 1."""
    places = {word: index for index, word in enumerate(words)}
    cells = [
        (row, places[word])
        for row, sentence in enumerate(sentences)
        for word in set(sentence)
        if word in places
    ]
    rows, columns = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    return sparse.csc_array((np.ones(len(rows)), (rows, columns)), shape=(len(sentences), len(words)))
