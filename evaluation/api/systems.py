"""Systems made elsewhere, added by API."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.doors import Anywhere
from annotation.api.rest.fields import CallFields, NameField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, Created, serves
from annotation.common.roles import RESEARCHER
from evaluation.api.given import TrainedOnField
from evaluation.models import System
from evaluation.services.common import check_name
from evaluation.services.systems import registry
from evaluation.services.systems.upload import UPLOAD_FORMATS
from evaluation.services.systems.upload import upload_system as keep_system
from evaluation.web import offered
from evaluation.web.splits import NotOffered
from evaluation.web.uploads import UPLOAD_REFUSALS, upload_folder, uploaded_file

_TAG = "systems"
RESEARCHES = Anywhere((RESEARCHER,), corpora=True)


class SystemShown(serializers.Serializer[Any]):
    """A system: what ranks, and where it comes from."""

    name = NameField()
    corpus = NameField()
    origin = serializers.CharField()
    recipe = serializers.CharField()
    digest = serializers.CharField()
    trained_on = serializers.CharField(help_text="As whoever added it declares.")
    created_at = serializers.DateTimeField()
    archived = serializers.BooleanField(help_text="Whether lists leave it out.")


class SystemSent(CallFields):
    """A system made elsewhere, as files: embeddings of images and captions, or a matrix of scores."""

    name = NameField()
    corpus = NameField()
    format = serializers.ChoiceField(UPLOAD_FORMATS)
    products = serializers.BooleanField(
        required=False, help_text="Embeddings rank by inner products, not cosines."
    )
    trained_on = TrainedOnField()
    file = serializers.FileField(required=False)
    ids = serializers.FileField(required=False, help_text="Ids of the rows, beside the file.")
    captions = serializers.FileField(
        required=False, help_text="Embeddings of captions, in a file of their own."
    )


@serves(
    ApiRoute(
        route="system_upload",
        method=POST,
        path="system-uploads",
        tag=_TAG,
        opens=RESEARCHES,
        body=SystemSent,
        uploads=("file", "ids", "captions"),
        own_transactions=True,
        makes=True,
        answers=SystemShown,
        refuses=UPLOAD_REFUSALS,
        example={"name": "sent", "corpus": "harbour", "format": "scores"},
    )
)
def system_upload_call(call: ApiCall) -> Created:
    """Add a system made elsewhere, from embeddings or scores in files."""
    check_name(call.data["name"], "system")
    offered.offered_corpus(call.request, call.data["corpus"])
    with upload_folder(call.request, commands="add_system") as folder:
        file = uploaded_file(call.request, folder / "file", "file", beside="ids")
        if file is None:
            raise NotOffered("no file was sent; send one as the field “file”")
        made = keep_system(
            name=call.data["name"],
            corpus=call.data["corpus"],
            path=file,
            format=call.data["format"],
            captions=uploaded_file(call.request, folder / "captions", "captions"),
            cosine=not call.data.get("products", False),
            declared=offered.declared_on_page(call.request, call.data.get("trained_on", "")),
            wanted=registry.RequestedBy(account=call.account.pk),
        )
    row = System.objects.select_related("corpus").get(name=made.system)
    return Created(_system_plain(row), reverse("v1_system", args=[row.name]))


def _system_plain(row: System) -> dict[str, Any]:
    return {
        "name": row.name,
        "corpus": row.corpus.name,
        "origin": row.origin,
        "recipe": row.recipe,
        "digest": row.digest,
        "trained_on": row.trained_on,
        "created_at": json_time(row.created_at),
        "archived": row.archived_at is not None,
    }
