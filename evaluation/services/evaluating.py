"""An evaluation in one step: train recipes, add outside embeddings, rank the same images with all systems in
both directions, and compare the runs.

Each step is the operation of its own that does it, and leaves what that operation leaves. What exists from
the same inputs is used again, so an interrupted evaluation continues where it was.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    FieldError,
    Help,
    Invalid,
    Named,
    OneOf,
    OperationContext,
    invalid,
    request_fields,
)
from annotation.selectors.corpora import CORPORA, corpus_named
from evaluation.comparison.missing import REFUSE, Missing, missing_choices
from evaluation.comparison.original_pairs import has_original_pairs
from evaluation.comparison.subsets import FOLD
from evaluation.models import Run, System
from evaluation.selectors import snapshot_named
from evaluation.services.common import InputError
from evaluation.services.declarations import ARRAYS_UPLOAD, IdsBeside, TrainedOn
from evaluation.services.reports.building import build_report
from evaluation.services.reports.request import LEVEL, RESAMPLES, ReportRequest
from evaluation.services.request_fields import check_images
from evaluation.services.runs import ranking
from evaluation.services.runs.figures import (
    MOST_RUNS_COMPARED,
    CompareRequest,
    RunComparison,
    compare_under_qrels,
)
from evaluation.services.runs.listing import RUN_DIRECTIONS
from evaluation.services.runs.ranking import ONE_CAPTION, RankRunsRequest
from evaluation.services.stored_kinds import QRELS
from evaluation.services.systems import registry
from evaluation.services.systems.registry import SYSTEMS
from evaluation.services.systems.sources import (
    BackgroundField,
    CaptionFeaturesField,
    DeviceField,
    FeatureIdsField,
    FeaturesField,
    LemmasField,
    MentionsField,
    RegionsField,
    WordNetField,
    WordsField,
    given_sources,
)
from evaluation.services.systems.training import train_system
from evaluation.services.systems.training_requests import (
    RECIPE_FILES,
    HeldOutField,
    KeepLastField,
    TrainField,
    TrainingRequest,
    WeakField,
    checked_training,
    recipe_source,
)
from evaluation.services.systems.upload import AddSystemRequest, add_system
from models_core.systems.recipe import Recipe
from models_core.systems.recipe_files import recipe_of
from phrasebox.agreement.estimates import MOST_RESAMPLES
from phrasebox.device import CPU
from phrasebox.metrics.protocols import PROTOCOLS
from phrasebox.metrics.table import METRICS
from phrasebox.significance.randomisation import MOST_ROUNDS, ROUNDS

#: The split whose images are ranked where none is named.
TEST_SPLIT = "test"
#: Files and sets that recipes are trained from; each recipe gets those that it uses.
_SOURCES = (
    *("features", "feature_ids", "regions", "words", "text", "layer"),
    *("weak", "background", "lemmas", "wordnet"),
)
#: The share of the work for training, after which systems rank, and are compared.
_TRAINED, _RANKED = 0.7, 0.9


def _protocols() -> dict[str, None]:
    return dict.fromkeys(PROTOCOLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """Recipes are trained, and a model's own embeddings are added; all of these systems, and others that
    exist already, rank the same images and captions in both directions, and are compared with the first, with
    intervals and tests. The systems and runs remain. What exists from the same inputs is used again, so an
    interrupted evaluation continues after its last completed step."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    recipes: Annotated[
        tuple[Annotated[str, RECIPE_FILES], ...],
        Field(max_length=MOST_RUNS_COMPARED),
        Help(_("Recipes"), _("Names of recipes, or TOML files: each is trained")),
    ] = ()
    embeddings: Annotated[
        tuple[Annotated[Path, ARRAYS_UPLOAD], ...],
        Field(max_length=2),
        Help(
            _("Embeddings"),
            _("Of a model of yours, for images and captions: a file of both, or one of each, images first"),
        ),
    ] = ()
    ids: IdsBeside = ()
    model: Annotated[
        Annotated[str, Named()] | None,
        Help(_("Name of the model"), _("Of the embeddings; else the name of their file")),
    ] = None
    inner_products: Annotated[
        bool, Help(_("Inner products"), _("Score embeddings by inner products, not by cosines"))
    ] = False
    trained_on: TrainedOn = ""
    systems: Annotated[
        tuple[Annotated[str, Named(SYSTEMS)], ...],
        Field(max_length=MOST_RUNS_COMPARED),
        Help(_("Systems"), _("That exist already, and are compared too")),
    ] = ()
    test: Annotated[
        str,
        Field(min_length=1, max_length=1000),
        Help(_("Test images"), _("A split, or a fold such as 1/5, whose images train nothing")),
    ] = TEST_SPLIT
    train: TrainField = "train"
    held_out: HeldOutField = None
    keep_last: KeepLastField = False
    features: FeaturesField = ""
    feature_ids: FeatureIdsField = None
    regions: RegionsField = ""
    words: WordsField = ""
    text: CaptionFeaturesField = ""
    layer: MentionsField = ""
    weak: WeakField = ""
    background: BackgroundField = ()
    lemmas: LemmasField = None
    wordnet: WordNetField = None
    name: Annotated[
        Annotated[str, Named(max_length=60)] | None,
        Help(_("Name"), _("What the names of trained systems begin with; else the corpus's name")),
    ] = None
    protocol: Annotated[str, OneOf(_protocols), Help(_("Captions"))] = ONE_CAPTION
    qrels: Annotated[
        Annotated[str, Named(QRELS)] | None, Help(_("Qrels"), _("By default the original pairs"))
    ] = None
    measures: Annotated[
        tuple[Annotated[str, Field(max_length=60)], ...],
        Field(max_length=50),
        Help(_("Measures"), _("By default the usual ones"), only_commas=True),
    ] = ()
    missing: Annotated[Missing, OneOf(missing_choices), Help(_("Queries that a run does not rank"))] = REFUSE
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS), Help(_("Permutations of the randomisation test"))] = (
        ROUNDS
    )
    resamples: Annotated[
        int, Field(ge=0, le=MOST_RESAMPLES), Help(_("Resamples"), _("For intervals; 0 for none"))
    ] = RESAMPLES
    level: Annotated[float, Field(gt=0, lt=1), Help(_("Level of the intervals"))] = LEVEL
    seed: Annotated[
        int, Field(ge=0, lt=10**9), Help(_("Seed"), _("Of trainings, folds, permutations and resamples"))
    ] = 0
    report: Annotated[
        Annotated[str, Named()] | None, Help(_("Report"), _("The name of a report to build of the runs"))
    ] = None
    device: DeviceField = CPU

    def problems(self) -> Iterator[FieldError]:
        """Errors: no system at all, too many, and fields of embeddings without any."""
        number = len(self.recipes) + len(self.systems) + bool(self.embeddings)
        if not number:
            yield FieldError("recipes", "missing")
        if number > MOST_RUNS_COMPARED:
            others = number - len(self.systems)
            yield FieldError("systems", "too_long", {"max_length": max(0, MOST_RUNS_COMPARED - others)})
        for field in ("ids", "model", "inner_products", "trained_on"):
            if getattr(self, field) and not self.embeddings:
                yield FieldError(field, "only_with", {"other": "embeddings"})
        if not self.recipes:
            for field in _SOURCES:
                if getattr(self, field):
                    yield FieldError(field, "only_with", {"other": "recipes"})


