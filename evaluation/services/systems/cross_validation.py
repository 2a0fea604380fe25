"""Cross-validation of recipes on a corpus; the results of folds are cached, and shared by all requests."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import FieldError, Help, Invalid, Named, OperationContext
from annotation.selectors.corpora import CORPORA
from evaluation.comparison.cross_validation import compare_systems, cross_validated_figures, printed_pairs
from evaluation.services.common import phase_cache
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import FigureReport
from evaluation.services.systems.read_captions import as_read
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
    check_sets,
    training_sources,
)
from evaluation.services.systems.training import Sources, background_of, examples_from, resources_of
from evaluation.services.systems.training_requests import RECIPE_FILES, recipe_source
from models_core.estimators.base import IMAGE_VIEW
from models_core.folds import FOLDS
from models_core.phase_cache import PhaseProgress, no_progress
from models_core.systems.cross_validation import CrossValidation, cross_validate
from models_core.systems.dataset import prepare
from models_core.systems.kernels import check_resources
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.recipe_files import recipe_of
from models_core.systems.side_settings import CaptionForm, PictureSettings
from models_core.systems.table11 import TABLE_11
from models_core.systems.training import check_needs
from phrasebox.agreement.estimates import MOST_RESAMPLES
from phrasebox.device import CPU, torch_on
from phrasebox.figure_basis import FigureBasis

#: The forms of captions that systems are cross-validated with: as text, or as given vectors by name.
_READS: tuple[CaptionForm, ...] = ("lemmas", "names")
#: The image kernel for a feature file; it replaces the kernel of recipes that use visual words.
_LINEAR = PictureSettings("linear", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidationRequest:
    """Recipes are trained and tested in folds, so that every image of a corpus is a query once. Figures have
    intervals, and McNemar's tests at R@10 are adjusted by Holm. Images without a picture (or features) are
    skipped. Completed folds are stored: an interrupted run, or one with more recipes, continues after
    them."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    recipes: Annotated[
        tuple[Annotated[str, RECIPE_FILES], ...],
        Help(_("Recipes"), _("Names of recipes, or TOML files; else all of Table 11")),
    ] = ()
    features: FeaturesField = ""
    feature_ids: FeatureIdsField = None
    regions: RegionsField = ""
    words: WordsField = ""
    text: CaptionFeaturesField = ""
    layer: MentionsField = ""
    background: BackgroundField = ()
    lemmas: LemmasField = None
    wordnet: WordNetField = None
    folds: Annotated[int, Field(ge=2, le=1000), Help(_("Number of folds"))] = FOLDS
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed of folds, codebooks and resamples"))] = 0
    resamples: Annotated[int, Field(ge=1, le=MOST_RESAMPLES), Help(_("Resamples of the bootstrap"))] = 1000
    pairs: Annotated[
        tuple[str, ...],
        Help(
            _("More pairs of systems to test"),
            _("As TRI5SEM:BoW5; always tested: all with NN5-F1-idf, and TRI5SEM with those of Table 3"),
        ),
    ] = ()
    device: DeviceField = CPU

    def problems(self) -> Iterator[FieldError]:
        """Errors: invalid pairs."""
        for number, pair in enumerate(self.pairs):
            if pair.count(":") != 1:
                yield FieldError(f"pairs.{number}", "two_expected")


def cross_validate_recipes(request: CrossValidationRequest, context: OperationContext) -> FigureReport:
    """Return figures of every recipe, and tests of pairs; raises as `cross_validate_corpus` does, and
    ValueError for a pair of systems that were not tested."""
    crossed = cross_validate_corpus(
        corpus=request.corpus,
        recipes=[recipe_source(crossed_system, context) for crossed_system in request.recipes or TABLE_11],
        sources=training_sources(request, context),
        folds=request.folds,
        seed=request.seed,
        device=request.device,
        progress=PhaseShares(context.report_progress),
    )
    names, metadata = [crossed_system.recipe.name for crossed_system in crossed.systems], crossed.metadata
    requested_pairs = [
        (first, second) for first, _colon, second in (pair.partition(":") for pair in request.pairs)
    ]
    tests = compare_systems(crossed.systems, [*printed_pairs(names), *requested_pairs])
    # Each image is a query once, and so is each of its captions.
    basis = FigureBasis(
        cases="images",
        counted=metadata["images"],
        out_of=metadata["images"] + metadata["excluded"],
        pool=f"corpus {metadata['corpus']}, {metadata['pool']} images of each fold",
        protocol=f"{metadata['folds']} folds, seed {metadata['seed']}",
    )
    return FigureReport(
        report={
            **metadata,
            "basis": basis.as_dict(),
            "systems": [
                asdict(
                    cross_validated_figures(crossed_system, resamples=request.resamples, seed=request.seed)
                )
                for crossed_system in crossed.systems
            ],
            "tests": [{**asdict(test), "mark": test.mark} for test in tests],
        }
    )


@dataclass(frozen=True)
class CrossValidatedCorpus:
    """Systems in the order of the request, and remarks on their figures, as plain data."""

    systems: list[CrossValidation]
    metadata: dict[str, Any]


