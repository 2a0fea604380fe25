"""Figures of runs under qrels: of one, and of several against the first."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.core.cache import cache
from django.db.models import Model
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    Help,
    Named,
    NewFile,
    OneOf,
    OperationContext,
    StoredKind,
    invalid,
    read_result,
)
from evaluation.comparison.comparisons import compare_runs, per_query_rows, score_run
from evaluation.comparison.conventions import MEAN_RANKS, convention_choices
from evaluation.comparison.missing import REFUSE, missing_choices
from evaluation.comparison.original_pairs import AnyQrels, original_pairs
from evaluation.comparison.query_sets import ASKS
from evaluation.comparison.subsets import Subset, subset_named
from evaluation.formats.per_query import WRITERS, write_per_query
from evaluation.models import QrelsSnapshot, Run, System
from evaluation.selectors import run_named, snapshot_named
from evaluation.services.request_fields import IntervalRequest, check_images
from evaluation.services.runs.listing import direction_choices
from evaluation.services.stored_kinds import QRELS, STORED_RUNS
from evaluation.services.systems.registry import SYSTEMS, system_row
from phrasebox.errors import PhraseboxError
from phrasebox.metrics.table import METRICS
from phrasebox.significance.randomisation import MOST_ROUNDS, ROUNDS

#: Largest number of runs of a direction that are compared in a request.
MOST_RUNS_COMPARED = 12
#: Seconds for which figures are cached.
_CACHED_SECONDS = 3600


def _value_formats() -> dict[str, Any]:
    return {ending.removeprefix("."): None for ending in WRITERS}


class _RunsOrSystems(StoredKind):
    """Runs, and systems by the names that no run has."""

    def find(self, name: Any, account: Any, roles: Iterable[str]) -> Model | None:
        """Return the run of that name, else the system; None if there is neither."""
        return super().find(name, account, roles) or SYSTEMS.find(name, account, roles)


_RUNS_OR_SYSTEMS = _RunsOrSystems(_("run or system"), STORED_RUNS.rows)
_Qrels = Annotated[
    Annotated[str, Named(QRELS)] | None,
    Help(_("Qrels"), _("NAME (the newest version) or NAME:VERSION; by default the original pairs")),
]
_Measures = Annotated[
    tuple[Annotated[str, Field(max_length=60)], ...],
    Field(max_length=50),
    Help(_("Measures"), _("By default the usual ones"), only_commas=True),
]
_Split = Annotated[
    Annotated[str, Field(max_length=1000)] | None,
    Help(_("Images"), _("A split, a fold such as 1/5, or run:NAME for those that a run ranks; else all")),
]
_FoldSeed = Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of the fold"))]
_Missing = Annotated[str, OneOf(missing_choices), Help(_("Queries that a run does not rank"))]
_Convention = Annotated[
    str,
    OneOf(convention_choices),
    Help(_("Items with equal scores"), _("In falling order of ids, all figures are those of trec_eval")),
]
_Folds = Annotated[
    Annotated[int, Field(ge=2, le=1000)] | None,
    Help(_("Folds"), _("Split the images into this many equal folds, and average")),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """Score a run under qrels."""

    run: Annotated[str, Named(STORED_RUNS), Help(_("Run"))]
    qrels: _Qrels = None
    measures: _Measures = ()
    split: _Split = None
    fold_seed: _FoldSeed = 0
    missing: _Missing = REFUSE
    convention: _Convention = MEAN_RANKS
    folds: _Folds = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest(IntervalRequest):
    """Score runs of one direction under the same qrels, and test each against the first. A system stands for
    its newest run of the images, or else of all images."""

    runs: Annotated[
        tuple[Annotated[str, Named(_RUNS_OR_SYSTEMS)], ...],
        Field(min_length=1, max_length=200),
        Help(_("Runs or systems"), _("The first is the one that others are tested against")),
    ]
    direction: Annotated[
        Annotated[str, OneOf(direction_choices)] | None,
        Help(_("Direction"), _("Of the runs that systems stand for; else that of the named runs")),
    ] = None
    qrels: _Qrels = None
    measures: _Measures = ()
    split: _Split = None
    fold_seed: _FoldSeed = 0
    missing: _Missing = REFUSE
    convention: _Convention = MEAN_RANKS
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS), Help(_("Permutations of the randomisation test"))] = (
        ROUNDS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesRequest:
    """Write each query's value of each measure to a file: a row for each query and run."""

    runs: Annotated[
        tuple[Annotated[str, Named(STORED_RUNS)], ...], Field(min_length=1, max_length=200), Help(_("Runs"))
    ]
    qrels: _Qrels = None
    measures: _Measures = ()
    split: _Split = None
    fold_seed: _FoldSeed = 0
    missing: _Missing = REFUSE
    convention: _Convention = MEAN_RANKS
    folds: _Folds = None
    format: Annotated[str, OneOf(_value_formats), Help(_("File format"))] = "csv"


