"""The page that has a system trained: by which recipe, on what, with which files.

Vectors of images are a feature set, or a file; files are the server's (`evaluation.web.server_files`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.selectors.corpora import corpus_named, layers_of_corpora, split_names, splits_of_corpora
from annotation.web.common.access import RUNNING, account_of, for_roles
from evaluation.comparison.subsets import FOLD
from evaluation.formats.arrays import SUFFIXES
from evaluation.models import System
from evaluation.services.common import ImportRefused, check_name
from evaluation.services.features.store import feature_sets, is_label
from evaluation.services.systems import registry
from evaluation.services.systems.auxiliary import check_auxiliary
from evaluation.services.systems.sources import Sources, check_sets
from evaluation.services.weak.collections import weak_collections
from evaluation.web import offered
from evaluation.web.features.captions_data import parses_of_corpora
from evaluation.web.features.pages import offered_sets
from evaluation.web.frame import evaluation_frame, text_parameter, text_parameters
from evaluation.web.server_files import path_of_file, server_files
from evaluation.web.splits import NotOffered, which_in, whole_in
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW
from models_core.systems.named_recipes import named_recipes
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.recipe_files import recipe_of

#: The split that settings are chosen on where a call does not say.
_VALIDATION = "val"
#: Titles of methods that German has words for; those of others are names.
_TITLES = {"nearest neighbours": gettext_lazy("nearest neighbours")}
#: Whether a recipe takes regions -> what it needs of a user where its images are no visual words.
_NEEDS = {
    False: gettext_lazy("needs vectors of images"),
    True: gettext_lazy("needs regions or vectors of images"),
}


@dataclass(frozen=True, slots=True)
class ShownRecipe:
    """A recipe as a choice: its name, and in words what it is."""

    name: str
    says: str


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def system_train(request: HttpRequest) -> HttpResponse:
    """Choose a recipe and a corpus; the training is a job."""
    wrong, status = "", 200
    given: Any = request.POST if request.method == "POST" else {"corpus": request.GET.get("corpus", "")}
    if request.method == "POST":
        try:
            corpus = offered.offered_corpus(request, text_parameter(request.POST, "corpus"))
            arguments = training_arguments(request.POST)
            jobs.enqueue(kind="train_system", arguments=arguments, corpus=corpus, actor=account_of(request))
            messages.success(request, _("Training the system. Its progress is shown below."))
            return redirect("evaluation:systems")
        except (NotOffered, ImportRefused, UnknownName, BadRecipe, jobs.JobError) as error:
            wrong, status = str(error), 409
    corpora = offered.offered_corpora(request)
    return render(
        request,
        "evaluation/train.html",
        evaluation_frame(
            "systems",
            deeper=True,
            corpora=corpora,
            splits=splits_of_corpora(corpora),
            recipes=_by_paper(),
            own=[ShownRecipe(file, _of_file(file)) for file in server_files("recipes")],
            backgrounds=server_files("background"),
            sets=offered_sets(corpora),
            layers=layers_of_corpora(corpora),
            features=_vector_files(),
            collections=[one.name for one in weak_collections()],
            given=given,
            backgrounds_given=given.getlist("background") if isinstance(given, QueryDict) else [],
            wrong=wrong,
        ),
        status=status,
    )


def _vector_files() -> list[str]:
    """The server's files that a training reads as they are; others become a feature set first."""
    return [file for file in server_files("features") if file.endswith(SUFFIXES)]


def _by_paper() -> dict[str, list[ShownRecipe]]:
    """The recipes that have a name, under the paper of their method."""
    found: dict[str, list[ShownRecipe]] = {}
    for recipe in named_recipes().values():
        found.setdefault(recipe.kind.paper, []).append(ShownRecipe(recipe.name, _in_words(recipe)))
    return found


def _from_words(recipe: Recipe) -> bool:
    return recipe.kind.needs_words or recipe.kind.takes[CAPTION_VIEW] == "phrases"


