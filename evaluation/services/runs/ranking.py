"""Ranking a corpus's images and captions with a stored system; the results are runs."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OneOf, OperationContext
from annotation.selectors.corpora import CORPORA, corpus_named, split_names
from evaluation.comparison.comparisons import score_run
from evaluation.comparison.original_pairs import has_original_pairs, original_pairs
from evaluation.comparison.provenance import identities_of, provenance_of, provenance_of_system
from evaluation.comparison.subsets import FOLD, OF_RUN, subset_named
from evaluation.formats.sent_files import best_ranked
from evaluation.models import Run, System
from evaluation.selectors import names_of, run_named
from evaluation.services.common import InputError, check_name, check_same_corpus
from evaluation.services.phases import PhaseShares
from evaluation.services.predicting import method_of
from evaluation.services.request_fields import check_images
from evaluation.services.runs.files import RUN_DEPTH, RunMetadata, store_run
from evaluation.services.runs.listing import RUN_DIRECTIONS
from evaluation.services.systems import registry
from evaluation.services.systems.origins import ORIGINS, RankRequest
from evaluation.services.systems.origins.recipe import REMEMBERED_FILES
from evaluation.services.systems.registry import BY_SYSTEM, SYSTEMS
from evaluation.services.systems.sources import (
    CaptionFeaturesField,
    FeatureIdsField,
    FeaturesField,
    LemmasField,
    RegionsField,
    Sources,
    item_sources,
)
from phrasebox.metrics.protocols import PROTOCOLS

ONE_CAPTION = "one caption"
#: The value of a run's source for all images, without a split.
ALL = "all images"


@dataclass(frozen=True, slots=True)
class RankedRun:
    """One direction of a ranking: the run's name, the numbers of queries and of items.

    `unchanged`: it was stored already. `remarks` are about the embeddings used for ranking; `provenance` says
    what the system has seen of the images. `figures` are R@k and the median rank under the original pairs,
    empty in a corpus without such pairs; `basis` describes their queries and their pool.
    """

    run: str
    direction: str
    queries: int
    items: int
    unchanged: bool
    provenance: dict[str, Any]
    remarks: tuple[str, ...] = ()
    figures: dict[str, float | None] = field(default_factory=dict)
    basis: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankedRuns:
    """The runs of both directions."""

    runs: tuple[RankedRun, ...]


def _protocols() -> dict[str, None]:
    return dict.fromkeys(PROTOCOLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRunsRequest:
    """Images are ranked for captions, and captions for images, by a stored system: two runs, named after
    their name and the direction. Without a split all images that it can rank: those with captions, and with
    the features that the system needs. Missing fields about features are as in the system's training."""

    system: Annotated[str, Named(SYSTEMS), Help(_("System"))]
    split: Annotated[
        str, Field(max_length=1000), Help(_("Split"), _("A split, or a fold such as 1/5; else all images"))
    ] = ""
    corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"), _("Another than the system's"))
    ] = None
    name: Annotated[
        Annotated[str, Named(max_length=80)] | None,
        Help(_("Name of the runs"), _("Else the system's name")),
    ] = None
    protocol: Annotated[str, OneOf(_protocols), Help(_("Captions"))] = ONE_CAPTION
    depth: Annotated[int, Field(ge=0), Help(_("Depth"), _("Items stored of each ranking; 0: all"))] = (
        RUN_DEPTH
    )
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds"))] = 0
    features: FeaturesField = ""
    feature_ids: FeatureIdsField = None
    regions: RegionsField = ""
    text: CaptionFeaturesField = ""
    lemmas: LemmasField = None


def can_rank(system: System) -> bool:
    """Whether a system can rank: it has a model or scores, and its method predicts rankings."""
    method = method_of(system)
    return ORIGINS.get(system.origin).ranks and (method is None or method.predicts == "rankings")


def check_ranking(request: RankRunsRequest, context: OperationContext) -> RankRunsRequest:
    """Raise Invalid if the images or files to rank do not exist, InputError if the system cannot
    rank."""
    row = registry.system_row(request.system)
    check_same_corpus(context, row)
    if not can_rank(row):
        method = method_of(row)
        what = "has only runs" if method is None else f"predicts {method.predicts}, not rankings,"
        raise InputError(f"system {row.name!r} {what} and cannot rank here; choose another system")
    corpus = corpus_named(request.corpus) if request.corpus is not None else row.corpus
    check_name(f"{request.name or row.name}-annotation", "run")
    check_images("split", request.split, corpus, context)
    item_sources(request, context)
    return request


