"""Runs against qrels: figures with what was judged beside them, and systems compared.

All runs of a comparison are scored on the queries of one snapshot (`ranked_runs` says what takes part).
A query that a run does not rank has an empty list, and scores as if nothing was found. An image and its
own caption, where the snapshot has the pair, are originals; one that nobody judged is known to be
relevant, and counts as judged.

Tests. Each run is compared with the first on each measure: R@k and S@k by McNemar's exact test, median
ranks and means by Fisher's randomisation; values of p are adjusted by Holm over the whole table.
Source: Hodosh et al. 2013, section 4.3 (measures, tests, marks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics import METRICS
from evaluation.metrics.scoring import Score, evaluate
from evaluation.models import QrelsSnapshot, Run
from evaluation.ranked_runs import NotComparable, Placed, folds_of, place, pool_of
from evaluation.significance.mcnemar import mcnemar
from evaluation.significance.randomisation import ROUNDS, of_means, of_median
from evaluation.significance.tables import holm, mark

MEASURES = (
    *("R@1", "R@5", "R@10", "median rank", "S@1", "S@5", "S@10"),
    *("R-precision", "MAP", "nDCG@10", "bpref", "infAP"),
)
#: What is asked under a protocol, where nobody judged.
OF_ORIGINALS = ("R@1", "R@5", "R@10", "median rank")
#: How deep judged@k looks beside a measure without a cut-off.
JUDGED_AT = 10
#: Measures that are 0 or 1 for each query.
_FOUND_OR_NOT = ("R@k", "S@k")


@dataclass(frozen=True, slots=True)
class Scored:
    """A run's figures. `missing` of the `queries` are not ranked by the run; `scores` is by measure.

    `judged` maps each measure to (k, the mean share of the top k that somebody judged).
    """

    run: str
    queries: int
    missing: int
    scores: Mapping[str, Score]
    judged: Mapping[str, tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Against:
    """A run against the first, on one measure; p is None where `reason` says why.

    `difference` is the run's figure less the first's, and `adjusted` is Holm's.
    """

    run: str
    measure: str
    difference: float
    test: str
    p: float | None
    adjusted: float | None
    mark: str
    reason: str = ""


def score(run: Run, snapshot: QrelsSnapshot, measures: Sequence[str] = ()) -> Scored:
    """Figures of `run` under `snapshot`; raises UnknownMeasure, and NotComparable.

    Where no measures are named: OF_ORIGINALS under a protocol, else MEASURES.
    """
    (placed,) = place(run, [pool_of(run, snapshot)])
    return score_placed(run, snapshot, placed, measures)


def score_folds(run: Run, snapshot: QrelsSnapshot, number: int, measures: Sequence[str] = ()) -> list[Scored]:
    """Figures of each of `number` equal parts of the snapshot's images, in corpus order.

    A fold's images are ranked among each other, with their captions: COCO's 5,000 images in five folds
    are "1k". Raises UnknownMeasure, and NotComparable.
    """
    return [
        score_placed(run, snapshot, placed, measures)
        for placed in place(run, folds_of(run, snapshot, number))
    ]


def score_placed(run: Run, snapshot: QrelsSnapshot, placed: Placed, measures: Sequence[str] = ()) -> Scored:
    """Figures of a run that was placed in a pool of `snapshot`; raises as `score` does."""
    measures = measures or (OF_ORIGINALS if snapshot.pool else MEASURES)
    asked = [METRICS.find(name, family="ranking") for name in measures]
    cuts = {one.name: one.k or JUDGED_AT for one in asked}
    deepest = max(asked, key=lambda one: one.k or 0)
    if placed.kept is not None and placed.kept < (deepest.k or 0):
        raise NotComparable(
            f"run {run.name!r} keeps the best {run.depth} items of a ranking, for a query {placed.kept} of "
            f"which take part; {deepest.name} needs {deepest.k}: import the run again with --depth 0"
        )
    try:
        wanted = [one.name for one in asked] + [f"judged@{k}" for k in cuts.values()]
        found = evaluate(placed.ranked, dict.fromkeys(wanted))
    except ValueError as error:
        raise NotComparable(f"run {run.name!r} under qrels '{snapshot}': {error}") from error
    return Scored(
        run=run.name,
        queries=len(placed.pool.queries),
        missing=placed.missing,
        scores={one.name: found[one.name] for one in asked},
        judged={name: (k, found[f"judged@{k}"].value) for name, k in cuts.items()},
    )


def compare(
    runs: Sequence[Run],
    snapshot: QrelsSnapshot,
    measures: Sequence[str] = (),
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> tuple[list[Scored], list[Against]]:
    """All runs' figures, and each later run against the first; raises NotComparable, UnknownMeasure."""
    if len({run.pk for run in runs}) != len(runs) or len(runs) < 2:
        raise NotComparable("name two runs or more, each once; the first is what the others are held against")
    turned = next((run for run in runs if run.direction != runs[0].direction), None)
    if turned is not None:
        raise NotComparable(
            f"run {turned.name!r} is of the direction {turned.direction}, {runs[0].name!r} of "
            f"{runs[0].direction}; compare one direction at a time"
        )
    scored = [score(run, snapshot, measures) for run in runs]
    names = list(scored[0].scores)
    return scored, adjusted_by_holm(
        [against(name, scored[0], other, rounds=rounds, seed=seed) for name in names for other in scored[1:]]
    )


def adjusted_by_holm(tests: Sequence[Against]) -> list[Against]:
    """The tests of one table, with Holm's values of p over all of them, and their marks."""
    adjusted = holm([np.nan if one.p is None else one.p for one in tests])
    return [
        Against(
            one.run,
            one.measure,
            one.difference,
            one.test,
            one.p,
            None if one.p is None else float(p),
            mark(float(p)),
            one.reason,
        )
        for one, p in zip(tests, adjusted, strict=True)
    ]


def against(name: str, base: Scored, other: Scored, *, rounds: int = ROUNDS, seed: int = 0) -> Against:
    """`other` against `base` on one measure that both were scored on; p is not adjusted yet."""
    measure = METRICS.find(name).measure
    ours, theirs = other.scores[name].per_query, base.scores[name].per_query
    with np.errstate(invalid="ignore"):
        difference = float(other.scores[name].value - base.scores[name].value)
    p, reason = None, ""
    if np.isnan(theirs).all():
        test, reason = "none", "no query has a value"
    elif measure.name in _FOUND_OR_NOT:
        test, p = "McNemar", mcnemar(ours, theirs).p
    elif measure.summary == "median":
        test, p = "randomisation of medians", of_median(ours, theirs, rounds=rounds, seed=seed).p
    elif np.isinf(ours).any() or np.isinf(theirs).any():
        test, reason = "none", "not all originals were retrieved, so there is no mean rank; use the median"
    else:
        table = of_means(np.stack([ours, theirs]), rounds=rounds, seed=seed)
        test, p = "randomisation of means", float(table.p[0, 1])
    return Against(other.run, name, difference, test, p, None, "", reason)
