"""The page where systems made elsewhere are brought: embeddings, scores, runs, or localizations, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.common.operations import OperationContext, operation_named
from annotation.web.common.access import RUNNING, account_of, for_roles
from evaluation.comparison.provenance import Declaration
from evaluation.models import Run, System
from evaluation.services.common import check_name
from evaluation.services.localizations.files import ImportedLocalizations
from evaluation.services.runs.directions import RUN_DIRECTIONS
from evaluation.services.runs.files import RunImport, import_run
from evaluation.services.systems import registry
from evaluation.services.systems.origins import ORIGINS
from evaluation.services.systems.upload import STORED_EMBEDDINGS, STORED_SCORES
from evaluation.services.systems.upload import upload_system as keep
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, text_parameter
from evaluation.web.sent_forms import sent_form
from evaluation.web.splits import NotOffered
from evaluation.web.systems.localizations import remarks_on_import
from evaluation.web.uploads import (
    LARGEST_UPLOAD,
    READ_AT_ONCE,
    UPLOAD_REFUSALS,
    upload_folder,
    uploaded_file,
)

#: The field of ids beside their files.
_IDS = "ids"
#: The operation of the form of localizations, which make no system.
LOCALIZATIONS = "import_localizations"


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def system_upload(request: HttpRequest) -> HttpResponse:
    """Take files of a system in: all of them, or none."""
    wrong, status = "", 200
    act = text_parameter(request.POST, "act")
    sent = sent_form(request, operation_named(LOCALIZATIONS), act=LOCALIZATIONS)
    if sent.result is not None:
        return _imported(request, sent.result)
    if act == LOCALIZATIONS:
        wrong, status = sent.wrong, sent.status
    elif request.method == "POST":
        try:
            if act not in _TAKEN:
                raise NotOffered(_("Nothing was chosen: use one of the buttons."))
            offered.offered_corpus(request, text_parameter(request.POST, "corpus"))
            with upload_folder(request, commands="add_system or import_run") as folder:
                system = _TAKEN[act](request, folder)
            messages.success(request, _("System “%(name)s” was added.") % {"name": system})
            return redirect("evaluation:system", system)
        except UPLOAD_REFUSALS as error:
            wrong, status = str(error), 409
    return render(
        request,
        "evaluation/bring.html",
        evaluation_frame(
            "systems",
            deeper=True,
            corpora=offered.offered_corpora(request),
            origins=[ORIGINS.get(key) for key in (STORED_EMBEDDINGS, STORED_SCORES, "runs")],
            given=request.POST,
            act=act,
            localizations=sent.form,
            largest=filesizeformat(LARGEST_UPLOAD),
            largest_read=filesizeformat(READ_AT_ONCE),
            wrong=wrong,
        ),
        status=status,
    )


def _declared(request: HttpRequest) -> Declaration:
    return offered.declared_on_page(request, text_parameter(request.POST, "trained_on"))


def _embeddings(request: HttpRequest, folder: Path) -> str:
    images = uploaded_file(request, folder / "images", "images", beside=_IDS)
    if images is None:
        raise NotOffered(_("No file was uploaded: choose one."))
    captions = uploaded_file(request, folder / "captions", "captions", beside=_IDS)
    made = keep(
        name=text_parameter(request.POST, "name"),
        corpus=text_parameter(request.POST, "corpus"),
        path=images,
        format=STORED_EMBEDDINGS,
        captions=captions,
        cosine=request.POST.get("products") != "1",
        declared=_declared(request),
        wanted=registry.RequestedBy(account=account_of(request).pk),
    )
    for remark in made.remarks:
        messages.warning(request, remark)
    return made.system


def _scores(request: HttpRequest, folder: Path) -> str:
    scores = uploaded_file(request, folder / "scores", "scores", beside=_IDS)
    if scores is None:
        raise NotOffered(_("No file was uploaded: choose one."))
    return keep(
        name=text_parameter(request.POST, "name"),
        corpus=text_parameter(request.POST, "corpus"),
        path=scores,
        format=STORED_SCORES,
        declared=_declared(request),
        wanted=registry.RequestedBy(account=account_of(request).pk),
    ).system


def _runs(request: HttpRequest, folder: Path) -> str:
    """Both directions, or one; where the second is wrong, the first goes too."""
    name, corpus = text_parameter(request.POST, "name"), text_parameter(request.POST, "corpus")
    check_name(name, "system")
    check_name(f"{name}-annotation", "run")
    files = {
        direction: uploaded_file(request, folder / direction, direction, beside=_IDS)
        for direction in RUN_DIRECTIONS
    }
    if not any(files.values()):
        raise NotOffered(_("No file was uploaded: choose one."))
    registry.check_free(name, corpus, "runs")
    known = System.objects.filter(name=name).exists()
    new: list[str] = []
    try:
        for direction, file in files.items():
            if file is None:
                continue
            run = f"{name}-{direction}"
            stood = Run.objects.filter(name=run, published=True).exists()
            import_run(
                RunImport(
                    name=run,
                    corpus=corpus,
                    file=file,
                    direction=direction,
                    system=name,
                    trained_on=text_parameter(request.POST, "trained_on"),
                ),
                OperationContext(account_of(request)),
            )
            if not stood:
                new.append(run)
    except BaseException:
        for run in new:
            registry.remove_run(name=run)
        if new and not known:
            registry.remove_system(name=name)
        raise
    return name


def _imported(request: HttpRequest, made: ImportedLocalizations) -> HttpResponse:
    """The page of localizations that were imported."""
    if made.unchanged:
        told = _("Localization set “%(name)s” of this file already exists: nothing has changed.")
    else:
        told = _("Localization set “%(name)s” was added.")
    messages.success(request, told % {"name": made.name})
    for remark in remarks_on_import(made):
        messages.warning(request, remark)
    return redirect("evaluation:localizations", made.name)


#: What a button brings.
_TAKEN: dict[str, Callable[[HttpRequest, Path], str]] = {
    STORED_EMBEDDINGS: _embeddings,
    STORED_SCORES: _scores,
    "runs": _runs,
}
