"""The filter of unlikely pairs, and its loss as estimated from fillers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from phrasebox.agreement.shares import share_interval, wilson
from phrasebox.metrics.overlap import content_words
from phrasebox.pooling.pools import Space
from phrasebox.pooling.unlikely import bleu_pre, filter_loss

WORDS = "dogs running runs the a of beach men man walk walking sand red ball on it".split()


def slow(caption: str, references: list[str]) -> Fraction:
    """The definition, word by word: clipped counts over the length."""
    counts = Counter(content_words(caption))
    best: Counter[str] = Counter()
    for reference in references:
        best |= Counter(content_words(reference))
    total = counts.total()
    return Fraction(sum(min(n, best[word]) for word, n in counts.items()), total) if total else Fraction(0)


def test_bleu_pre_is_exactly_its_definition() -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(60)]
    space = Space(20, np.arange(60) // 3)
    references = [texts[3 * i : 3 * i + 3] for i in range(20)]
    pairs = np.sort(rng.permutation(1200)[:500])
    result = bleu_pre(texts, references, space, pairs)
    exact = [
        slow(texts[c], references[i]) for i, c in zip(*(s.tolist() for s in space.parts(pairs)), strict=True)
    ]
    assert result.tolist() == [float(row) for row in exact]
    assert (result >= 0.25).tolist() == [row >= Fraction(1, 4) for row in exact]
    assert 0 < (result >= 0.25).sum() < 500


def test_an_image_without_captions_is_refused_where_it_is_asked_about() -> None:
    space = Space(2, np.array([0, 0]))
    assert bleu_pre(["a dog", "dogs"], [["dog"], []], space, np.array([0, 1])).tolist() == [1, 1]
    with pytest.raises(ValueError, match="no reference"):
        bleu_pre(["a dog", "dogs"], [["dog"], []], space, np.array([2]))


def test_the_loss_is_scaled_to_all_filtered_pairs() -> None:
    images = np.repeat(np.arange(50), 20)
    relevant = np.zeros(1000, dtype=bool)
    relevant[[0, 1, 500]] = True
    some = relevant.copy()
    some[:17] = True
    result = filter_loss(images, relevant, some, filtered=80_000, relevant_left=760)
    assert result is not None
    assert (result.judged, result.relevant, result.some_yes) == (1000, 3, 18)
    assert result.expected == pytest.approx(240)
    assert result.lost == pytest.approx(240 / 1000)
    assert result.low * 80_000 == result.at_least < 240 < result.at_most
    assert (result.low, result.high) == share_interval(
        np.array([2.0] + [0] * 24 + [1] + [0] * 24), np.full(50, 20.0)
    )
    # Two of the three are of one image: images are less informative than the same number of independent
    # pairs.
    assert result.images == 50
    assert result.effective < 1000
    assert result.low < wilson(3, 1000)[0] and wilson(3, 1000)[1] < result.high
    assert result.lost_at_most == pytest.approx(result.at_most / (result.at_most + 760))


def test_no_relevant_filler_still_bounds_the_loss() -> None:
    none = np.zeros(30, dtype=bool)
    result = filter_loss(np.arange(30), none, none, filtered=300, relevant_left=0)
    assert result is not None
    assert (result.expected, result.low, result.lost) == (0, 0, None)
    assert result.at_most == pytest.approx(300 * wilson(0, 30)[1])
    assert filter_loss(np.empty(0, np.int64), none[:0], none[:0], filtered=5, relevant_left=0) is None