@dataclass(frozen=True, slots=True)
class MeasureFigure:
    """One measure of a run. `optimistic` is its value if all unjudged items were relevant, `judged` the share
    of the first `judged_at` items that was judged, `folds` are the values of folds, `queries` is the number
    of queries with a value."""

    measure: str
    value: float | None
    optimistic: float | None
    judged_at: int
    judged: float | None
    queries: int
    folds: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RunScores:
    """A run's figures under one version of qrels, or under the original pairs, which have no version.

    `basis` describes what they are based on, `queries` is the number used of `total_queries`, `missing` the
    number that the run does not rank, `unranked` how these are treated, `convention` how tied items are
    ranked, `candidates` the items that it chose from, of `items` in the qrels. `provenance` says, by the
    run's name, what its system has seen of these images.
    """

    run: str
    system: str
    direction: str
    qrels: str
    version: int | None
    digest: str
    subset: str
    unranked: str
    convention: str
    pool: str
    basis: dict[str, Any]
    queries: int
    total_queries: int
    missing: int
    candidates: int | None
    whole: bool | None
    items: int | None
    folds: int | None
    measures: tuple[MeasureFigure, ...]
    remarks: tuple[str, ...]
    provenance: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Runs of one direction under the same qrels: `systems` has the figures of each run, with intervals of
    `level` from `resamples`, `tests` those of each later run against the first, the `baseline`, by `rounds`
    permutations; `apart` says which runs chose from other items. Other fields are as in RunScores."""

    baseline: str
    direction: str
    qrels: str
    version: int | None
    digest: str
    subset: str
    unranked: str
    convention: str
    pool: str
    basis: dict[str, Any]
    queries: int
    total_queries: int
    systems: tuple[dict[str, Any], ...]
    tests: tuple[dict[str, Any], ...]
    apart: Any
    remarks: tuple[str, ...]
    provenance: dict[str, dict[str, Any]]
    rounds: int
    seed: int
    resamples: int
    level: float


def score_under_qrels(request: ScoreRequest, context: OperationContext) -> RunScores:
    """Return a run's figures; raises UnknownName, PhraseboxError, BadSubset, UnknownMeasure, FormatError."""
    run = run_named(request.run)
    snapshot, subset = _conditions(request, [run], context)

    def make() -> dict[str, Any]:
        return score_run(run, snapshot, request.measures, request.folds, **_how(request, subset))

    more = (_images_key(subset), request.missing, request.convention, str(request.folds), *request.measures)
    # A command does not read the cache: what a system has seen may have changed since.
    report = make() if context.by_path else cached_for_runs("scored", [run], snapshot, make, *more)
    return read_result(RunScores, report)


def compare_under_qrels(request: CompareRequest, context: OperationContext) -> RunComparison:
    """Return all runs' figures and their tests; for one run its figures alone. Raises as
    `score_under_qrels`."""
    if len(request.runs) > MOST_RUNS_COMPARED and not context.by_path:
        raise invalid("runs", "too_long", max_length=MOST_RUNS_COMPARED)
    runs = compared_runs(request.runs, request.direction, request.split or "")
    snapshot, subset = _conditions(request, runs, context)
    how = _how(request, subset)

    def make() -> dict[str, Any]:
        return compare_runs(
            runs,
            snapshot,
            request.measures,
            **how,
            rounds=request.rounds,
            resampling=request.resampling,
        )

    conditions = (
        request.missing,
        request.convention,
        str((request.rounds, request.resamples, request.level, request.seed)),
    )
    more = (_images_key(subset), *conditions, *request.measures)
    report = make() if context.by_path else cached_for_runs("compared", runs, snapshot, make, *more)
    return read_result(RunComparison, report)


def compared_runs(names: Iterable[str], direction: str | None = None, split: str = "") -> list[Run]:
    """Return the runs of these names, each once, and those that systems stand for; raises UnknownName,
    PhraseboxError for a system without such a run."""
    stored = {run.name: run for run in Run.objects.filter(name__in=names, published=True)}
    direction = direction or next((run.direction for run in stored.values()), Run.ANNOTATION)
    runs = [stored.get(name) or _run_of_system(name, direction, split) for name in names]
    return [run_named(name) for name in dict.fromkeys(run.name for run in runs)]


