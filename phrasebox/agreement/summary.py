"""Agreement within a set of judged pairs, and between two sets, for the operation `agreement`.

Items are pairs; intervals resample whole queries (images, or keywords), since answers about one are
dependent.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from phrasebox.agreement.aggregation import DawidSkene, Votes, dawid_skene
from phrasebox.agreement.coefficients import (
    MEASUREMENT_LEVELS,
    answer_counts,
    as_ratings,
    cohen,
    fleiss,
    krippendorff,
)
from phrasebox.agreement.estimates import AgreementError, Bootstrap, Estimate, Floats
from phrasebox.agreement.thresholds import Retrieval, Sweep, retrieval, sweep
from phrasebox.relevance.grades import JudgedPair

#: The largest number of thresholds in a readable table.
MOST_THRESHOLDS = 20
#: With more different grades, grades count as measurements: exact equality says little about two judges.
MOST_GRADES = 50


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are computed; without resamples there are none."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise AgreementError(f"seed {self.seed} of the resamples; expected 0 or more")

    def over(self, clusters: Sequence[Hashable], unit: str = "image") -> Bootstrap | None:
        """Return the bootstrap that resamples these clusters (a `unit` each), given per item; None without
        resamples."""
        if not self.resamples:
            return None
        return Bootstrap(clusters, self.resamples, self.level, self.seed, unit)


@dataclass(frozen=True, slots=True)
class JudgeConsensus:
    """One judge: the number of answers, and the share that agrees with the fitted consensus."""

    name: str
    answers: int
    with_consensus: float


@dataclass(frozen=True, slots=True)
class AgreementWithin:
    """Agreement within one set. `ties`: pairs without a most frequent answer.

    `cohen` has every two judges who share a pair, by both names; `cohen_linear` and `cohen_quadratic` are the
    same with weights, empty with fewer than three grades, where all three are equal. They and `judges` are
    empty where judges are not distinguishable or comparable, and `no_judges` says why.
    """

    pairs: int
    queries: int
    answers: int
    fewest: int
    most: int
    ties: int
    alpha: dict[str, Estimate]
    fleiss: Estimate
    cohen: dict[str, Estimate]
    cohen_linear: dict[str, Estimate]
    cohen_quadratic: dict[str, Estimate]
    judges: tuple[JudgeConsensus, ...]
    no_judges: str


@dataclass(frozen=True, slots=True)
class AgreementBetween:
    """Two sets over their common pairs: kappa over thresholds, the two thresholds with the largest kappa, and
    the second set's quality there."""

    pairs: int
    common: int
    sweep: Sweep
    best_at: tuple[float, float] | None
    best: Retrieval | None


