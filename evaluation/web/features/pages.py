"""The page of feature sets: what there is, how large, where from and who uses it; import, computing and
removal. Its forms about the words of captions are sent to `captions_data`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import jobs
from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.selectors.corpora import check_split, layers_of_corpora, splits_of_corpora
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.staff.frame import said
from evaluation.services.common import ImportRefused, check_name, read_key_values
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.regions import REGION_METHODS
from evaluation.services.features.store import (
    FEATURE_KINDS,
    NUMBER_TYPES,
    FeatureKind,
    FeatureSet,
    feature_set,
    feature_sets,
)
from evaluation.services.systems.feature_use import remove_unused, systems_of
from evaluation.services.systems.registry import InUse
from evaluation.web import offered
from evaluation.web.features.captions_data import parses_of_corpora, tags_form, word_training_fields
from evaluation.web.frame import evaluation_frame, text_parameter
from evaluation.web.job_lines import job_lines
from evaluation.web.server_files import path_of_file, server_files
from evaluation.web.splits import NotOffered, regions_in
from evaluation.web.uploads import (
    LARGEST_UPLOAD,
    UPLOAD_REFUSALS,
    kept_for_job,
    upload_folder,
    uploaded_file,
)

#: How a page offers to find regions; "" describes whole pictures.
METHODS_OFFERED = ("", *REGION_METHODS)
#: What stands for no network: the extractor that needs none.
NO_NETWORK = "layout"
#: Kinds of jobs that make feature sets.
_KINDS = (
    "import_features",
    "extract_set",
    "extract_regions",
    "train_word_vectors",
    "import_parses",
    "rank_tags",
)


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def feature_list(request: HttpRequest) -> HttpResponse:
    """The feature sets that this account may see; an uploaded file becomes one."""
    wrong, status = "", 200
    if request.method == "POST":
        try:
            _import(request)
            return redirect("evaluation:features")
        except (*UPLOAD_REFUSALS, OSError, jobs.JobError) as error:
            wrong, status = str(error), 409
    corpora = offered.offered_corpora(request)
    lines = job_lines(request, _KINDS)
    return render(
        request,
        "evaluation/features.html",
        evaluation_frame(
            "features",
            sets=[(one, systems_of(one)) for corpus in corpora for one in feature_sets(corpus.name)],
            corpora=corpora,
            files=server_files("features", words=True),
            kinds=FEATURE_KINDS,
            types=NUMBER_TYPES,
            networks=server_files("networks"),
            no_network=NO_NETWORK,
            layers=layers_of_corpora(corpora),
            splits=splits_of_corpora(corpora),
            box_files=server_files("boxes"),
            parses=parses_of_corpora(corpora),
            parse_files=server_files("parses"),
            tags_form=tags_form(request),
            word_fields=word_training_fields(),
            given=request.POST,
            largest=filesizeformat(LARGEST_UPLOAD),
            jobs=lines,
            live=any(job.live for job in lines),
            wrong=wrong,
        ),
        status=status,
    )


def offered_sets(corpora: list[Any]) -> dict[str, list[FeatureSet]]:
    """Kind of item -> the sets of these corpora, which systems can be trained on."""
    found: dict[str, list[FeatureSet]] = {}
    for corpus in corpora:
        for one in feature_sets(corpus.name):
            found.setdefault(one.kind, []).append(one)
    return found


def _import(request: HttpRequest) -> None:
    """Import what was sent, or have a job import a file of the server."""
    corpus = offered.offered_corpus(request, text_parameter(request.POST, "corpus"))
    name, kind, dtype = (text_parameter(request.POST, key) for key in ("name", "kind", "dtype"))
    check_name(name, "feature set")
    if kind not in FEATURE_KINDS or dtype not in NUMBER_TYPES:
        raise NotOffered(_("Nothing was chosen: use one of the buttons."))
    network = text_parameter(request.POST, "network")
    declared = offered.declared_training(request, text_parameter(request.POST, "trained_on"))
    chosen = text_parameter(request.POST, "server_file")
    if chosen and not request.FILES:
        if chosen not in server_files("features", words=True):
            raise NotOffered(_("There is no file “%(name)s” on the server.") % {"name": chosen[:60]})
        arguments = {
            "corpus": corpus.name,
            "name": name,
            "path": path_of_file("features", chosen),
            "kind": kind,
            "dtype": dtype,
            "network": network,
            **asdict(declared),
        }
        jobs.enqueue(kind="import_features", arguments=arguments, corpus=corpus, actor=account_of(request))
        messages.success(request, _("Importing the features. The progress is shown below."))
        return
    with upload_folder(request, commands="import_features") as folder:
        file = uploaded_file(request, folder, "file", beside="ids")
        if file is None:
            raise NotOffered(_("No file was uploaded: choose one."))
        found = import_features(
            FeatureImport(
                corpus=corpus.name,
                name=name,
                path=file,
                kind=_kind(kind),
                dtype=dtype,
                source=Path(file).name,
                network=network,
                declared=declared,
            )
        )
    if found.unchanged:
        messages.success(request, _("Feature set “%(name)s” is there already.") % {"name": found.set.label})
    else:
        messages.success(request, _("Feature set “%(name)s” was imported.") % {"name": found.set.label})
    for remark in found.remarks:
        messages.warning(request, remark)


def _kind(word: str) -> FeatureKind:
    return next(kind for kind in FEATURE_KINDS if kind == word)


@require_POST
@for_roles(*RUNNING, corpora=True)
def feature_remove(request: HttpRequest) -> HttpResponse:
    """Take a set away; refused while a system needs it."""
    with said(request, InUse, Busy, UnknownName) as tell:
        corpus = offered.offered_corpus(request, text_parameter(request.POST, "corpus"))
        found = feature_set(corpus.name, text_parameter(request.POST, "set"))
        remove_unused(found, actor=account_of(request))
        tell(_("Feature set “%(name)s” removed.") % {"name": found.label})
    return redirect("evaluation:features")


def _extractor(network: str) -> dict[str, str]:
    """The arguments of a job that say what describes pictures."""
    if network == NO_NETWORK:
        return {"extractor": NO_NETWORK}
    return {"weights": path_of_file("networks", network)}


@require_POST
@for_roles(*RUNNING, corpora=True)
def feature_extract(request: HttpRequest) -> HttpResponse:
    """Have the set computed as a job."""
    with said(request, jobs.JobError, NotOffered, ImportRefused, UnknownName) as tell:
        if request.FILES:
            enqueue_sent_extraction(request, request.POST)
        else:
            enqueue_extraction(request, request.POST)
        tell(_("Computing the features. The progress is shown below."))
    return redirect("evaluation:features")


def enqueue_sent_extraction(request: HttpRequest, given: QueryDict) -> Job:
    """The same as `enqueue_extraction`, with boxes of the file that was sent with the form."""
    with upload_folder(request, commands="extract_regions") as folder:
        return enqueue_extraction(request, given, uploaded_file(request, folder, "file"))


def enqueue_extraction(request: HttpRequest, given: QueryDict, sent: Path | None = None) -> Job:
    """The job that computes the features which a form asks for, of pictures or, with a `method`, of their
    regions; method `file` takes the boxes that were `sent`, or a file of the server. Raises JobError,
    NotOffered, ImportRefused, UnknownName."""
    corpus = offered.offered_corpus(request, text_parameter(given, "corpus"))
    name, network, method = (text_parameter(given, key) for key in ("name", "network", "method"))
    check_name(name, "feature set")
    if network not in (NO_NETWORK, *server_files("networks")):
        raise NotOffered(_("There is no file “%(name)s” on the server.") % {"name": network[:60]})
    if method not in METHODS_OFFERED:
        raise NotOffered(_("Nothing was chosen: use one of the buttons."))
    arguments: dict[str, Any] = {
        "corpus": corpus.name,
        "name": name,
        **_extractor(network),
        "settings": read_key_values(text_parameter(given, "settings").split()),
        **asdict(offered.declared_training(request, text_parameter(given, "trained_on"))),
    }
    if method:
        limit = regions_in(given, default=19)
        layer = text_parameter(given, "layer")
        if layer and not corpus.layers.filter(name=layer, published=True).exists():
            raise NotOffered(
                _("There is no layer “%(name)s”: choose one of the list.") % {"name": layer[:60]}
            )
        split = text_parameter(given, "split")
        if split:
            check_split(corpus, split)
        arguments |= {
            "method": method,
            "limit": limit,
            "layer": layer if method == "gold" else "",
            "split": split,
            "whole": given.get("no_whole") != "1",
        }
    if sent and method != "file":
        raise NotOffered(_("A file of boxes was sent, but “boxes of a file” was not chosen."))
    if method == "file":
        arguments["file"] = _box_file(given, sent)
    kind = "extract_regions" if method else "extract_set"
    return jobs.enqueue(kind=kind, arguments=arguments, corpus=corpus, actor=account_of(request))


def _box_file(given: QueryDict, sent: Path | None) -> str:
    """Where the job finds the boxes: in the file that was sent, or in one of the server."""
    if sent is not None:
        return str(kept_for_job(sent))
    chosen = text_parameter(given, "boxes")
    if not chosen:
        raise NotOffered(_("No file was uploaded: choose one."))
    if chosen not in server_files("boxes"):
        raise NotOffered(_("There is no file “%(name)s” on the server.") % {"name": chosen[:60]})
    return path_of_file("boxes", chosen)