def cross_validate_corpus(
    *,
    corpus: str,
    recipes: Sequence[str],
    sources: Sources | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    device: str = CPU,
    progress: PhaseProgress = no_progress,
) -> CrossValidatedCorpus:
    """Test recipes (names, or TOML files) on every image of `corpus` that has a picture, or features.

    With a feature file every recipe uses its linear kernel; one that becomes the same as another is skipped.
    Raises UnknownName, FormatError, WordNetMissing, NoDevice, ValueError.
    """
    torch_on(device)
    sources = sources or Sources()
    chosen, same = _once([recipe_of(name) for name in recipes], linear=bool(sources.features))
    # Fail before anything is read, not after hours of work.
    for recipe in chosen:
        check_needs(recipe, ())
        if recipe.reads not in _READS:
            raise BadRecipe(
                f"recipe {recipe.name!r} reads captions as {recipe.reads}, not as {' or '.join(_READS)}, and "
                "cannot be cross-validated; train it on each fold instead"
            )
    _check_sets(chosen, sources)
    dataset = examples_from(corpus, sources)
    store = phase_cache(progress)
    # All recipes have the same images, so their folds are the same too.
    for recipe in chosen:
        dataset = as_read(dataset, recipe, sources, progress)
    aids = resources_of(corpus, sources, background_of(chosen, sources, corpus), store)
    for recipe in chosen:
        check_resources(recipe, aids)
    materials = {
        reads: prepare(dataset.examples, cache=store, vectors=dataset.vectors, seed=seed, reads=reads)
        for reads in dict.fromkeys(recipe.reads for recipe in chosen)
    }
    material = materials[chosen[0].reads]
    systems = [
        cross_validate(
            recipe,
            materials[recipe.reads],
            aids,
            number=folds,
            seed=seed,
            cache=store.within(f"recipe {number} of {len(chosen)}"),
            device=device,
        )
        for number, recipe in enumerate(chosen, start=1)
    ]
    return CrossValidatedCorpus(
        systems,
        {
            "corpus": corpus,
            "digest": dataset.digest,
            "material": material.digest,
            "images": len(material),
            "excluded": len(dataset.absent),
            "folds": folds,
            "pool": " or ".join(map(str, sorted({int(n) for n in systems[0].pool}))),
            "seed": seed,
            "image": _images_in_words(chosen, sources.features),
            "features": sources.features,
            "lemmas": sources.lemmas,
            "background": [] if not aids.called else [aids.called],
            "background_lines": aids.lines,
            "background_excluded": aids.excluded,
            "same": same,
        },
    )


def _images_in_words(recipes: Sequence[Recipe], features: str) -> str:
    """Return, in words, how images are described: not every method that takes vectors compares them by a
    kernel."""
    if not features:
        return "as each recipe has it"
    by_kernel = [recipe.name for recipe in recipes if recipe.kind.takes[IMAGE_VIEW] == "kernel"]
    text = f"vectors of {Path(features).name}"
    if not by_kernel:
        return text
    whose = f" of {', '.join(by_kernel)}" if len(by_kernel) < len(recipes) else ""
    return f"{text}; image kernel{whose}: linear"


def _check_sets(recipes: Sequence[Recipe], sources: Sources) -> None:
    """Raise Invalid if a recipe lacks a set, or if no recipe uses the given ones."""
    failed = []
    for recipe in recipes:
        try:
            check_sets(recipe, sources)
        except Invalid as error:
            failed.append((recipe, error))
    if len(failed) == len(recipes):
        raise failed[0][1]
    for recipe, _error in failed:  # sets that another recipe uses are no error here
        check_sets(recipe, dataclasses.replace(sources, regions="", words="", layer="", text=""))


def _once(recipes: list[Recipe], *, linear: bool) -> tuple[list[Recipe], list[str]]:
    """Return the recipes with their actual kernels, each once, and the names of those that are the same as
    another.

    Of two that are the same, the one named after pyramids stays: "BoW5" rather than "BoW5-histo".
    """
    linear_recipes = [
        dataclasses.replace(recipe, image=_LINEAR) if linear and not recipe.image.of_vectors else recipe
        for recipe in recipes
    ]
    stays: dict[str, str] = {}
    for recipe, original in sorted(
        zip(linear_recipes, recipes, strict=True), key=lambda p: p[1].image.kernel == "histogram"
    ):
        stays.setdefault(recipe.digest, original.name)
    names = [recipe.name for recipe in linear_recipes]
    twice = {
        recipe.name
        for recipe in linear_recipes
        if len({o.digest for o in linear_recipes if o.name == recipe.name}) > 1
    }
    if twice:
        raise BadRecipe(f"two recipes have the name {min(twice)!r}; give them different names")
    chosen = {recipe.name: recipe for recipe in linear_recipes if stays[recipe.digest] == recipe.name}
    return list(chosen.values()), [name for name in dict.fromkeys(names) if name not in chosen]
