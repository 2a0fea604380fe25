"""Which pairs of a pool can be asked about, which are judged already, and which to ask next."""

from dataclasses import dataclass

import numpy as np

from evaluation.pair_tasks import pair_tasks
from evaluation.services.batches.pooled_runs import PooledRuns
from evaluation.services.batches.stored_answers import Answers, BatchError
from phrasebox.pooling.active import NextPairs, RoundRule, choose_next_pairs, stop_for
from phrasebox.pooling.pools import PairIds, PairPool
from phrasebox.relevance.grades import JudgedPair

#: The largest share of the askable pairs that one round asks. A choice of ours.
SHARE = 0.05
#: The seed for the order of pairs in a round.
SEED = 1


def split_by_filter(runs: PooledRuns, pairs: PairIds, threshold: float | None) -> tuple[PairIds, PairIds]:
    """Split pairs into those that the filter keeps and those that it removes; None keeps all."""
    if threshold is None:
        return pairs, pairs[:0]
    likely = runs.likely(pairs, threshold)
    return pairs[likely], pairs[~likely]


def known_pairs(runs: PooledRuns, answers: Answers, judges: int) -> tuple[PairIds, PairIds]:
    """Return the pairs with at least `judges` answers, and those with any; both sorted."""
    images, captions, counts, _ = answers.arrays()
    pairs, ours = runs.numbers(images, captions)
    return np.sort(pairs[counts[ours] >= judges]), np.sort(pairs)


@dataclass(frozen=True, slots=True)
class RoundChoice:
    """How a round's pairs are chosen: at most a `share` of the `askable` pairs, counted when the batch was
    opened."""

    strategy: str
    share: float
    askable: int


def next_pairs_of_round(
    runs: PooledRuns,
    whole: PairPool,
    candidates: PairIds,
    *,
    selected_pairs: PairIds,
    answers: Answers,
    tasks: str,
    choice: RoundChoice,
) -> NextPairs:
    """Choose which of `candidates` to ask next, where `selected_pairs` were asked or are judged; both are
    sorted.

    Raises UnknownName for an unknown strategy, BatchError for an invalid share, BadPool.
    """
    if not 0 < choice.share <= 1:
        raise BatchError(f"rounds of {choice.share:g} of the pairs: expected a share over 0 and at most 1")
    images, captions, _, values = answers.arrays()
    pairs, ours = runs.numbers(images, captions)
    rule = pair_tasks(tasks).rule
    grades_of_pairs = (tuple(values[index]) for index in np.flatnonzero(ours))
    held = np.array([rule.holds(JudgedPair("", "", grades)) for grades in grades_of_pairs], dtype=bool)
    return choose_next_pairs(
        runs.shortlists,
        whole,
        candidates,
        selected_pairs=selected_pairs,
        relevant=np.sort(pairs[held]),
        rule=RoundRule(
            choice.strategy,
            stop_for(choice.share),
            most=max(1, round(choice.share * choice.askable)),
            seed=SEED,
        ),
    )