def _in_words(recipe: Recipe) -> str:
    """What a recipe is, in one line; first which files it needs, since lists cut the end."""
    text, image = recipe.text, recipe.image
    parts = [
        *([_("needs a background text")] if text.of_background else ()),
        *([_needs_of_images(recipe)] if image.of_vectors else ()),
        *([_("needs parses of captions")] if recipe.reads == "edges" else ()),
        *([_("needs vectors of captions")] if recipe.reads == "names" else ()),
        *([_("needs word vectors")] if _from_words(recipe) else ()),
        *([_("needs regions and a layer")] if recipe.kind.grounding != "none" else ()),
        *([_("needs a weak collection")] if recipe.kind.needs else ()),
        str(_TITLES.get(recipe.kind.title, recipe.kind.title)),
        *([recipe.printed] if recipe.kind.recipes and recipe.printed else ()),
        _text_in_words(text),
    ]
    parts += text.parts
    if text.similarities:
        parts.append(_("similar words by %(measures)s") % {"measures": ", ".join(text.similarities)})
    parts.append(_("image: %(kernel)s") % {"kernel": image.kernel})
    return "; ".join(parts)


def _text_in_words(text: Any) -> str:
    """What captions are described by, and how many of each image."""
    named = {"kernel": text.kernel, "captions": text.captions}
    if not text.captions:
        return _("text: %(kernel)s of all captions") % named
    if text.captions > 1:
        return _("text: %(kernel)s of %(captions)d captions") % named
    return _("text: %(kernel)s of one caption") % named


def _needs_of_images(recipe: Recipe) -> str:
    """What a recipe without visual words needs of a user."""
    if recipe.kind.items == "regions":
        return _("needs regions and a layer")
    return str(_NEEDS[recipe.kind.takes[IMAGE_VIEW] == "regions"])


def _of_file(name: str) -> str:
    """What a recipe of one's own is, or that nothing can be read out of it."""
    try:
        return _in_words(recipe_of(path_of_file("recipes", name)))
    except BadRecipe:
        return _("cannot be read")


def _check_files(recipe: Recipe, backgrounds: list[str], sources: Sources) -> None:
    """Raise NotOffered where a training would soon end for want of a file, or would not look at it."""
    named, features, regions = {"name": recipe.name}, sources.features, sources.regions
    grounded = recipe.kind.grounding != "none"
    if recipe.text.of_background and not backgrounds:
        raise NotOffered(
            _(
                "Recipe %(name)s needs a background text: choose one below, or put one into the folder "
                "sources/background."
            )
            % named
        )
    if grounded and not (features and regions and sources.layer):
        raise NotOffered(
            _(
                "Recipe %(name)s learns from whole images, and from regions with phrases: choose vectors of "
                "images, regions, and a layer below."
            )
            % named
        )
    if recipe.kind.items == "regions" and not (regions and sources.layer):
        raise NotOffered(
            _("Recipe %(name)s learns what is said of regions: choose regions and a layer below.") % named
        )
    if regions and features and not grounded:
        raise NotOffered(_("Images are described by vectors or by regions: choose one of both."))
    if recipe.kind.takes[IMAGE_VIEW] == "regions" and not (features or regions):
        raise NotOffered(
            _(
                "Recipe %(name)s aligns regions of images with words: choose regions below, or vectors of "
                "whole images."
            )
            % named
        )
    if recipe.image.of_vectors and not (features or regions):
        raise NotOffered(
            _(
                "Recipe %(name)s compares vectors of images: choose a feature set or a file below, or import "
                "one under Features."
            )
            % named
        )
    if features and not recipe.image.of_vectors:
        raise NotOffered(
            _("Recipe %(name)s compares visual words, not vectors: choose no vectors of images.") % named
        )


def _check_weak(weak: str, features: str) -> None:
    """Raise NotOffered where the collection's images are not described as those of the corpus are."""
    own = features.partition(":")[0]
    if not is_label(features):
        raise NotOffered(
            _(
                "Images are compared with those of collection %(name)s: choose a feature set that both have, "
                "not a file."
            )
            % {"name": weak}
        )
    if own not in {one.name for one in feature_sets(weak)}:
        raise NotOffered(
            _(
                "Collection %(name)s has no feature set “%(features)s”: import one under Features, “Weak "
                "collections”."
            )
            % {"name": weak, "features": own}
        )


def _held_out(given: QueryDict, corpus: Any, recipe: Recipe) -> str:
    """The held-out images: val where the form does not say, as of the command; "" where there are none.

    Raises NotOffered where the recipe chooses settings on them.
    """
    if text_parameter(given, "held_out"):
        return which_in(given, "held_out", corpus)
    if "held_out" not in given and _VALIDATION in split_names(corpus):
        return _VALIDATION
    if recipe.chooses:
        raise NotOffered(
            _("Recipe %(name)s chooses its settings on held-out images: choose images for that.")
            % {"name": recipe.name}
        )
    return ""


