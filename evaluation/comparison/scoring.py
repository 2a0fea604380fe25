"""Scoring runs against qrels, with the share of judged items, and comparing systems.

All runs of a comparison are scored on the queries of one snapshot (`ranked_runs` describes the pool). A run
that does not rank some of them is refused; on request they get an empty list, or are left out for all runs.
`figure_basis` describes the basis of figures for commands, pages, reports and the API. An image and its own
caption are originals, if the snapshot has the pair; an original that nobody judged is known to be relevant,
and counts as judged.

Tests. Each run is compared with the first on each measure: measures that are 0 or 1 for a query (R@k, S@k) by
McNemar's exact test, median ranks and means by Fisher's randomisation. Where several queries belong to one
image (captions as queries) they are not independent, and all tests are by randomisation, which exchanges
whole images. P values are adjusted by Holm over the whole table.

Source: Hodosh et al. 2013, section 4.3 (measures, tests, marks).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.common.database import chunks
from evaluation.comparison.conventions import MEAN_RANKS, reorder_for, ties_in_figures
from evaluation.comparison.missing import LEAVE_OUT, REFUSE, WORST, MissingOutput, check_missing
from evaluation.comparison.original_pairs import AnyQrels, OriginalPairs
from evaluation.comparison.query_sets import ASKS, IMAGE, ranked_queries, unjudged_pairs, unknown_queries
from evaluation.comparison.ranked_runs import (
    Placed,
    RankedItems,
    Reorder,
    RowIds,
    RunPool,
    candidates_apart,
    check_fits,
    folds_of,
    pool_of,
    rank_in_pools,
    ranked_by_all,
)
from evaluation.comparison.subsets import Subset
from evaluation.models import Run
from evaluation.selectors import names_of
from phrasebox.errors import PhraseboxError
from phrasebox.figure_basis import FigureBasis
from phrasebox.metrics import METRICS
from phrasebox.metrics.scoring import Score, evaluate
from phrasebox.metrics.sums import number_of
from phrasebox.relevance.qrels import rule_named
from phrasebox.significance.mcnemar_test import mcnemar
from phrasebox.significance.pairing import shared_images
from phrasebox.significance.preference import Preference, preference
from phrasebox.significance.randomisation import ROUNDS, of_means, of_median
from phrasebox.significance.tables import holm, mark

DEFAULT_MEASURES = (
    *("R@1", "R@5", "R@10", "median rank", "S@1", "S@5", "S@10"),
    *("R-precision", "MAP", "nDCG@10", "bpref", "infAP"),
)
#: The measures under a protocol, where nobody judged.
OF_ORIGINALS = ("R@1", "R@5", "R@10", "median rank")
_CAPTIONS_AT_ONCE = 5_000
#: The k of judged@k for a measure without a cut-off.
JUDGED_AT = 10


@dataclass(frozen=True, slots=True)
class Scored:
    """A run's figures on `queries`, row ids of images or captions according to `asks`; `scores` is by
    measure.

    The qrels have `query_count` queries, of which the run does not rank `missing`; `without_relevant` of the
    scored ones have no relevant item. Unless the queries are `known`, they are the judged ones. The pool has
    `items` items, and the run ranks `candidates`. `judged` maps each measure to (k, the mean share of the top
    k that somebody judged).
    """

    run: str
    asks: str
    queries: RowIds
    query_count: int
    missing: int
    without_relevant: int
    known: bool
    items: int
    candidates: RankedItems
    scores: Mapping[str, Score]
    judged: Mapping[str, tuple[int, float]]

    @property
    def remarks(self) -> list[str]:
        """Return remarks on the figures, a sentence each."""
        remarks = []
        if self.missing:
            how = "count as the worst result" if len(self.queries) == self.query_count else "are left out"
            remarks.append(
                f"{self.run} does not rank {self.missing} of the {self.query_count} queries; they {how}."
            )
        if self.candidates.whole and len(self.candidates.items) < self.items:
            remarks.append(
                f"{self.run} chose from {len(self.candidates.items)} of the {self.items} items that take "
                "part."
            )
        return remarks


@dataclass(frozen=True, slots=True)
class Against:
    """A run against the first, on one measure; p is None if `reason` says why.

    `difference` is the run's figure minus the first's, and `adjusted` is p after Holm. `preference` is on how
    many queries the run is better; None if no query has a value.
    """

    run: str
    measure: str
    difference: float
    test: str
    p: float | None
    adjusted: float | None
    mark: str
    reason: str = ""
    preference: Preference | None = None


def score(
    run: Run,
    snapshot: AnyQrels,
    measures: Sequence[str] = (),
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
) -> Scored:
    """Return the figures of `run` under `snapshot`, or under its part in `subset`; raises UnknownMeasure,
    NotComparable.

    Default measures: OF_ORIGINALS under a protocol, else DEFAULT_MEASURES. `missing` is a `Missing`,
    `convention` one of `conventions`.
    """
    (scored,) = score_all([run], snapshot, measures, subset=subset, missing=missing, convention=convention)
    return scored


def score_folds(
    run: Run,
    snapshot: AnyQrels,
    number: int,
    measures: Sequence[str] = (),
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
) -> list[Scored]:
    """Return the figures on each of `number` equal parts of the snapshot's images, in corpus order.

    A fold's images are ranked among each other, with their captions: COCO's 5,000 images in five folds are
    "1k". Raises as `score` does.
    """
    whole = pool_of(run, snapshot, subset)
    folds = folds_of(whole, run, snapshot, number)
    reorder = reorder_for(run, convention)
    pools = [scored_queries(fold, [run], snapshot, missing) for fold in folds]
    return [
        score_placed(run, snapshot, placed, fold, measures)
        for fold, placed in zip(folds, rank_in_pools(run, pools, reorder=reorder), strict=True)
    ]


def scored_queries(whole: RunPool, runs: Sequence[Run], snapshot: AnyQrels, missing: str = REFUSE) -> RunPool:
    """Return the pool with the queries on which runs are scored: all, or under LEAVE_OUT those that all runs
    rank.

    Raises PhraseboxError for a run that lacks some if `missing` is REFUSE.
    """
    if missing == LEAVE_OUT:
        return ranked_by_all(whole, runs, snapshot)
    if missing != WORST:
        for run in runs:
            _check_ranked(whole, run, missing)
    return whole


def _check_ranked(whole: RunPool, run: Run, missing: str) -> None:
    lacking = np.setdiff1d(whole.queries, ranked_queries(run)).tolist()
    names = names_of(run.corpus.name)
    called = names.image_name if run.direction == Run.ANNOTATION else names.caption_name
    try:
        check_missing(
            missing,
            lacking=[called[query] for query in lacking],
            out_of=len(whole.queries),
            cases="queries",
            output=f"ranking in run {run.name!r}",
        )
    except MissingOutput as error:
        raise PhraseboxError(str(error)) from error


def _score(
    run: Run,
    snapshot: AnyQrels,
    whole: RunPool,
    pool: RunPool,
    measures: Sequence[str] = (),
    reorder: Reorder | None = None,
) -> Scored:
    (placed,) = rank_in_pools(run, [pool], reorder=reorder)
    return score_placed(run, snapshot, placed, whole, measures)


def score_placed(
    run: Run, snapshot: AnyQrels, placed: Placed, whole: RunPool, measures: Sequence[str] = ()
) -> Scored:
    """Return the figures of a run ranked in a pool of `snapshot`, or in a part of the pool `whole`; as
    `score`."""
    measures = measures or (OF_ORIGINALS if snapshot.pool else DEFAULT_MEASURES)
    chosen = [METRICS.find(name, family="ranking") for name in measures]
    cuts = {measure.name: measure.depth or JUDGED_AT for measure in chosen}
    deepest = max(chosen, key=lambda measure: measure.depth or 0)
    if placed.complete_to is not None and placed.complete_to < (deepest.depth or 0):
        raise PhraseboxError(
            f"run {run.name!r} keeps the best {run.depth} items of a ranking; for one query only "
            f"{placed.complete_to} of them take part, but {deepest.name} needs {deepest.depth}: import the "
            "run again, "
            "with whole rankings"
        )
    try:
        names = [measure.name for measure in chosen] + [f"judged@{k}" for k in cuts.values()]
        scores = evaluate(placed.ranked, dict.fromkeys(names))
    except ValueError as error:
        raise PhraseboxError(f"run {run.name!r} under qrels '{snapshot}': {error}") from error
    incomplete = len(placed.pool.queries) < len(whole.queries)
    return Scored(
        run=run.name,
        asks=ASKS[run.direction],
        queries=placed.pool.queries,
        query_count=len(whole.queries),
        missing=len(np.setdiff1d(whole.queries, ranked_queries(run))) if incomplete else placed.missing,
        without_relevant=int((number_of(placed.ranked, placed.ranked.relevant) == 0).sum()),
        known=whole.known,
        items=whole.size,
        candidates=placed.candidates,
        scores={measure.name: scores[measure.name] for measure in chosen},
        judged={name: (k, scores[f"judged@{k}"].value) for name, k in cuts.items()},
    )


def score_against_first(
    runs: Sequence[Run],
    snapshot: AnyQrels,
    measures: Sequence[str] = (),
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> tuple[list[Scored], list[Against]]:
    """Return all runs' figures on the same queries, and tests of each later run against the first; raises as
    `score`."""
    if len({run.pk for run in runs}) != len(runs) or len(runs) < 2:
        raise PhraseboxError("name at least two different runs; the others are compared with the first")
    scored = score_all(runs, snapshot, measures, subset=subset, missing=missing, convention=convention)
    names = list(scored[0].scores)
    images = images_of_queries(scored[0].queries, runs[0].direction, snapshot)
    return scored, adjusted_by_holm(
        [
            against(name, scored[0], challenger, images=images, rounds=rounds, seed=seed)
            for name in names
            for challenger in scored[1:]
        ]
    )


def images_of_queries(queries: RowIds, direction: str, snapshot: AnyQrels) -> list[int]:
    """Return the image of each query of a snapshot (row ids): the query itself, or the image of the
    caption."""
    asking: list[int] = queries.tolist()
    if direction == Run.ANNOTATION:
        return asking
    owner: dict[int, int] = {}
    for some in chunks(asking, _CAPTIONS_AT_ONCE):
        rows = snapshot.corpus.images.filter(captions__in=some).order_by()
        owner.update(rows.values_list("captions__pk", "pk"))
    return [owner[caption] for caption in asking]


def score_all(
    runs: Sequence[Run],
    snapshot: AnyQrels,
    measures: Sequence[str] = (),
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
) -> list[Scored]:
    """Return the figures of runs of one direction, on the same queries; raises as `score` does."""
    turned = next((run for run in runs if run.direction != runs[0].direction), None)
    if turned is not None:
        raise PhraseboxError(
            f"run {turned.name!r} has the direction {turned.direction}, {runs[0].name!r} has "
            f"{runs[0].direction}; compare one direction at a time"
        )
    whole = pool_of(runs[0], snapshot, subset)
    for run in runs[1:]:
        check_fits(run, snapshot)
    pool = scored_queries(whole, runs, snapshot, missing)
    return [_score(run, snapshot, whole, pool, measures, reorder_for(run, convention)) for run in runs]


def figure_basis(
    parts: Sequence[Scored],
    snapshot: AnyQrels,
    *,
    subset: Subset | None = None,
    missing: str = REFUSE,
    convention: str = MEAN_RANKS,
) -> FigureBasis:
    """Return the basis of figures: of runs that were scored together (any one of them), or of the folds of
    one.

    Notes list what the qrels lack: queries, or answers of their batch.
    """
    if isinstance(snapshot, OriginalPairs):
        # The items are those that the run ranks, and there are no qrels that name them.
        ranked = "captions" if parts[0].asks == IMAGE else "images"
        items = f"{parts[0].candidates.count_text} {ranked} of corpus {snapshot.corpus.name}"
        pool, unknown, unjudged = [items, snapshot.split], "", ""
    else:
        pool = [f"qrels {snapshot}", snapshot.subset]
        unknown = "" if parts[0].known else unknown_queries(snapshot, parts[0].asks)
        unjudged = unjudged_pairs(snapshot)
    rule = f"{rule_named(snapshot.rule).described()}; originals "
    rule += "relevant" if snapshot.originals else "as judged"
    pool.append(subset.called if subset else "")
    counted, out_of = sum(len(part.queries) for part in parts), sum(part.query_count for part in parts)
    return FigureBasis(
        cases="queries" if parts[0].known else "judged queries",
        counted=counted,
        out_of=out_of,
        without_output=out_of - counted,
        without_relevant=sum(part.without_relevant for part in parts),
        pool=", ".join(dict.fromkeys(filter(None, pool))),
        protocol=snapshot.pool or rule,
        missing=missing,
        ties=ties_in_figures(convention),
        notes=tuple(filter(None, (unknown, unjudged))),
    )


def differing_by_ties(
    run: Run, snapshot: AnyQrels, reorder: Reorder, measures: Sequence[str] = DEFAULT_MEASURES
) -> int:
    """Return how many of the run's queries have a different figure if `reorder` sorts its tied items.

    Any of the measures counts; raises as `score` does.
    """
    whole = pool_of(run, snapshot)
    pool = scored_queries(whole, [run], snapshot, LEAVE_OUT)
    ours = _score(run, snapshot, whole, pool, measures)
    theirs = _score(run, snapshot, whole, pool, measures, reorder)
    pairs = ((our_score.per_query, theirs.scores[name].per_query) for name, our_score in ours.scores.items())
    equal = [
        np.isclose(our_values, their_values, rtol=0, atol=1e-9, equal_nan=True)
        for our_values, their_values in pairs
    ]
    return int((~np.logical_and.reduce(equal)).sum())


def remarks_on(scored: Sequence[Scored]) -> list[str]:
    """Return the remarks on these runs' figures: missing queries, differing candidates."""
    remarks = [remark for run in scored for remark in run.remarks]
    if len(scored) > 1 and len(scored[0].queries) < scored[0].query_count:
        remarks.append(
            f"Results cover the {len(scored[0].queries)} of {scored[0].query_count} queries that all "
            "runs rank."
        )
    if apart := candidates_apart([(run.run, run.candidates) for run in scored]):
        remarks.append(f"{apart[0].upper()}{apart[1:]}.")
    return remarks


