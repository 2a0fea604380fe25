"""The page that trains a system: with which recipe, on what, with which files."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation import jobs
from annotation.common.operations import Invalid, operation_named, request_fields
from annotation.selectors.corpora import layers_of_corpora, splits_of_corpora
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.common.request_forms import RequestForm
from evaluation.services.systems.sources import SET_KINDS, VECTOR_FILES
from evaluation.services.systems.training_requests import NO_IMAGES, RECIPE_FILES, recipe_settings
from evaluation.services.weak.collections import weak_collections
from evaluation.web import visible
from evaluation.web.features.pages import feature_sets_by_kind
from evaluation.web.page_context import page_context, set_choices
from models_core.estimators.base import CAPTION_VIEW, IMAGE_VIEW
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.recipe_files import named_recipes, recipe_of

#: The fields of the page; all others have their defaults.
_FIELDS = (
    *("name", "corpus", "recipe", "train", "held_out", "fold", "background", "features", "text", "regions"),
    *("layer", "words", "weak", "changes", "seed"),
)
#: Titles of methods that German has words for; those of others are names.
_TITLES = {"nearest neighbours": gettext_lazy("nearest neighbours")}
#: Whether a recipe takes regions -> what it requires from the user where its images are no visual words.
_NEEDS = {
    False: gettext_lazy("needs vectors of images"),
    True: gettext_lazy("needs regions or vectors of images"),
}


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def system_train(request: HttpRequest) -> HttpResponse:
    """Choose a recipe and a corpus; the training is a job."""
    account, train = account_of(request), operation_named("train_system")
    data = request.POST if request.method == "POST" else None
    corpora = visible.visible_corpora(request)
    recipe = _recipe_named((request.POST or request.GET).get("recipe", ""))
    settings = {"changes": recipe_settings(recipe)} if recipe is not None else {}
    form = RequestForm(train, account, data, initial=_chosen(request), only_fields=_FIELDS, settings=settings)
    _offer(form, corpora)
    message, status = "", 200
    if data is not None:
        try:
            if form.is_valid() and data.get("settings_of", "") not in ("", form.request.recipe):
                text = _("The settings below are now those of this recipe: check them.")
                form.add_error("recipe", text)
            elif form.is_valid():
                jobs.enqueue_operation(train, form.request, row=form.row, actor=account)
                assert train.page is not None
                messages.success(request, str(train.page.started))
                return redirect("evaluation:systems")
            status = 400
        except Invalid as error:
            form.refuse(error)
            status = 400
        except train.errors as error:
            message, status = str(error), 409
    return render(
        request,
        "evaluation/train.html",
        page_context("systems", deeper=True, corpora=corpora, form=form, error=message, recipe=recipe),
        status=status,
    )


def _chosen(request: HttpRequest) -> dict[str, Any]:
    """Return the choices of an address."""
    known = request_fields(operation_named("train_system").request)
    return {
        name: request.GET.getlist(name) if known[name].many else request.GET[name]
        for name in _FIELDS
        if name in request.GET and name != "changes"
    }


def _recipe_named(name: str) -> Recipe | None:
    """Return a recipe that the page lists; None if it cannot be read, or does not exist."""
    if name not in named_recipes() and name not in RECIPE_FILES.names():
        return None
    try:
        return recipe_of(name if name in named_recipes() else str(RECIPE_FILES.path(name, by_path=False)))
    except BadRecipe:
        return None


def _offer(form: RequestForm, corpora: list[Any]) -> None:
    """Restrict the form to what the corpora have."""
    splits, none = splits_of_corpora(corpora), _("none")
    set_choices(form, "train", splits)
    set_choices(form, "held_out", splits, none=_("val, where there is one"))
    form.fields["held_out"].widget.choices += [(NO_IMAGES, _("none: the recipe chooses nothing"))]
    form.fields["recipe"].widget.choices = _recipes()
    sets = feature_sets_by_kind(corpora)
    for name, kind in SET_KINDS.items():
        labels = [(item.label, f"{item.label} – {item.corpus}") for item in sets.get(kind, [])]
        files = [(file, file) for file in VECTOR_FILES.names()] if name == "features" else []
        groups = [(_("Feature sets"), labels), (_("Files on the server"), files)]
        form.fields[name].widget = forms.Select(
            choices=[("", none), *(group for group in groups if group[1])]
        )
    layers = [(item.name, f"{item.name} – {item.corpus.name}") for item in layers_of_corpora(corpora)]
    form.fields["layer"].widget = forms.Select(choices=[("", none), *layers])
    set_choices(form, "weak", [item.name for item in weak_collections()], none=none)


def _recipes() -> list[Any]:
    """Return the recipes as choices: the user's own ones, and the named ones under the paper of their
    method."""
    named = named_recipes()
    groups: dict[str, list[tuple[str, str]]] = {}
    for file in RECIPE_FILES.names():
        if file not in named:
            groups.setdefault(_("Your recipes"), []).append((file, f"{file} – {_of_file(file)}"))
    for recipe in named.values():
        groups.setdefault(recipe.kind.paper, []).append((recipe.name, f"{recipe.name} – {_in_words(recipe)}"))
    return list(groups.items())


def _from_words(recipe: Recipe) -> bool:
    return recipe.kind.needs_words or recipe.kind.takes[CAPTION_VIEW] == "phrases"


def _in_words(recipe: Recipe) -> str:
    """Describe a recipe in one line; required files come first, since lists cut the end."""
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
    """Return how captions are described, and how many of each image."""
    named = {"kernel": text.kernel, "captions": text.captions}
    if not text.captions:
        return _("text: %(kernel)s of all captions") % named
    if text.captions > 1:
        return _("text: %(kernel)s of %(captions)d captions") % named
    return _("text: %(kernel)s of one caption") % named


def _needs_of_images(recipe: Recipe) -> str:
    """Return what a recipe without visual words requires from the user."""
    if recipe.kind.items == "regions":
        return _("needs regions and a layer")
    return str(_NEEDS[recipe.kind.takes[IMAGE_VIEW] == "regions"])


def _of_file(name: str) -> str:
    """Describe a recipe of the user's, or say that it cannot be read."""
    recipe = _recipe_named(name)
    return _in_words(recipe) if recipe is not None else _("cannot be read")
