"""The request to train a system: its fields, and the checks before the job is queued."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import (
    FieldError,
    Help,
    Invalid,
    Named,
    OperationContext,
    ServerFile,
    SettingField,
    invalid,
)
from annotation.selectors.corpora import CORPORA, corpus_named, split_names
from evaluation.comparison.subsets import FOLD
from evaluation.models import System
from evaluation.services.features.parses import stored_parses
from evaluation.services.features.store import feature_sets, is_label
from evaluation.services.request_fields import check_images, check_layer
from evaluation.services.systems.registry import register_unlisted_systems
from evaluation.services.systems.sources import (
    BackgroundField,
    CaptionFeaturesField,
    DeviceField,
    FeatureIdsField,
    FeaturesField,
    LemmasField,
    MentionsField,
    RegionsField,
    Sources,
    WordNetField,
    WordsField,
    check_sets,
    training_sources,
)
from evaluation.services.weak.collections import weak_collections
from models_core.checked_fields import field_rules
from models_core.systems.recipe import BadRecipeSetting, Recipe
from models_core.systems.recipe_files import changed_recipe, named_recipes, recipe_of
from phrasebox.device import CPU

#: The default split for choosing settings, and the word that requests no such images.
VALIDATION_SPLIT, NO_IMAGES = "val", "none"
RECIPE_FILES = ServerFile("recipes", (".toml",), also=named_recipes)
_Images = Annotated[str, Field(min_length=1, max_length=1000)]
#: Request fields about the images of a training.
TrainField = Annotated[_Images, Help(_("Training images"), _("A split, or a fold such as 1/5"))]
HeldOutField = Annotated[
    _Images | None,
    Help(
        _("Images to select settings on"),
        _("A split, a fold, or none; else val where there is such a split"),
    ),
]
KeepLastField = Annotated[
    bool,
    Help(
        _("Keep the last model"),
        _("No images are held out and nothing is chosen: each setting with several values has its first"),
    ),
]
WeakField = Annotated[
    str,
    Field(max_length=200),
    Help(_("Weak collection"), _("NAME, or NAME/tags,title for texts of these kinds alone")),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """A system is trained by its recipe and stored. If the same system already exists, nothing changes; an
    interrupted training continues after its last completed phase."""

    name: Annotated[str, Named(), Help(_("Name"), _("Its runs get the same name"))]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    recipe: Annotated[str, RECIPE_FILES, Help(_("Recipe"), _("A recipe that has a name, or a TOML file"))]
    train: TrainField = "train"
    held_out: HeldOutField = None
    keep_last: KeepLastField = False
    fold: Annotated[
        str,
        Field(max_length=40),
        Help(
            _("Or a fold for testing"),
            _("As 1/5: the next fold is held out, and the others train, in place of both"),
        ),
    ] = ""
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
    changes: Annotated[
        dict[str, Any],
        Help(_("Other settings"), _("In place of the recipe's, as a table: settings.epochs = 10")),
    ] = field(default_factory=dict)
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds and codebooks"))] = 0
    device: DeviceField = CPU

    def problems(self) -> Iterator[FieldError]:
        """Errors: an invalid fold, and held-out images that nothing is chosen on."""
        if self.fold and not FOLD.fullmatch(self.fold):
            yield FieldError("fold", "fold")
        if self.keep_last and self.held_out not in (None, NO_IMAGES):
            yield FieldError("held_out", "not_with", {"other": "keep_last"})


@dataclass(frozen=True, slots=True)
class CheckedTraining:
    """A checked training: its recipe with changed settings, its files, and the held-out images ("": none)."""

    request: TrainingRequest
    recipe: Recipe
    sources: Sources
    held_out: str


def check_new_training(request: TrainingRequest, context: OperationContext) -> TrainingRequest:
    """Raise Invalid if a system of that name exists already, and as `checked_training`."""
    register_unlisted_systems()
    if System.objects.filter(name=request.name).exists():
        raise invalid("name", "taken", value=request.name)
    checked_training(request, context)
    return request


def checked_training(request: TrainingRequest, context: OperationContext) -> CheckedTraining:
    """Return what a training reads. Raises Invalid naming each field that the recipe lacks, or does not use,
    BadRecipe, UnknownName and ValueError for a feature set of another kind."""
    recipe = _recipe(request, context)
    corpus = corpus_named(request.corpus)
    held_out = _held_out(request, corpus, recipe)
    if not request.fold:
        check_images("train", request.train, corpus, context)
        check_images("held_out", held_out, corpus, context)
    sources = training_sources(request, context)
    check_sets(recipe, sources)
    check_layer("layer", request.layer, corpus)
    if errors := list(_missing(request, recipe, sources)):
        raise Invalid(*errors)
    return CheckedTraining(request, recipe, sources.settled(corpus.name), held_out)


def _recipe(request: TrainingRequest, context: OperationContext) -> Recipe:
    named = recipe_source(request.recipe, context)
    try:
        recipe = changed_recipe(recipe_of(named), dict(_dotted("", request.changes)))
    except BadRecipeSetting as error:
        raise invalid(f"changes.{error.setting}", "setting", message=str(error)) from error
    if not request.keep_last:
        return recipe
    single = _without_choices(recipe)
    if single.chooses:
        raise invalid("keep_last", "recipe_chooses", recipe=recipe.name)
    return single


def _without_choices(recipe: Recipe) -> Recipe:
    """Return a recipe that chooses nothing, if it can: settings with several values have their first, and the
    last epoch stays."""
    if not recipe.chooses:
        return recipe
    table = next(name for name, record in recipe.tables.items() if record is recipe.settings)
    values = {rule.name: getattr(recipe.settings, rule.name) for rule in fields(recipe.settings)}
    single = {
        f"{table}.{name}": list(value[:1])
        for name, value in values.items()
        if isinstance(value, tuple) and len(value) > 1
    }
    epochs = {f"{table}.choose_epoch": False} if "choose_epoch" in values else {}
    return changed_recipe(recipe, single | epochs)


def recipe_source(recipe: str, context: OperationContext) -> str:
    """Return the name of a recipe, or the path of its file."""
    return recipe if recipe in named_recipes() else str(RECIPE_FILES.path(recipe, by_path=context.by_path))


def _dotted(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a table and its subtables by dotted name, such as settings.epochs."""
    for key, value in table.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict) and not prefix:
            yield from _dotted(name, value)
        else:
            yield name, value