def training_arguments(given: QueryDict) -> dict[str, Any]:
    """What the job is to be called with; raises NotOffered, ImportRefused, UnknownName, BadRecipe."""
    corpus = corpus_named(text_parameter(given, "corpus"))
    name, recipe = text_parameter(given, "name"), text_parameter(given, "recipe")
    check_name(name, "system")
    registry.register_unlisted_systems()
    if System.objects.filter(name=name).exists():
        raise ImportRefused(_("System “%(name)s” already exists: choose another name.") % {"name": name})
    if recipe in server_files("recipes"):
        recipe = path_of_file("recipes", recipe)
    elif recipe not in named_recipes():
        raise NotOffered(
            _("There is no recipe “%(name)s”: choose one from the list.") % {"name": recipe[:60]}
        )
    arguments: dict[str, Any] = {
        "name": name,
        "recipe": recipe,
        "corpus": corpus.name,
        "seed": whole_in(given, "seed", default=0),
    }
    fold = text_parameter(given, "fold")
    if fold:
        if not FOLD.fullmatch(fold):
            raise NotOffered(_("“%(given)s” is not a fold: use one such as 1/5.") % {"given": fold[:60]})
        arguments["fold"] = fold
    else:
        arguments["train"] = which_in(given, "train", corpus)
        arguments["held_out"] = _held_out(given, corpus, recipe_of(recipe))
    backgrounds = [file for file in text_parameters(given, "background") if file]
    features, regions, words, layer, text = (
        text_parameter(given, key) for key in ("features", "regions", "words", "layer", "text")
    )
    if layer and not corpus.layers.filter(name=layer, published=True).exists():
        raise NotOffered(_("There is no layer “%(name)s”: choose one of the list.") % {"name": layer[:60]})
    sources = Sources(features=features, regions=regions, words=words, layer=layer, text=text)
    sources.settled(corpus.name)
    for kind, chosen in (
        ("background", backgrounds),
        ("features", [] if is_label(features) else [features]),
    ):
        unknown = [file for file in chosen if file and file not in server_files(kind)]
        if unknown:
            raise NotOffered(_("There is no file “%(name)s” on the server.") % {"name": unknown[0][:60]})
    _check_files(recipe_of(recipe), backgrounds, sources)
    if recipe_of(recipe).reads == "names" and not text:
        raise NotOffered(
            _(
                "Recipe %(name)s compares vectors of images with vectors of captions: choose both below, or "
                "import them under Features."
            )
            % {"name": recipe_of(recipe).name}
        )
    if recipe_of(recipe).kind.needs_words and not words:
        raise NotOffered(
            _(
                "Recipe %(name)s compares images with word vectors: choose some below, or train them under "
                "Features."
            )
            % {"name": recipe_of(recipe).name}
        )
    check_sets(recipe_of(recipe), sources)
    if recipe_of(recipe).reads == "edges" and not parses_of_corpora([corpus]):
        raise NotOffered(
            _(
                "Recipe %(name)s learns from parses of captions, and corpus %(corpus)s has none: import them "
                "under Features, “Import parses”."
            )
            % {"name": recipe_of(recipe).name, "corpus": corpus.name}
        )
    weak = text_parameter(given, "weak")
    if weak and weak not in {one.name for one in weak_collections()}:
        raise NotOffered(_("There is no weak collection “%(name)s”.") % {"name": weak[:60]})
    auxiliary = [f"weak={weak}"] if weak else []
    if recipe_of(recipe).kind.needs and not weak:
        raise NotOffered(
            _(
                "Recipe %(name)s learns from a weak collection too: choose one below, or import one under "
                "Features, “Weak collections”."
            )
            % {"name": recipe_of(recipe).name}
        )
    if recipe_of(recipe).kind.needs:
        _check_weak(weak, features)
    check_auxiliary(recipe_of(recipe), auxiliary, features)
    if auxiliary:
        arguments["auxiliary"] = auxiliary
    if backgrounds:
        arguments["background"] = [path_of_file("background", file) for file in backgrounds]
    if features:
        arguments["features"] = features if is_label(features) else path_of_file("features", features)
    if regions:
        arguments["regions"] = regions
    if words:
        arguments["words"] = words
    if layer:
        arguments["layer"] = layer
    if text:
        arguments["text"] = text
    return arguments