def adjusted_by_holm(tests: Sequence[Against]) -> list[Against]:
    """Add Holm's p values over all tests of one table, and their marks."""
    adjusted = holm([np.nan if test.p is None else test.p for test in tests])
    return [
        replace(test, adjusted=None if test.p is None else float(p), mark=mark(float(p)))
        for test, p in zip(tests, adjusted, strict=True)
    ]


def against(
    name: str,
    base: Scored,
    challenger: Scored,
    *,
    images: Sequence[int],
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Against:
    """Compare `challenger` with `base` on one measure on which both were scored; p is not adjusted yet.
    `images` is the image of each query."""
    measure = METRICS.find(name).measure
    ours, theirs = challenger.scores[name].per_query, base.scores[name].per_query
    with np.errstate(invalid="ignore"):
        difference = float(challenger.scores[name].value - base.scores[name].value)
    if np.isnan(theirs).all():
        return Against(challenger.run, name, difference, "none", None, None, "", "no query has a value")
    p, reason = None, ""
    together = shared_images(images, theirs) is not None
    by = ", by image" if together else ""
    preferred = preference(
        ours,
        theirs,
        higher_is_better=measure.higher_is_better,
        images=images,
        rounds=rounds,
        seed=seed,
    )
    if measure.binary and not together:
        test, p = "McNemar", mcnemar(ours, theirs).p
    elif measure.summary == "median":
        test = f"randomisation of medians{by}"
        p = of_median(ours, theirs, images=images, rounds=rounds, seed=seed).p
    elif np.isinf(ours).any() or np.isinf(theirs).any():
        test, reason = (
            "none",
            ("not all originals were retrieved, so the mean rank is undefined; use the median"),
        )
    else:
        table = of_means(np.stack([ours, theirs]), images=images, rounds=rounds, seed=seed)
        test, p = f"randomisation of means{by}", float(table.p[0, 1])
    return Against(challenger.run, name, difference, test, p, None, "", reason, preferred)