def agreement_within(
    pairs: Sequence[JudgedPair], resampling: Resampling, *, unit: str = "image"
) -> AgreementWithin:
    """Return every coefficient that `pairs` (at least one) allow; `unit` is the kind of their queries."""
    grades = [pair.grades for pair in pairs]
    clusters = [pair.query for pair in pairs]
    bootstrap = resampling.over(clusters, unit)
    ratings = as_ratings(grades)
    counts, values = answer_counts(grades)
    numbers = [len(answers_of_pair) for answers_of_pair in grades]
    no_judges = ""
    if not all(pair.judges for pair in pairs):
        no_judges = "the source does not say who judged"
    elif len(values) > MOST_GRADES:
        no_judges = f"{len(values)} different grades, too many for kappa; use alpha"
    votes = None if no_judges else _votes(pairs)
    return AgreementWithin(
        pairs=len(pairs),
        queries=len(set(clusters)),
        answers=sum(numbers),
        fewest=min(numbers),
        most=max(numbers),
        ties=int(((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum()),
        alpha={
            level: krippendorff(ratings, level=level, bootstrap=bootstrap) for level in MEASUREMENT_LEVELS
        },
        fleiss=fleiss(counts, bootstrap=bootstrap),
        cohen=_pairwise(votes, "none", bootstrap) if votes else {},
        cohen_linear=_pairwise(votes, "linear", bootstrap) if votes and len(values) > 2 else {},
        cohen_quadratic=_pairwise(votes, "quadratic", bootstrap) if votes and len(values) > 2 else {},
        judges=_judges(votes, dawid_skene(votes)) if votes else (),
        no_judges=no_judges,
    )


def agreement_between(
    first: Sequence[JudgedPair],
    second: Sequence[JudgedPair],
    resampling: Resampling,
    *,
    rows: Sequence[float] = (),
    columns: Sequence[float] = (),
    unjudged_is_no: bool = False,
    unit: str = "image",
) -> AgreementBetween:
    """Compare the mean answers of `first`'s pairs with those of `second`; `unit` is the kind of their
    queries.

    `rows` and `columns` are thresholds for the two; empty means every mean that occurs except the lowest. A
    pair that `second` lacks is excluded, or has its lowest answer if `unjudged_is_no`. Raises AgreementError
    if there is no common pair, or thresholds must be given.
    """
    theirs = {(pair.query, pair.document): pair.mean for pair in second}
    first_means = np.array([pair.mean for pair in first])
    second_means = np.array([theirs.get((pair.query, pair.document), np.nan) for pair in first])
    common = int((~np.isnan(second_means)).sum())
    if not common:
        raise AgreementError("the two files have no pair in common; check that their ids are written alike")
    if unjudged_is_no:
        lowest = min(grade for pair in second for grade in pair.grades)
        second_means = np.where(np.isnan(second_means), lowest, second_means)
    bootstrap = resampling.over([pair.query for pair in first], unit)
    rows, columns = rows or _thresholds(first_means, "rows"), columns or _thresholds(second_means, "columns")
    swept = sweep(first_means, second_means, rows=rows, columns=columns, bootstrap=bootstrap)
    best_at, best = None, None
    if swept.best:
        row, column, _ = swept.best
        best_at = row, column
        best = retrieval(second_means, first_means, at=column, truth_at=row, bootstrap=bootstrap)
    return AgreementBetween(pairs=len(first), common=common, sweep=swept, best_at=best_at, best=best)


def _thresholds(scores: Floats, what: str) -> tuple[float, ...]:
    """Return the values that occur, highest first, without the lowest, which cuts nothing off."""
    values = np.unique(scores[~np.isnan(scores)])[:0:-1]
    if len(values) > MOST_THRESHOLDS:
        raise AgreementError(f"{len(values)} different means; give the thresholds of the {what}")
    return tuple(float(value) for value in values)


def _votes(pairs: Sequence[JudgedPair]) -> Votes:
    return Votes.of(
        ((pair.query, pair.document), judge, grade)
        for pair in pairs
        for judge, grade in zip(pair.judges, pair.grades, strict=True)
    )


def _pairwise(votes: Votes, weights: str, bootstrap: Bootstrap | None) -> dict[str, Estimate]:
    """Return Cohen's kappa of every two judges who share a pair, with `weights` of KAPPA_WEIGHTS."""
    answers = np.full((len(votes.workers), len(votes.items)), np.nan)
    answers[votes.worker, votes.item] = np.array(votes.labels, dtype=np.float64)[votes.label]
    kappas = {}
    for a, b in combinations(range(len(votes.workers)), 2):
        if not np.isnan(answers[a] + answers[b]).all():
            kappas[f"{votes.workers[a]} and {votes.workers[b]}"] = cohen(
                answers[a], answers[b], weights=weights, bootstrap=bootstrap
            )
    return kappas


def _judges(votes: Votes, consensus: DawidSkene) -> tuple[JudgeConsensus, ...]:
    """Return each judge with their agreement with the consensus of Dawid and Skene's model."""
    places = {label: index for index, label in enumerate(votes.labels)}
    settled = np.array([places[label] for label in consensus.labels])
    same = np.bincount(votes.worker, weights=votes.label == settled[votes.item])
    numbers = np.bincount(votes.worker)
    return tuple(
        JudgeConsensus(str(name), int(number), float(share))
        for name, number, share in zip(votes.workers, numbers, same / numbers, strict=True)
    )