def _held_out(request: TrainingRequest, corpus: Any, recipe: Recipe) -> str:
    """Return the held-out images; "" for none, which is an error for a recipe that chooses settings on
    them."""
    if request.keep_last:
        return ""
    if request.held_out is not None:
        held_out = "" if request.held_out == NO_IMAGES else request.held_out
    else:
        held_out = VALIDATION_SPLIT if VALIDATION_SPLIT in split_names(corpus) else ""
    if recipe.chooses and not (held_out or request.fold):
        raise invalid("held_out", "recipe_needs", recipe=recipe.name)
    return held_out


def _missing(request: TrainingRequest, recipe: Recipe, sources: Sources) -> Iterator[FieldError]:
    """Yield errors for inputs besides feature sets that the recipe needs and are missing, or that it does not
    use."""
    corpus, about = corpus_named(request.corpus), {"recipe": recipe.name}
    if recipe.text.of_background and not sources.background:
        yield FieldError("background", "recipe_needs", about)
    if sources.features and not recipe.image.of_vectors:
        yield FieldError("features", "recipe_ignores", about)
    if recipe.reads == "edges" and stored_parses(corpus.name) is None:
        yield FieldError("recipe", "no_parses", {**about, "corpus": corpus.name})
    weak = request.weak.partition("/")[0]
    if recipe.kind.needs and not weak:
        yield FieldError("weak", "recipe_needs", about)
    elif weak and not recipe.kind.needs:
        yield FieldError("weak", "recipe_ignores", about)
    elif weak and weak not in (known := [stored.name for stored in weak_collections()]):
        yield FieldError("weak", *_unknown(_("weak collection"), weak, known))
    elif weak:
        alike = [stored.name for stored in feature_sets(weak)]
        if not is_label(sources.features) or sources.features.partition(":")[0] not in alike:
            yield FieldError("features", "not_of_collection", {"collection": weak, "known": ", ".join(alike)})


def _unknown(kind: Any, value: str, names: Any) -> tuple[str, dict[str, Any]]:
    known = ", ".join(names)
    return "unknown_of" if known else "unknown", {"kind": kind, "value": value[:100], "known": known}


def recipe_settings(recipe: Recipe) -> tuple[SettingField, ...]:
    """Return the settings of a recipe that trainings may change, table by table; defaults are the
    recipe's."""
    return tuple(
        SettingField(
            name=f"{table}.{setting.name}",
            rule=rules[setting.name],
            default=getattr(record, setting.name),
            label=rules[setting.name].help or setting.name,
            group=f"{recipe.name}: {table}",
        )
        for table, record in recipe.tables.items()
        for rules in [field_rules(type(record))]
        for setting in fields(record)
    )
