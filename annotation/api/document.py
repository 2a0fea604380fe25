"""The OpenAPI document and the pages that show it, including the calls of workers."""

import json
import re
from functools import lru_cache
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from annotation.api.problems import missing
from annotation.api.rest.endpoints import endpoints
from annotation.api.rest.openapi import declared_schemas, described_for_openapi
from annotation.api.rest.views import OperationView
from annotation.api.worker_calls import paths_of_workers, schemas_of_workers
from annotation.common.operations.fields import NAME_PATTERN


@login_not_required
@require_safe
def openapi_document(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document, as JSON."""
    return HttpResponse(_document(), content_type="application/json")


@login_not_required
@require_safe
def api_pages(request: HttpRequest) -> HttpResponse:
    """Show the operations one by one, with forms to try them."""
    return render(request, "annotation/api.html")


@csrf_exempt
@login_not_required
def no_such_call(request: HttpRequest) -> HttpResponse:
    """Return the problem for any other address of the API."""
    return missing(_("The API has no such address.")).response()


def describe_operations(endpoints: list[Any]) -> list[Any]:
    """Pass each operation's declaration to drf-spectacular: when the document is generated, not at every
    start."""
    for _path, _regex, method, callback in endpoints:
        view = callback.cls
        if issubclass(view, OperationView):
            described_for_openapi(view.endpoints[method])(getattr(view, method.lower()))
    return endpoints


def complete_document(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add what drf-spectacular cannot know: readable names, patterns of path parameters, and the calls of
    workers, which have views of their own, for speed."""
    document = result
    names = {
        "/api/v1/" + re.sub(r"<\w+:(\w+)>", r"{\1}", endpoint.rest.path): re.findall(
            r"<slug:(\w+)>", endpoint.rest.path
        )
        for endpoint in endpoints()
    }
    for address, methods in document["paths"].items():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"] in names[address]:
                    parameter["schema"] |= {"pattern": NAME_PATTERN, "maxLength": 100}
            if (body := operation.get("requestBody")) is not None:
                body["required"] = all(_required(of["schema"], document) for of in body["content"].values())
    document["paths"] |= paths_of_workers()
    document["components"]["schemas"] = declared_schemas() | schemas_of_workers()
    document["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    document["components"]["securitySchemes"]["worker_token"] = {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "Token KEY: a token of an annotator, made by `manage.py make_worker_token`.",
    }
    return document


def _required(schema: dict[str, Any], document: dict[str, Any]) -> bool:
    """Whether a body has a required field."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return bool((document["components"]["schemas"][name] if name else schema).get("required"))


#: Groups of operations, in the order of the pages.
_TAGS = {
    "corpora": "Images with captions, and the layers of annotation over them",
    "campaigns": "Campaigns: opened, watched, paused, closed",
    "preparing": "What workers read and are checked by; invitations and studies",
    "reviewing": "Rulings on disputes, and problems that workers reported",
    "workers": "Workers of a campaign, and what they are told",
    "model_annotators": "Programs that answer in the place of a worker",
    "payments": "What is due, bonuses, payments, crowd platforms",
    "exports": "Datasets made from a campaign",
    "streams": "All rows of a kind, in one answer",
    "features": "Vectors of images and texts",
    "systems": "Retrieval systems: trained or uploaded",
    "runs": "Rankings, and their figures",
    "qrels": "Relevance that runs are measured by",
    "judgment-sets": "Imported grades of pairs",
    "batches": "Pairs from runs that people judge",
    "caption-sets": "Captions that systems wrote",
    "tag-sets": "Tags that systems or people gave",
    "localization-sets": "Boxes that systems gave to phrases",
    "reports": "Comparisons of runs, to be read and downloaded",
    "jobs": "What takes long: watched, cancelled, resumed",
    "notifications": "Webhooks, and alarms by e-mail",
    "account": "The caller: roles, tokens, earnings, messages",
    "people": "Accounts, roles, invitations",
    "server": "Operations, the state of the server, a test e-mail",
    "work": "The calls of workers: tasks and answers",
}


@lru_cache(maxsize=1)
def _document() -> bytes:
    return json.dumps(SchemaGenerator().get_schema(request=None, public=True)).encode()