@dataclass(frozen=True, slots=True)
class EvaluatedSystem:
    """A system of an evaluation, and its runs; `made_by` is the recipe that it was trained by, or how it came
    here. `unchanged`: it existed already. `remarks` are on its training and its embeddings."""

    system: str
    made_by: str
    unchanged: bool
    runs: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The systems of an evaluation, the comparison of their runs in each direction, and the report, if one
    was requested."""

    corpus: str
    test: str
    systems: tuple[EvaluatedSystem, ...]
    comparisons: tuple[RunComparison, ...]
    report: str = ""


def check_evaluation(request: EvaluationRequest, context: OperationContext) -> EvaluationRequest:
    """Raise Invalid as the trainings do, and for test images that do not exist. Uploaded embeddings become a
    system at once, so that their errors are reported before the job."""
    corpus = corpus_named(request.corpus)
    check_images("test", request.test, corpus, context)
    _check_figures(request, corpus)
    list(_trainings(request, context))
    for name in request.systems:
        row = registry.system_row(name)
        if row.corpus_id != corpus.pk or not ranking.can_rank(row):
            raise InputError(f"system {name!r} cannot rank corpus {corpus.name!r}; leave it out")
    if not request.embeddings:
        return request
    added = _add_embeddings(request, context)
    systems = tuple(dict.fromkeys((*request.systems, added)))
    return replace(
        request, embeddings=(), ids=(), model=None, inner_products=False, trained_on="", systems=systems
    )


def _check_figures(request: EvaluationRequest, corpus: Any) -> None:
    """Raise what comparing would raise after all the work: UnknownMeasure, Invalid for a corpus without
    original pairs, InputError for qrels of another corpus."""
    for name in request.measures:
        METRICS.find(name, family="ranking")
    if request.qrels is None:
        if not has_original_pairs(corpus):
            raise invalid("qrels", "missing")
    elif snapshot_named(request.qrels).corpus_id != corpus.pk:
        raise InputError(f"qrels {request.qrels!r} are of another corpus than {corpus.name!r}; name others")


def run_evaluation(request: EvaluationRequest, context: OperationContext) -> Evaluation:
    """Train, rank and compare; raises as the operations for these steps do."""
    request = check_evaluation(request, context)
    trainings = list(_trainings(request, context))
    systems = []
    for number, training in enumerate(trainings):
        part = context.part(_TRAINED * number / len(trainings), _TRAINED * (number + 1) / len(trainings))
        trained = train_system(training, part)
        remarks = (*trained.selection, *trained.remarks)
        systems.append(EvaluatedSystem(trained.system, trained.recipe, trained.unchanged, (), remarks))
    known = {system.system for system in systems}
    for row in (registry.system_row(name) for name in request.systems if name not in known):
        systems.append(EvaluatedSystem(row.name, row.recipe or row.origin, True, ()))
    step = (_RANKED - _TRAINED) / len(systems)
    for number, system in enumerate(systems):
        start = _TRAINED + step * number
        systems[number] = _ranked(system, request, context.part(start, start + step))
    context.report_progress("comparing", _RANKED)
    comparisons = tuple(
        compare_under_qrels(
            CompareRequest(
                runs=tuple(system.runs[number] for system in systems),
                qrels=request.qrels,
                measures=request.measures,
                missing=request.missing,
                rounds=request.rounds,
                seed=request.seed,
                resamples=request.resamples,
                level=request.level,
            ),
            context,
        )
        for number in range(len(RUN_DIRECTIONS))
    )
    if request.report is not None:
        _report(request, systems, context.part(0.95, 1.0))
    return Evaluation(request.corpus, request.test, tuple(systems), comparisons, request.report or "")


def _trainings(request: EvaluationRequest, context: OperationContext) -> Iterator[TrainingRequest]:
    """Yield the training of each recipe, checked, with the files and sets that it uses. Raises Invalid, also
    for one of them that no recipe uses."""
    named = {field: value for field in _SOURCES if (value := getattr(request, field))}
    unused = dict.fromkeys(named)
    recipe: Recipe | None = None
    for number, source in enumerate(request.recipes):
        recipe = recipe_of(recipe_source(source, context))
        sources = given_sources(recipe, named)
        for field in sources:
            unused.pop(field, None)
        fold = request.test if FOLD.fullmatch(request.test) else ""
        training = TrainingRequest(
            name=system_name(request, recipe),
            corpus=request.corpus,
            recipe=source,
            train=request.train,
            held_out=request.held_out if not fold else None,
            keep_last=request.keep_last,
            fold=fold,
            seed=request.seed,
            device=request.device,
            **sources,
        )
        try:
            checked_training(training, context)
        except Invalid as error:
            fields = {name: name for name in request_fields(EvaluationRequest)}
            raise _renamed(error, fields, f"recipes.{number}") from error
        yield training
    if unused and recipe is not None:
        raise Invalid(*(FieldError(field, "recipe_ignores", {"recipe": recipe.name}) for field in unused))


def system_name(request: EvaluationRequest, recipe: Recipe) -> str:
    """Return the name of the system that an evaluation trains by a recipe."""
    return f"{request.name or request.corpus}-{_as_name(recipe.name)}"


def _add_embeddings(request: EvaluationRequest, context: OperationContext) -> str:
    images, *captions = request.embeddings
    name = request.model or _as_name(images.stem)
    try:
        add_system(
            AddSystemRequest(
                name=name,
                file=images,
                captions=captions[0] if captions else None,
                corpus=request.corpus,
                ids=request.ids,
                inner_products=request.inner_products,
                trained_on=request.trained_on,
            ),
            context,
        )
    except Invalid as error:
        raise _renamed(error, {"name": "model", "ids": "ids"}, "embeddings") from error
    return name


def _renamed(error: Invalid, fields: Mapping[str, str], other: str) -> Invalid:
    """Return the errors of a step's request under the names that the fields have here; `other` is that of the
    rest."""
    return Invalid(*(replace(each, field=fields.get(each.field, other)) for each in error.errors))


def _ranked(
    system: EvaluatedSystem, request: EvaluationRequest, context: OperationContext
) -> EvaluatedSystem:
    """Rank the test images with a system. Its runs have its name, and that of the images too where other
    images have been ranked under its name."""
    row = registry.system_row(system.system)
    ranked = RankRunsRequest(
        system=row.name, split=request.test, protocol=request.protocol, seed=_seed_of_fold(request)
    )
    if _others_ranked(row, ranked):
        ranked = replace(ranked, name=f"{row.name}-{_as_name(Path(request.test).stem)}"[:80])
    runs = ranking.rank_system(ranked, context).runs
    remarks = dict.fromkeys((*system.remarks, *(remark for run in runs for remark in run.remarks)))
    return replace(system, runs=tuple(run.run for run in runs), remarks=tuple(remarks))


def _seed_of_fold(request: EvaluationRequest) -> int:
    return request.seed if FOLD.fullmatch(request.test) else 0


def _others_ranked(row: System, request: RankRunsRequest) -> bool:
    """Whether runs have the system's name that were made otherwise."""
    same = {
        "made_by": row,
        "split": request.split,
        "protocol": request.protocol,
        "seed": request.seed,
        "system_digest": row.digest,
    }
    stored = Run.objects.filter(name__in=[f"{row.name}-{direction}" for direction in RUN_DIRECTIONS])
    return stored.exclude(**same).exists()


def _report(request: EvaluationRequest, systems: Sequence[EvaluatedSystem], context: OperationContext) -> Any:
    assert request.report is not None
    return build_report(
        ReportRequest(
            name=request.report,
            qrels=request.qrels,
            runs=[run for number in range(len(RUN_DIRECTIONS)) for run in (s.runs[number] for s in systems)],
            measures=request.measures,
            missing=request.missing,
            seed=request.seed,
            rounds=request.rounds,
            resamples=request.resamples or RESAMPLES,
            level=request.level,
        ),
        context,
    )


def _as_name(text: str) -> str:
    """Return a text as a name: other characters become hyphens."""
    return re.sub(r"[^-a-zA-Z0-9_]+", "-", text).strip("-")[:60] or "model"
