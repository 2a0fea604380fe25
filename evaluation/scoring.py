"""Runs against qrels: figures with what was judged beside them, and systems compared.

All runs of a comparison are scored on the queries of one snapshot. A query that a run does not rank
has an empty list, and scores as if nothing was found. The items are those that the run ranks or the
snapshot knows. An image and its own caption, where the snapshot has the pair, are originals; one that
nobody judged is known to be relevant, and counts as judged.

Tests. Each run is compared with the first on each measure: R@k and S@k by McNemar's exact test, median
ranks and means by Fisher's randomisation; values of p are adjusted by Holm over the whole table.
Source: Hodosh et al. 2013, section 4.3 (measures, tests, marks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.metrics import METRICS
from evaluation.metrics.judged import Judged, judged
from evaluation.metrics.ranked import from_lists
from evaluation.metrics.scoring import Score, evaluate
from evaluation.models import QrelsRow, QrelsSnapshot, Run
from evaluation.selectors import Names, names_of, rankings_of
from evaluation.significance.mcnemar import mcnemar
from evaluation.significance.randomisation import ROUNDS, of_means, of_median
from evaluation.significance.tables import holm, mark

MEASURES = (
    *("R@1", "R@5", "R@10", "median rank", "S@1", "S@5", "S@10"),
    *("R-precision", "MAP", "nDCG@10", "bpref", "infAP"),
)
#: How deep judged@k looks beside a measure without a cut-off.
JUDGED_AT = 10
#: Measures that are 0 or 1 for each query.
_FOUND_OR_NOT = ("R@k", "S@k")


class NotComparable(ValueError):
    """A run and qrels, or runs, that cannot be held against each other; one line with the remedy."""


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


def score(run: Run, snapshot: QrelsSnapshot, measures: Sequence[str] = MEASURES) -> Scored:
    """Figures of `run` under `snapshot`; raises UnknownMeasure, and NotComparable."""
    asked = [METRICS.find(name, family="ranking") for name in measures]
    cuts = {one.name: one.k or JUDGED_AT for one in asked}
    names = _names(run, snapshot)
    queries, items, known = _judged(run, snapshot, names)
    ranked = {query: (found, values) for query, found, values in rankings_of(run)}
    strange = sorted({item for found, _ in ranked.values() for item in found.tolist()} - items.keys())
    for item in strange:
        items[item] = len(items)
    depth = max((len(ranked[query][0]) for query in queries if query in ranked), default=0)
    lists = np.full((len(queries), depth), -1, dtype=np.intp)
    scores = np.full((len(queries), depth), -np.inf, dtype=np.float32)
    for row, query in enumerate(queries):
        found, values = ranked.get(query, ((), ()))
        lists[row, : len(found)] = [items[item] for item in np.asarray(found).tolist()]
        scores[row, : len(found)] = values
    pairs = replace(known, items=len(items))
    try:
        wanted = [one.name for one in asked] + [f"judged@{k}" for k in cuts.values()]
        found_scores = evaluate(from_lists(lists, pairs, scores=scores), dict.fromkeys(wanted))
    except ValueError as error:
        raise NotComparable(f"run {run.name!r} under qrels '{snapshot}': {error}") from error
    return Scored(
        run=run.name,
        queries=len(queries),
        missing=sum(query not in ranked for query in queries),
        scores={one.name: found_scores[one.name] for one in asked},
        judged={name: (k, found_scores[f"judged@{k}"].value) for name, k in cuts.items()},
    )


def compare(
    runs: Sequence[Run],
    snapshot: QrelsSnapshot,
    measures: Sequence[str] = MEASURES,
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
    tests = [_test(name, scored[0], other, rounds, seed) for name in scored[0].scores for other in scored[1:]]
    adjusted = holm([np.nan if one.p is None else one.p for one in tests])
    return scored, [
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


def _test(name: str, base: Scored, other: Scored, rounds: int, seed: int) -> Against:
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


def _names(run: Run, snapshot: QrelsSnapshot) -> Names:
    if run.corpus_id != snapshot.corpus_id:
        raise NotComparable(
            f"run {run.name!r} is of corpus {run.corpus.name!r}, qrels '{snapshot}' of "
            f"{snapshot.corpus.name!r}; choose qrels of the same corpus"
        )
    return names_of(run.corpus.name)


def _judged(run: Run, snapshot: QrelsSnapshot, names: Names) -> tuple[list[int], dict[int, int], Judged]:
    """The snapshot's queries, its items by number, and its pairs, in the run's direction."""
    rows = QrelsRow.objects.filter(snapshot=snapshot)
    if rows.filter(image__isnull=True).exists():
        raise NotComparable(f"qrels '{snapshot}' ask about keywords, and runs rank for images and captions")
    pairs = list(rows.values_list("image_id", "caption_id", "relevance"))
    by_image = run.direction == Run.ANNOTATION
    asks, ranked = (0, 1) if by_image else (1, 0)
    queries = sorted({pair[asks] for pair in pairs})
    items = {item: number for number, item in enumerate(sorted({pair[ranked] for pair in pairs}))}
    number = {query: place for place, query in enumerate(queries)}
    return (
        queries,
        items,
        judged(
            [number[pair[asks]] for pair in pairs],
            [items[pair[ranked]] for pair in pairs],
            [pair[2] for pair in pairs],
            original=[names.owner[caption] == image for image, caption, _ in pairs],
            queries=len(queries),
            items=len(items),
        ),
    )