def _run_of_system(name: str, direction: str, split: str) -> Run:
    run = run_of_system(system_row(name), direction, split)
    if run is None:
        of = f" of {split!r} or of all images" if split else ""
        raise PhraseboxError(
            f"system {name!r} has no run{of} in the direction {direction}; rank with it first"
        )
    return run


def run_of_system(system: System, direction: str, split: str = "") -> Run | None:
    """Return the run that a system stands for in a direction: its newest, with `split` the newest of these
    images, or else of all; None if there is none."""
    runs = Run.objects.filter(made_by=system, direction=direction, published=True, archived_at=None)
    of_split = runs.filter(split__in=["", split]).order_by("-split", "-pk") if split else runs.order_by("-pk")
    return of_split.first()


def query_values(request: ValuesRequest, context: OperationContext) -> NewFile:
    """Return each query's values, as a file. Raises as `score_under_qrels`; writing it raises FormatError."""
    runs = [run_named(name) for name in dict.fromkeys(request.runs)]
    if request.folds is not None and len(runs) > 1:
        raise invalid("folds", "only_with", other=_("one run"))
    snapshot, subset = _conditions(request, runs, context)
    rows = per_query_rows(runs, snapshot, request.measures, request.folds, **_how(request, subset))
    name = runs[0].name if len(runs) == 1 else "comparison"
    return NewFile(f"{name}-queries.{request.format}", lambda path: write_per_query(path, rows))


def qrels_of_corpus(run: Run, *others: Run) -> list[QrelsSnapshot]:
    """Return the qrels under which all of these runs can be scored: the newest version of each name, newest
    first."""
    newest: dict[str, QrelsSnapshot] = {}
    for row in QrelsSnapshot.objects.filter(corpus=run.corpus_id, published=True).order_by("-pk"):
        newest.setdefault(row.name, row)
    directions = {ASKS[compared.direction] for compared in (run, *others)}
    return [row for row in newest.values() if not row.asks or directions == {row.asks}]


def cached_for_runs(
    what: str, runs: list[Run], snapshot: AnyQrels, make: Callable[[], Any], *more: str
) -> Any:
    """Return what `make` computes from runs and qrels, cached for an hour: it depends only on these, their
    digests, and the declarations of their systems.

    Qrels of the same rows may have two names, and the result contains the requested one.
    """
    known = [f"{snapshot.pk}.{snapshot.digest}", *(f"{run.pk}.{run.digest}" for run in runs)]
    declared = System.objects.filter(runs__in=runs).order_by("pk").values_list("trained_on", flat=True)
    text = ":".join([what, *known, *declared, *more])
    key = f"evaluation.{hashlib.sha256(text.encode()).hexdigest()}"
    result = cache.get(key)
    if result is None:
        result = make()
        cache.set(key, result, _CACHED_SECONDS)
    return result


def chosen_relevance(name: str | None, runs: Sequence[Run], subset: Subset | None = None) -> AnyQrels:
    """Return the named qrels, or the original pairs where none are named; raises UnknownName,
    PhraseboxError."""
    return original_pairs(runs, subset) if name is None else snapshot_named(name)


def _conditions(
    request: ScoreRequest | CompareRequest | ValuesRequest, runs: Sequence[Run], context: OperationContext
) -> tuple[AnyQrels, Subset | None]:
    """Return the qrels and the images for figures."""
    for name in request.measures:
        METRICS.find(name, family="ranking")
    split, corpus = request.split or "", runs[0].corpus
    check_images("split", split, corpus, context, runs=True)
    subset = subset_named(corpus.name, split, seed=request.fold_seed, files=context.by_path)
    return chosen_relevance(request.qrels, runs, subset), subset


def _how(request: ScoreRequest | CompareRequest | ValuesRequest, subset: Subset | None) -> dict[str, Any]:
    """Return the conditions of figures as keyword arguments."""
    return {"subset": subset, "missing": request.missing, "convention": request.convention}


def _images_key(subset: Subset | None) -> str:
    """Return a cache key for the images of a subset ("" for all): those of a run may change under the same
    name."""
    if subset is None:
        return ""
    return subset.called + hashlib.sha256(repr(sorted(subset.images)).encode()).hexdigest()
