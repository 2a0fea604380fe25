"""The page of weak collections: what there is, and who uses it; import of one, and of its images' features.

A collection belongs to no corpus: everybody who runs evaluations sees the list; importing takes a role for
the whole server.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import jobs
from annotation.common.registry import UnknownName
from annotation.common.roles import WHOLE_SERVER
from annotation.selectors.corpora import corpus_named
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.staff.frame import said
from evaluation.services.common import ImportRefused, check_name
from evaluation.services.features.store import NUMBER_TYPES, FeatureSet, feature_sets
from evaluation.services.weak.collections import WeakCollection, weak_collection, weak_collections
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, text_parameter
from evaluation.web.job_lines import job_lines
from evaluation.web.server_files import path_of_file, server_files
from evaluation.web.splits import NotOffered


@dataclass(frozen=True, slots=True)
class ShownCollection:
    """A collection as a row: with the features of its images, and the systems that learned from it."""

    collection: WeakCollection
    sets: list[FeatureSet]
    users: list[str]


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def collection_list(request: HttpRequest) -> HttpResponse:
    """The collections; a file of the server becomes one, as a job."""
    wrong, status = "", 200
    if request.method == "POST":
        try:
            enqueue_collection(request, request.POST)
            messages.success(request, _("Importing the collection. The progress is shown below."))
            return redirect("evaluation:weak_collections")
        except (NotOffered, ImportRefused, jobs.JobError) as error:
            wrong, status = str(error), 409
    lines = job_lines(request, ("import_weak", "import_features"), of_server=True)
    return render(
        request,
        "evaluation/weak_collections.html",
        evaluation_frame(
            "features",
            deeper=True,
            collections=[_shown(request, one) for one in weak_collections()],
            files=server_files("collections"),
            feature_files=server_files("features"),
            types=NUMBER_TYPES,
            may_import=_for_server(request),
            given=request.POST,
            jobs=lines,
            live=any(job.live for job in lines),
            wrong=wrong,
        ),
        status=status,
    )


@require_POST
@for_roles(*RUNNING, corpora=True)
def collection_features(request: HttpRequest) -> HttpResponse:
    """Have a job import features of a collection's images from a file of the server."""
    with said(request, jobs.JobError, NotOffered, ImportRefused, UnknownName) as tell:
        enqueue_collection_features(request, request.POST)
        tell(_("Importing the features. The progress is shown below."))
    return redirect("evaluation:weak_collections")


def enqueue_collection_features(request: HttpRequest, given: Mapping[str, str]) -> Job:
    """Have a job import features of a collection's images. Raises NotOffered, JobError, ImportRefused,
    UnknownName."""
    _check_role(request)
    collection, name, file = (text_parameter(given, key) for key in ("collection", "name", "file"))
    dtype = text_parameter(given, "dtype")
    check_name(name, "feature set")
    if file not in server_files("features"):
        raise NotOffered(_("There is no file “%(name)s” on the server.") % {"name": file[:60]})
    if dtype not in NUMBER_TYPES:
        raise NotOffered(_("Nothing was chosen: use one of the buttons."))
    arguments = {
        "corpus": weak_collection(collection).name,
        "name": name,
        "path": path_of_file("features", file),
        "dtype": dtype,
    }
    return jobs.enqueue(kind="import_features", arguments=arguments, actor=account_of(request))


def enqueue_collection(request: HttpRequest, given: Mapping[str, str]) -> Job:
    """Have a job import a collection from a file of the server. Raises NotOffered, JobError,
    ImportRefused."""
    _check_role(request)
    name, file = (text_parameter(given, key) for key in ("name", "file"))
    check_name(name, "collection")
    if any(one.name == name for one in weak_collections()):
        raise NotOffered(
            _("Weak collection “%(name)s” already exists: choose another name.") % {"name": name}
        )
    with suppress(UnknownName):
        corpus_named(name)
        raise NotOffered(_("“%(name)s” is the name of a corpus: choose another name.") % {"name": name})
    if file not in server_files("collections"):
        raise NotOffered(_("There is no file “%(name)s” on the server.") % {"name": file[:60]})
    arguments = {"name": name, "path": path_of_file("collections", file)}
    return jobs.enqueue(kind="import_weak", arguments=arguments, actor=account_of(request))


def _check_role(request: HttpRequest) -> None:
    if not _for_server(request):
        raise NotOffered(
            _("A weak collection belongs to no corpus: importing takes a role for the whole server.")
        )


def _for_server(request: HttpRequest) -> bool:
    return account_of(request).has_role(*RUNNING, on=WHOLE_SERVER)


def _shown(request: HttpRequest, one: WeakCollection) -> ShownCollection:
    """A collection with those systems that learned from it and that this account may see."""
    users = offered.offered_systems(request).filter(settings__weak__collection=one.name)
    return ShownCollection(
        one, feature_sets(one.name), list(users.order_by("name").values_list("name", flat=True))
    )
