"""The figures of systems in one direction: intervals, emphasis, curves, ranks.

Figures are those of `evaluation.comparison.scoring`, and tests those of its `compare`. Intervals of shares of
hits are Wilson's, others come from a bootstrap that resamples images. The best figure of a measure is
emphasised, and, less strongly, each that the paired bootstrap does not distinguish from it: the interval of
their difference contains 0, without adjustment for the number of comparisons.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phrasebox.agreement.estimates import Bootstrap
from phrasebox.figure_basis import FigureBasis, basis_of_several
from phrasebox.figure_tables import Weight, finite_or_none
from phrasebox.metrics.scoring import Score
from phrasebox.metrics.table import METRICS
from phrasebox.significance.resampling import Interval, Statistic, bootstrap_difference, figure_interval

ANNOTATION_TABLE = "annotation"
#: Upper ends of the bins of ranks; there are two more bins, for larger ranks and for items that were not
#: retrieved.
BINS = (1, 5, 10, 20, 50, 100, 500)


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A system's figure on one measure; None if it does not exist.

    `low` and `high` bound its interval, which is of the kind `interval` ("bootstrap", "Wilson") and based on
    that many `images`; `remark` is about it. `at_best` counts unjudged items within the cut as relevant (no
    upper bound: see `tables.bounds`); `judged` is the share of the top `judged_at` that somebody judged.
    `queries` have a value.
    """

    value: float | None
    low: float | None
    high: float | None
    at_best: float | None
    queries: int
    judged_at: int
    judged: float | None
    mark: str = ""
    weight: Weight = ""
    interval: str = ""
    images: int = 0
    remark: str = ""


@dataclass(frozen=True, slots=True)
class SystemFigures:
    """A run and its figures by measure; it does not rank `missing` queries, and it ranks `candidates` items.

    `curves` maps "R" and "S" to the shares at k = 1, 2, ...; `ranks` counts queries by the bin of their best
    original's rank: `BINS`, larger ranks, not retrieved.
    """

    run: str
    system: str
    label: str
    missing: int
    candidates: int
    figures: Mapping[str, MeasuredFigure]
    curves: Mapping[str, Sequence[float]]
    ranks: Sequence[int]


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A system against the baseline on one measure, as `evaluation.comparison.scoring.Against`."""

    run: str
    label: str
    measure: str
    difference: float | None
    test: str
    p: float | None
    adjusted: float | None
    mark: str
    reason: str


@dataclass(frozen=True, slots=True)
class DirectionTable:
    """One direction's table, systems in the requested order; `baseline` is a label, "" if there is none.

    `basis` describes the queries of the figures, `remarks` what was not ranked, and `provenance` what systems
    have seen of the images, by label, as plain data (`evaluation.comparison.provenance`).
    """

    direction: str
    basis: FigureBasis
    remarks: Sequence[str]
    baseline: str
    measures: Sequence[str]
    systems: Sequence[SystemFigures]
    tests: Sequence[SignificanceTest]
    provenance: Mapping[str, Any] = field(default_factory=dict)


def basis_of_directions(directions: Sequence[DirectionTable]) -> FigureBasis:
    """Return the basis of the figures of all directions together."""
    return basis_of_several({direction.direction: direction.basis for direction in directions})


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The measurements of a run: its scores by measure, those of its curves, and the judged shares."""

    run: str
    system: str
    missing: int
    candidates: int
    scores: Mapping[str, Score]
    curves: Mapping[str, Sequence[float]]
    judged: Mapping[str, tuple[int, float]]
    first_ranks: Sequence[float]


