"""The page of weak collections: the list with its users, and the import of a collection and of its images'
features.

A collection belongs to no corpus: everybody who runs evaluations sees the list; importing requires a role for
the whole server.
"""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.common.roles import WHOLE_SERVER
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.common.request_forms import RequestForm
from evaluation.services.collection_requests import COLLECTION_FILES
from evaluation.services.features.store import FeatureSet, feature_sets
from evaluation.services.weak.collections import WeakCollection, weak_collections
from evaluation.web import visible
from evaluation.web.job_lines import job_lines
from evaluation.web.page_context import page_context, set_choices


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A row of the list: a collection, the features of its images, and the systems trained on it."""

    collection: WeakCollection
    sets: list[FeatureSet]
    users: list[str]


@require_safe
@for_roles(*RUNNING, corpora=True)
def collection_list(request: HttpRequest) -> HttpResponse:
    """List the collections, with the forms that import one, or features of its images."""
    account, known = account_of(request), weak_collections()
    lines = job_lines(request, ("import_weak_collection", "import_collection_features"), of_server=True)
    features = RequestForm(operation_named("import_collection_features"), account)
    features.auto_id = "features-%s"
    set_choices(features, "collection", [collection.name for collection in known])
    return render(
        request,
        "evaluation/weak_collections.html",
        page_context(
            "features",
            deeper=True,
            collections=[_collection_row(request, collection) for collection in known],
            files=COLLECTION_FILES.names(),
            feature_files=features.fields["file"].widget.choices,
            may_import=account.has_role(*RUNNING, on=WHOLE_SERVER),
            form=RequestForm(operation_named("import_weak_collection"), account),
            features=features,
            jobs=lines,
            live=any(job.live for job in lines),
        ),
    )


def _collection_row(request: HttpRequest, collection: WeakCollection) -> CollectionRow:
    """Return a collection with the systems that were trained on it and that this account may see."""
    users = visible.visible_systems(request).filter(settings__weak__collection=collection.name)
    return CollectionRow(
        collection, feature_sets(collection.name), list(users.order_by("name").values_list("name", flat=True))
    )
