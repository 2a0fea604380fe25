"""How far two people agree who were asked the same question: per cent, kappa and the share of each answer.

The estimand is what two workers, drawn at random of those admitted, would say to all questions that the
campaign opened. Either of the two may be the first, so both have the same shares, those of all answers:
kappa = (observed - expected) / (1 - expected), where expected is the sum of the squared shares (Scott 1955;
Fleiss 1971 for any two of many workers). It falls as one answer prevails, however careful the workers are:
read it beside the shares.

Workers count as often as they answer, and questions by one over the chance with which they were drawn.
Intervals (95 %) are the quantiles of the posterior of the shares of pairs of answers in either order, under
Jeffreys's prior (1/2 for each), for as many pairs of equal weight as the weights are worth (Kish 1965). They
exist where all agree, too; `benchmarks.double_check_agreement` shows how often they hold the truth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

#: Where draws of the posterior start: the same pairs have the same intervals.
_START = 1
_ENDS = (0.025, 0.975)
_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A figure and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AnswerShare:
    """How often two people, drawn at random, give an answer."""

    answer: str
    share: IntervalEstimate


class AnswerPair(NamedTuple):
    """Two people's answers to a question that was drawn with the chance `share`; `iou` of their boxes, where
    both drew one."""

    first: str
    second: str
    share: float
    iou: float | None = None


@dataclass(frozen=True, slots=True)
class DoubleCheckAgreement:
    """Of one kind of question: how far two people agree, over the questions drawn for that.

    `drawn` questions; `pairs` of them have two answers; `waiting` may still get them. `equal`: the share of
    pairs whose answers are the same. `kappa` is None where all answers are the same. `answers`: the share of
    each, the most frequent first. `overlap`: mean IoU, None where no two people drew. All but the counts are
    None or empty without a pair.
    """

    drawn: int
    pairs: int
    waiting: int
    equal: IntervalEstimate | None = None
    kappa: IntervalEstimate | None = None
    answers: tuple[AnswerShare, ...] = ()
    overlap: IntervalEstimate | None = None

    @property
    def lacking(self) -> int:
        """Drawn questions that never got a second answer."""
        return self.drawn - self.pairs - self.waiting


def measure_agreement(
    pairs: Iterable[AnswerPair], *, drawn: int, waiting: int = 0, draws: int = 4_000
) -> DoubleCheckAgreement:
    """The agreement of `pairs`, which are of `drawn` questions, `waiting` of which still wait for theirs;
    intervals by so many `draws` of the posterior."""
    pairs = list(pairs)
    if not pairs:
        return DoubleCheckAgreement(drawn, 0, waiting)
    cells: defaultdict[tuple[str, str], float] = defaultdict(float)
    squares = 0.0
    for pair in pairs:
        one, other = sorted((pair.first, pair.second))
        cells[one, other] += 1 / pair.share
        squares += 1 / pair.share**2
    words = sorted({word for cell in cells for word in cell})
    every = [(a, b) for i, a in enumerate(words) for b in words[i:]]
    weights = np.array([cells[cell] for cell in every], dtype=float)
    worth = weights * weights.sum() / squares
    rng = np.random.default_rng(_START)
    drawn_shares = rng.dirichlet(worth + 0.5, draws)
    seen = (weights / weights.sum())[None, :]
    same = np.array([a == b for a, b in every], dtype=float)
    counts = np.array([[(word == a) + (word == b) for a, b in every] for word in words]) / 2

    def kappas(shares: np.ndarray) -> np.ndarray:
        expected = ((shares @ counts.T) ** 2).sum(axis=1)
        return np.asarray((shares @ same - expected) / (1 - expected))

    by_word = zip(words, (seen @ counts.T)[0], (drawn_shares @ counts.T).T, strict=True)
    answers = [AnswerShare(word, _estimate(value, of)) for word, value, of in by_word]
    return DoubleCheckAgreement(
        drawn=drawn,
        pairs=len(pairs),
        waiting=waiting,
        equal=_equal(float((seen @ same)[0]), weights.sum() ** 2 / squares, rng, draws),
        kappa=_estimate(kappas(seen)[0], kappas(drawn_shares)) if len(words) > 1 else None,
        answers=tuple(sorted(answers, key=lambda one: (-one.share.value, one.answer))),
        overlap=_mean_overlap([pair for pair in pairs if pair.iou is not None]),
    )


def _estimate(value: float, drawn: np.ndarray) -> IntervalEstimate:
    low, high = np.quantile(drawn, _ENDS)
    return IntervalEstimate(float(value), min(float(low), float(value)), max(float(high), float(value)))


def _equal(share: float, worth: float, rng: np.random.Generator, draws: int) -> IntervalEstimate:
    """The share of pairs that are equal, which are worth so many: of two outcomes, each with 1/2 before."""
    return _estimate(share, rng.beta(share * worth + 0.5, (1 - share) * worth + 0.5, draws))


def _mean_overlap(pairs: list[AnswerPair]) -> IntervalEstimate | None:
    """The mean IoU and its normal interval; of one pair, all that may be."""
    if not pairs:
        return None
    weights = [1 / pair.share for pair in pairs]
    total = sum(weights)
    overlaps = [pair.iou or 0.0 for pair in pairs]
    mean = sum(w * iou for w, iou in zip(weights, overlaps, strict=True)) / total
    if len(pairs) == 1:
        return IntervalEstimate(mean, 0.0, 1.0)
    spread = sum((w * (iou - mean)) ** 2 for w, iou in zip(weights, overlaps, strict=True))
    half = _Z95 * sqrt(len(pairs) / (len(pairs) - 1) * spread) / total
    return IntervalEstimate(mean, max(0.0, mean - half), min(1.0, mean + half))