def labels_of(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Return labels for runs given as (run, system): the system, if no other of these runs has it."""
    systems = [system for _, system in runs]
    taken = {name for name, _ in runs}
    return [
        system if system and systems.count(system) == 1 and (system == name or system not in taken) else name
        for name, system in runs
    ]


@dataclass(frozen=True, slots=True)
class DirectionHead:
    """What is above a direction's table, as in `DirectionTable`."""

    direction: str
    basis: FigureBasis
    remarks: Sequence[str]
    baseline: str
    provenance: Mapping[str, Any] = field(default_factory=dict)


def direction_of(
    head: DirectionHead,
    measured: Sequence[MeasuredRun],
    tests: Sequence[SignificanceTest],
    *,
    draws: Bootstrap,
    report_progress: Callable[[str], None],
) -> DirectionTable:
    """Build a direction's table; `draws.clusters` is each query's image.

    `report_progress` is called with each measure and each run before its intervals are computed, which takes
    time.
    """
    labels = labels_of([(scored.run, scored.system) for scored in measured])
    measures = list(measured[0].scores)
    marks = {(test.run, test.measure): test.mark for test in tests}
    weights = {}
    for name in measures:
        report_progress(name)
        weights[name] = weights_of([scored.scores[name] for scored in measured], draws)
    systems = []
    for number, (scored, label) in enumerate(zip(measured, labels, strict=True)):
        report_progress(scored.run)
        figures = {
            name: _figure(
                scored.scores[name],
                scored.judged[name],
                draws,
                marks.get((scored.run, name), ""),
                weights[name][number],
            )
            for name in measures
        }
        systems.append(
            SystemFigures(
                scored.run,
                scored.system,
                label,
                scored.missing,
                scored.candidates,
                figures,
                scored.curves,
                binned(scored.first_ranks),
            )
        )
    return DirectionTable(
        head.direction,
        head.basis,
        head.remarks,
        head.baseline,
        measures,
        systems,
        tests,
        head.provenance,
    )


def weights_of(scores: Sequence[Score], draws: Bootstrap) -> list[Weight]:
    """Return which systems have the best figure of a measure, and which are not distinguishable from it.

    Where all figures are equal, or there is only one, nothing is emphasised.
    """
    measure = METRICS.find(scores[0].measure).measure
    values = np.array([score.value for score in scores])
    weights: list[Weight] = [""] * len(scores)
    there = np.flatnonzero(~np.isnan(values))
    if len(there) < 2 or (values[there] == values[there[0]]).all():
        return weights
    best = values[there].max() if measure.higher_is_better else values[there].min()
    first = int(there[values[there] == best][0])
    for score in there.tolist():
        if values[score] == best:
            weights[score] = "best"
        elif _not_distinguishable(scores[first], scores[score], draws):
            weights[score] = "near"
    return weights


def binned(ranks: Sequence[float]) -> list[int]:
    """Return the number of ranks in each bin; a query without an original (NaN) is in none."""
    values = np.asarray(ranks, dtype=np.float64)
    values = values[~np.isnan(values)]
    places = np.where(np.isinf(values), len(BINS) + 1, np.searchsorted(BINS, values))
    return [int(number) for number in np.bincount(places, minlength=len(BINS) + 2)]


def _figure(
    score: Score, judged: tuple[int, float], draws: Bootstrap, mark: str, weight: Weight
) -> MeasuredFigure:
    interval = interval_of(score, draws)
    return MeasuredFigure(
        value=finite_or_none(score.value),
        low=finite_or_none(interval.low) if interval else None,
        high=finite_or_none(interval.high) if interval else None,
        at_best=finite_or_none(score.optimistic),
        queries=score.queries,
        judged_at=judged[0],
        judged=finite_or_none(judged[1]),
        mark=mark,
        weight=weight,
        interval=interval.kind if interval else "",
        images=interval.clusters if interval else 0,
        remark=interval.remark if interval else "",
    )


def interval_of(score: Score, draws: Bootstrap) -> Interval | None:
    """Return the interval of a figure; None if no query has a value, or the mean is not finite."""
    share = METRICS.find(score.measure).measure.unit == "share"
    try:
        return figure_interval(score.per_query, draws, statistic=_statistic(score), share=share)
    except ValueError:
        return None


def _not_distinguishable(best: Score, compared: Score, draws: Bootstrap) -> bool:
    try:
        apart = bootstrap_difference(best.per_query, compared.per_query, draws, statistic=_statistic(best))
    except ValueError:  # a mean that is not finite
        return False
    return apart.low <= 0 <= apart.high


def _statistic(score: Score) -> Statistic:
    return "median" if METRICS.find(score.measure).measure.summary == "median" else "mean"
