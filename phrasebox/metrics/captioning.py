"""Corpus scores of written captions against references: BLEU-1 to 4, ROUGE-L, CIDEr, CIDEr-D.

All functions take one candidate and one or more references per item, tokenised (by `ptb.ptb_words`, or
another tokeniser: the scores depend on it, so report it with them).

Conventions.
- BLEU is of the corpus: clipped n-gram counts are added up over the items before they are
  divided, then the geometric mean of orders 1 to n is taken, times exp(1 - r/c) where the
  candidates' length c is under r. An item's part of r is the reference length closest to its
  candidate's, the shorter of two as close. Nothing is smoothed: an order without a match makes
  BLEU 0. Sources: Papineni et al. 2002; agrees with sacreBLEU (smoothing none).
- ROUGE-L is F with beta 1.2 of the best precision and the best recall that the longest common
  subsequence has over the references (they may come from two references), as the COCO evaluation
  has it. Source: Lin 2004.
- CIDEr is the mean cosine of tf-idf vectors of n-grams over references and orders 1 to 4, in 0..1.
  CIDEr-D clips the candidate's weights, multiplies by exp(-(difference of lengths)^2 / 2 sigma^2)
  with sigma 6, and is scaled to 0..10; it is what the COCO evaluation prints as "CIDEr". A
  document is the references of one item: an n-gram counts once for it, and log(documents / 1) if none
  holds it. Of a single document every weight is log(1/1) = 0, and so is the score. Documents are those of
  the items unless others are given: a part of a corpus is comparable with the whole, and with another
  system's part, only under the same documents. Source: Vedantam et al. 2015.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasebox.lazy import sparse
from phrasebox.metrics.overlap import Tokens, count_matrix, most_of_any, widened

_Candidates = Sequence[Tokens]
References = Sequence[Sequence[Tokens]]

CIDER_ORDERS = 4
CIDER_D_SCALE = 10.0


@dataclass(frozen=True, slots=True)
class Bleu:
    """The counts for BLEU, one row per item, so that any subset or resample can be scored.

    `matched` and `possible` have shape (items, orders); lengths are in words, shape (items,).
    """

    matched: NDArray[np.int64]
    possible: NDArray[np.int64]
    candidate_lengths: NDArray[np.int64]
    reference_lengths: NDArray[np.int64]

    @property
    def added(self) -> NDArray[np.float64]:
        """All counts side by side, shape (items, 2 * orders + 2); `bleu_of` scores their sums."""
        lengths = (self.candidate_lengths[:, None], self.reference_lengths[:, None])
        return np.concatenate([self.matched, self.possible, *lengths], axis=1).astype(np.float64)

    def corpus(self, *, brevity_penalty: bool = True) -> NDArray[np.float64]:
        """Return BLEU-1, BLEU-2, ... of all items together, shape (orders,), in 0..1."""
        sums = self.added.sum(axis=0, keepdims=True)
        return bleu_of(sums, brevity_penalty=brevity_penalty)[0]

    def items(self, *, brevity_penalty: bool = True) -> NDArray[np.float64]:
        """Return the same for each item, shape (items, orders)."""
        return _bleu(
            self.matched, self.possible, self.candidate_lengths, self.reference_lengths, brevity_penalty
        )


def bleu(candidates: _Candidates, references: References, *, orders: int = 4) -> Bleu:
    """The counts for BLEU-1 to BLEU-`orders`.

    >>> counts = bleu([["a", "dog", "runs"]], [[["a", "dog", "sleeps"], ["the", "dog", "runs"]]], orders=1)
    >>> counts.matched.tolist(), counts.possible.tolist()  # each word is in a reference
    ([[3]], [[3]])
    """
    owners = _owners(candidates, references)
    pooled = [text for texts in references for text in texts]
    matched = np.zeros((len(candidates), orders), dtype=np.int64)
    for order in range(1, orders + 1):
        vocabulary: dict[Hashable, int] = {}
        theirs = count_matrix([grams(text, order) for text in pooled], vocabulary)
        ours = count_matrix([grams(text, order) for text in candidates], vocabulary)
        most = most_of_any(widened(theirs, vocabulary), owners, len(candidates))
        matched[:, order - 1] = ours.minimum(most).sum(axis=1)
    lengths = np.array([len(text) for text in candidates], dtype=np.int64)
    closest = [
        min((len(text) for text in texts), key=lambda length: (abs(length - len(candidate)), length))
        for candidate, texts in zip(candidates, references, strict=True)
    ]
    possible = np.maximum(lengths[:, None] - np.arange(orders), 0)
    return Bleu(matched, possible, lengths, np.array(closest, dtype=np.int64))


def bleu_of(sums: NDArray[np.float64], *, brevity_penalty: bool = True) -> NDArray[np.float64]:
    """Return BLEU-1, BLEU-2, ... of each row of summed counts (`Bleu.added`), shape (rows, orders), in
    0..1."""
    orders = (sums.shape[1] - 2) // 2
    matched, possible = sums[:, :orders], sums[:, orders : 2 * orders]
    return _bleu(matched, possible, sums[:, -2], sums[:, -1], brevity_penalty)


def _bleu(
    matched: NDArray[Any],
    possible: NDArray[Any],
    candidate_lengths: NDArray[Any],
    reference_lengths: NDArray[Any],
    brevity_penalty: bool,
) -> NDArray[np.float64]:
    precisions = np.divide(matched, possible, out=np.zeros(matched.shape), where=possible != 0)
    with np.errstate(divide="ignore"):
        logs = np.log(precisions)
    scores = np.exp(np.cumsum(logs, axis=1) / np.arange(1, matched.shape[1] + 1))
    if brevity_penalty:
        # An empty candidate has no matches: its score is 0 whatever its penalty.
        short = 1 - reference_lengths / np.maximum(candidate_lengths, 1)
        scores *= np.exp(np.minimum(short, 0))[:, None]
    return scores


def rouge_l(candidates: _Candidates, references: References, *, beta: float = 1.2) -> NDArray[np.float64]:
    """ROUGE-L of each item, shape (items,), in 0..1; the corpus's is their mean.

    >>> rouge_l([["a", "dog", "runs"]], [[["a", "dog", "sleeps"]]]).round(3).tolist()  # two words of three
    [0.667]
    """
    _owners(candidates, references)
    scores = np.zeros(len(candidates))
    for item, (candidate, texts) in enumerate(zip(candidates, references, strict=True)):
        common = [_common_subsequence(candidate, text) for text in texts]
        if not any(common):
            continue
        precision = max(common) / len(candidate)
        recall = max(shared / len(text) for shared, text in zip(common, texts, strict=True) if len(text) > 0)
        scores[item] = (1 + beta**2) * precision * recall / (recall + beta**2 * precision)
    return scores


def _common_subsequence(first: Tokens, second: Tokens) -> int:
    """Return the length of the longest common subsequence, computing 64 cells of the table or more at a time.

    Bit i of `rising` is 0 if the table's row increases at position i of `first`; one addition computes the
    next row (Hyyrö 2004).
    """
    places: dict[str, int] = {}
    for position, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << position
    full = (1 << len(first)) - 1
    rising = full
    for word in second:
        matches = rising & places.get(word, 0)
        rising = (rising + matches | rising - matches) & full
    return len(first) - rising.bit_count()


def cider(
    candidates: _Candidates, references: References, *, documents: References | None = None
) -> NDArray[np.float64]:
    """Return CIDEr of each item, shape (items,), in 0..1; the corpus's is their mean.

    Document frequencies are counted in `documents`, a list of texts each; None: the references of the items.

    >>> two = [["a", "dog"], ["the", "cat"]]
    >>> cider(two, [[["a", "dog"]], [["the", "cat"]]]).tolist()  # no runs of 3 or 4 words
    [0.5, 0.5]
    """
    return _cider(candidates, references, documents, sigma=None)


def cider_d(
    candidates: _Candidates,
    references: References,
    *,
    documents: References | None = None,
    sigma: float = 6.0,
) -> NDArray[np.float64]:
    """Return CIDEr-D of each item, shape (items,), in 0..10; the corpus's is their mean. `documents` as in
    `cider`."""
    return CIDER_D_SCALE * _cider(candidates, references, documents, sigma=sigma)


def _cider(
    candidates: _Candidates, references: References, documents: References | None, *, sigma: float | None
) -> NDArray[np.float64]:
    owners = _owners(candidates, references)
    pooled = [text for texts_of_item in references for text in texts_of_item]
    if not pooled:
        return np.zeros(0)
    if documents is None:
        documents = references
    holders = np.repeat(np.arange(len(documents)), [len(texts) for texts in documents])
    held = [text for texts in documents for text in texts]
    cosines = np.zeros(len(pooled))
    for order in range(1, CIDER_ORDERS + 1):
        vocabulary: dict[Hashable, int] = {}
        theirs = count_matrix([grams(text, order) for text in pooled], vocabulary)
        ours = count_matrix([grams(text, order) for text in candidates], vocabulary)
        counted = count_matrix([grams(text, order) for text in held], vocabulary)
        theirs, ours = widened(theirs, vocabulary), widened(ours, vocabulary)
        having = (most_of_any(counted, holders, len(documents)) > 0).sum(axis=0)
        weights = sparse.diags_array(np.log(len(documents) / np.maximum(having, 1)))
        theirs, ours = (theirs @ weights).tocsr(), (ours @ weights).tocsr()
        lengths = np.sqrt(theirs.power(2).sum(axis=1)) * np.sqrt(ours.power(2).sum(axis=1))[owners]
        facing = ours[owners]
        if sigma is not None:
            facing = facing.minimum(theirs)
        products = facing.multiply(theirs).sum(axis=1)
        cosines += np.divide(products, lengths, out=np.zeros(len(pooled)), where=lengths > 0)
    if sigma is not None:
        gaps = np.array([len(text) for text in pooled]) - np.array([len(t) for t in candidates])[owners]
        cosines *= np.exp(-(gaps**2) / (2 * sigma**2))
    return np.bincount(owners, weights=cosines) / np.bincount(owners) / CIDER_ORDERS


def grams(text: Tokens, order: int) -> list[tuple[str, ...]]:
    """Return the n-grams of `order` words of a text."""
    return list(zip(*(text[start:] for start in range(order)), strict=False))


def check_fit(candidates: Sequence[object], references: Sequence[Sequence[object]]) -> None:
    """Raise ValueError with the item if candidates and references do not match."""
    if len(candidates) != len(references):
        raise ValueError(
            f"{len(candidates)} candidates but references for {len(references)} items; give one list of "
            "references for each candidate"
        )
    for item, texts in enumerate(references):
        if not texts:
            raise ValueError(f"item number {item} has no reference; give each item at least one")
        if isinstance(texts, str):
            raise ValueError(f"item number {item} has a text instead of a list of references; give a list")


def _owners(candidates: _Candidates, references: References) -> NDArray[np.int64]:
    """Return the item of each reference, with references numbered consecutively; raises ValueError if they
    do not match."""
    check_fit(candidates, references)
    for item, texts in enumerate(references):
        if any(isinstance(text, str) for text in (candidates[item], *texts)):
            raise ValueError(f"item number {item} contains an untokenized text; split all texts into words")
    return np.repeat(np.arange(len(references)), [len(texts) for texts in references])
