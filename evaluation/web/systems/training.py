"""The page that trains a system: with which recipe, on what, with which files."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import jobs
from annotation.common.operations import Invalid, operation_named, request_fields
from annotation.selectors.corpora import layers_of_corpora, splits_of_corpora
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.common.request_forms import RequestForm
from evaluation.services.systems.sources import SET_KINDS, VECTOR_FILES
from evaluation.services.systems.training_requests import NO_IMAGES, recipe_settings
from evaluation.services.weak.collections import weak_collections
from evaluation.web import visible
from evaluation.web.features.pages import feature_sets_by_kind
from evaluation.web.page_context import page_context, set_choices
from evaluation.web.systems.recipe_choices import recipe_choices, recipe_named

#: The fields of the page; all others have their defaults.
_FIELDS = (
    *("name", "corpus", "recipe", "train", "held_out", "keep_last", "fold", "background", "features", "text"),
    *("regions", "layer", "words", "weak", "changes", "seed"),
)


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def system_train(request: HttpRequest) -> HttpResponse:
    """Choose a recipe and a corpus; the training is a job."""
    account, train = account_of(request), operation_named("train_system")
    data = request.POST if request.method == "POST" else None
    corpora = visible.visible_corpora(request)
    recipe = recipe_named((request.POST or request.GET).get("recipe", ""))
    settings = {"changes": recipe_settings(recipe)} if recipe is not None else {}
    form = RequestForm(train, account, data, initial=_chosen(request), only_fields=_FIELDS, settings=settings)
    offer_training(form, corpora)
    named = (request.POST or request.GET).get("corpus", "")
    form.fields["recipe"].widget.choices = recipe_choices(corpora, named)
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


def offer_training(form: RequestForm, corpora: list[Any]) -> None:
    """Restrict the fields about images, files and sets of a training to what the corpora have."""
    splits, none = splits_of_corpora(corpora), _("none")
    set_choices(form, "train", splits)
    set_choices(form, "held_out", splits, none=_("val, where there is one"))
    form.fields["held_out"].widget.choices += [(NO_IMAGES, _("none: the recipe chooses nothing"))]
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