def rank_system(request: RankRunsRequest, context: OperationContext) -> RankedRuns:
    """Rank images and captions with a stored system, in both directions.

    If both runs are stored already, made by the system in its current state from the same request, nothing is
    ranked, unless the request names a file: a list of images, features or lemmas may have been edited since.
    Both get their figures under the original pairs. Raises UnknownName, InputError, FormatError, Busy,
    ValueError.
    """
    check_ranking(request, context)
    row, phases = registry.system_row(request.system), PhaseShares(context.report_progress)
    corpus, name = request.corpus or row.corpus.name, request.name or row.name
    source_fields = item_sources(request, context)
    sources = Sources(**source_fields) if any(source_fields.values()) else None
    run_metadata = RunMetadata(
        name="",
        direction="",
        system=f"{row.name} ({row.recipe or row.origin})",
        format=BY_SYSTEM,
        source=f"system {row.name}, {request.split or ALL}{_sources_in_words(sources)}",
        source_digest=row.digest,
        depth=request.depth,
        made_by_id=row.pk,
        split=request.split,
        protocol=request.protocol,
        seed=request.seed,
        system_digest=row.digest,
    )
    if sources is None:
        stored_runs = _stored_runs(name, corpus, run_metadata)
        if stored_runs and not _by_file(row, corpus, request.split):
            return RankedRuns(tuple(map(_with_figures, stored_runs)))
    rank_request = RankRequest(row, corpus, request.split, request.protocol, sources, request.seed, phases)
    ranked, seen = [], None
    matrices = ORIGINS.get(row.origin).matrices
    assert matrices is not None
    for direction, matrix in matrices(rank_request):
        sides = len(matrix.images), len(matrix.captions)
        queries, items = sides if direction == Run.ANNOTATION else sides[::-1]
        if seen is None:  # both directions have the same images
            image = names_of(corpus).image
            images = identities_of(corpus_named(corpus), {image[pk] for pk in matrix.images})
            seen = provenance_of_system(row, images, matrix.notes).as_dict()
        run = replace(
            run_metadata,
            name=f"{name}-{direction}",
            direction=direction,
            depth=_cut(request.depth, items),
            remarks=matrix.notes,
        )
        stored = store_run(run, best_ranked(matrix, request.depth, turned=direction == Run.SEARCH), corpus)
        ranked.append(RankedRun(run.name, direction, queries, items, stored.unchanged, seen, matrix.remarks))
        phases(f"ranking, {direction}", 1, 1)
    return RankedRuns(tuple(map(_with_figures, ranked)))


def _with_figures(ranked: RankedRun) -> RankedRun:
    """Add the figures under the original pairs, if the corpus has such pairs."""
    run = run_named(ranked.run)
    if not has_original_pairs(run.corpus):
        return ranked
    scores = score_run(run, original_pairs([run]))
    values = {measure["measure"]: measure["value"] for measure in scores["measures"]}
    return replace(ranked, figures=values, basis=scores["basis"])


def _sources_in_words(sources: Sources | None) -> str:
    """Return, in words, the sources that replace those that the system remembers."""
    values = {} if sources is None else {key: value for key, value in asdict(sources).items() if value}
    if not values:
        return ""
    names = {key: value if isinstance(value, tuple) else (value,) for key, value in values.items()}
    return ", with " + ", ".join(
        f"{key} {' '.join(Path(name).name for name in value)}" for key, value in names.items()
    )


def _by_file(system: System, corpus: str, split: str) -> bool:
    """Whether the ranking depends on a file, or on the newest version of some set, whose content may change
    under the same name."""
    remembered = any(system.settings.get(key) for key in REMEMBERED_FILES)
    listed = split and not FOLD.fullmatch(split) and split not in split_names(corpus_named(corpus))
    return remembered or bool(listed)


def _stored_runs(name: str, corpus: str, run_metadata: RunMetadata) -> list[RankedRun]:
    """Return both runs if they are stored, made by the same system from the same request; else none."""
    runs_alike = Run.objects.filter(
        name__in=[f"{name}-{direction}" for direction in RUN_DIRECTIONS],
        corpus__name=corpus,
        published=True,
        made_by=run_metadata.made_by_id,
        split=run_metadata.split,
        protocol=run_metadata.protocol,
        seed=run_metadata.seed,
        system_digest=run_metadata.system_digest,
        # Other features may have been used.
        source=run_metadata.source,
    )
    runs = {run.direction: run for run in runs_alike}
    if len(runs) != len(RUN_DIRECTIONS):
        return []
    # The items of one direction are the queries of the other.
    items = dict(
        zip(RUN_DIRECTIONS, (runs[direction].query_count for direction in RUN_DIRECTIONS[::-1]), strict=True)
    )
    if any(run.depth != _cut(run_metadata.depth, items[direction]) for direction, run in runs.items()):
        return []
    images = subset_named(corpus, f"{OF_RUN}{runs[Run.ANNOTATION].name}")
    assert images is not None
    seen = provenance_of({name: runs[Run.ANNOTATION]}, corpus_named(corpus), images.images)[name]
    return [
        RankedRun(run.name, direction, run.query_count, items[direction], True, seen)
        for direction, run in ((direction, runs[direction]) for direction in RUN_DIRECTIONS)
    ]


def _cut(depth: int, items: int) -> int:
    """Return the depth that a run stores for rankings of `items` items: 0 if all are kept."""
    return depth if depth < items else 0
