"""Agreement of two people on the same question: per cent, kappa and the share of each answer.

The estimand is the agreement of two workers, drawn at random from those admitted, on all questions that the
campaign opened. Either of the two may be the first, so both have the same shares, those of all answers: kappa
= (observed - expected) / (1 - expected), where expected is the sum of the squared shares (Scott 1955; Fleiss
1971 for any two of many workers). It falls as one answer prevails, however careful the workers are: read it
together with the shares.

A pair is weighted by the inverse of the probability with which its question was drawn, and by a factor for
each worker, so that all workers have equal weight although some answer far more questions than others; the
factors are fitted by the method of Deming and Stephan (1940). This is valid if who answers a question does
not depend on the question.

Intervals (95 %) are quantiles of the posterior of the shares of pairs of answers in either order, under
Jeffreys's prior (1/2 for each), for the effective number of pairs of the weights (Kish 1965). They exist even
if all agree; `studies.double_check_agreement` shows their coverage.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

#: Seed of the draws of the posterior: the same pairs have the same intervals.
_START = 1
_ENDS = (0.025, 0.975)
_Z95 = 1.959963984540054
#: A worker with fewer pairs than this share of the mean worker's gets proportionally less weight: otherwise
#: the first answers of a new worker would outweigh all others.
_FEW = 0.1
#: Number of rounds of the fit of the workers' factors.
_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """An estimate and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AnswerShare:
    """The probability of an answer by a worker drawn at random."""

    answer: str
    share: IntervalEstimate


class AnswerPair(NamedTuple):
    """Two people's answers to a question that was drawn with probability `share`.

    `workers` are their numbers; `iou` is that of their boxes if both drew one.
    """

    first: str
    second: str
    share: float
    workers: tuple[Hashable, Hashable]
    iou: float | None = None


@dataclass(frozen=True, slots=True)
class DoubleCheckAgreement:
    """Agreement of two people on one kind of question, over the questions drawn for it.

    `drawn` is the number of these questions; `pairs` of them have two answers; `waiting` may still get them.
    `equal`: the share of pairs with equal answers. `kappa` is None if all answers are equal. `answers`: the
    share of each, the most frequent first. `overlap`: mean IoU, None if no two people drew. All but the
    counts are None or empty without a pair.
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
        """Number of drawn questions that never got a second answer."""
        return self.drawn - self.pairs - self.waiting


def measure_agreement(
    pairs: Iterable[AnswerPair], *, drawn: int, waiting: int = 0, draws: int = 4_000
) -> DoubleCheckAgreement:
    """Return the agreement of `pairs`, from `drawn` questions, of which `waiting` still wait for an answer.

    `draws` is the number of draws of the posterior for the intervals.
    """
    pairs = list(pairs)
    if not pairs:
        return DoubleCheckAgreement(drawn, 0, waiting)
    cells: defaultdict[tuple[str, str], float] = defaultdict(float)
    counting = _weights(pairs)
    for pair, weight in zip(pairs, counting, strict=True):
        first, second = sorted((pair.first, pair.second))
        cells[first, second] += weight
    worth = float(counting.sum() ** 2 / (counting**2).sum())
    words = sorted({word for cell in cells for word in cell})
    every = [(a, b) for i, a in enumerate(words) for b in words[i:]]
    weights = np.array([cells[cell] for cell in every], dtype=float)
    seen = (weights / weights.sum())[None, :]
    rng = np.random.default_rng(_START)
    drawn_shares = rng.dirichlet(seen[0] * worth + 0.5, draws)
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
        equal=_equal(float((seen @ same)[0]), worth, rng, draws),
        kappa=_estimate(kappas(seen)[0], kappas(drawn_shares)) if len(words) > 1 else None,
        answers=tuple(sorted(answers, key=lambda first: (-first.share.value, first.answer))),
        overlap=_mean_overlap(pairs, counting),
    )


def _weights(pairs: Sequence[AnswerPair]) -> np.ndarray:
    """Return the weight of each pair."""
    people = dict.fromkeys(worker for pair in pairs for worker in pair.workers)
    numbers = {worker: number for number, worker in enumerate(people)}
    who = np.array([[numbers[worker] for worker in pair.workers] for pair in pairs])
    drawn = np.array([1 / pair.share for pair in pairs])

    def sums(weights: np.ndarray) -> np.ndarray:
        return np.bincount(who.ravel(), np.repeat(weights, 2))

    loads = sums(drawn)
    aims = np.minimum(1.0, loads / (_FEW * loads.mean()))
    factors = np.ones(len(numbers))
    for _ in range(_ROUNDS):
        factors *= np.sqrt(aims / sums(drawn * factors[who].prod(axis=1)))
    return np.asarray(drawn * factors[who].prod(axis=1))


def _estimate(value: float, drawn: np.ndarray) -> IntervalEstimate:
    low, high = np.quantile(drawn, _ENDS)
    return IntervalEstimate(float(value), min(float(low), float(value)), max(float(high), float(value)))


def _equal(share: float, worth: float, rng: np.random.Generator, draws: int) -> IntervalEstimate:
    """Return the share of equal pairs, for an effective number of `worth` pairs, with a prior of 1/2 for each
    outcome."""
    return _estimate(share, rng.beta(share * worth + 0.5, (1 - share) * worth + 0.5, draws))


def _mean_overlap(pairs: Sequence[AnswerPair], counting: np.ndarray) -> IntervalEstimate | None:
    """Return the mean IoU and its normal interval; for one pair, the whole range."""
    both = [(pair.iou, weight) for pair, weight in zip(pairs, counting, strict=True) if pair.iou is not None]
    if not both:
        return None
    overlaps, weights = np.array(both).T
    mean = float(np.average(overlaps, weights=weights))
    n = len(both)
    if n == 1:
        return IntervalEstimate(mean, 0.0, 1.0)
    spread = ((weights * (overlaps - mean)) ** 2).sum()
    half = _Z95 * sqrt(n / (n - 1) * spread) / float(weights.sum())
    return IntervalEstimate(mean, max(0.0, mean - half), min(1.0, mean + half))
