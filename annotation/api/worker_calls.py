"""The calls of workers in the OpenAPI document, from their declarations (`worker_call`), since they are not
DRF views. `docs/annotators.md` explains them."""

import re
from collections.abc import Iterable
from typing import Any, cast, get_args, get_type_hints

from annotation.api.problems import ProblemDetails
from annotation.api.requests import WorkerCall
from annotation.api.rest.openapi import SCHEMA_REFERENCE
from annotation.api.urls import urlpatterns
from annotation.api.worker_shapes import worker_schemas
from annotation.common.operations import json_schema
from annotation.common.operations.fields import NAME_PATTERN

_PROBLEMS = {
    400: "Not JSON such as the API takes, or a field that is wrong; `errors` names the fields.",
    401: "No session, no token, or one that is not valid.",
    403: "Not an annotator; or a session's write without its CSRF token.",
    404: "No such campaign, no such kind in it, or no such address.",
    409: "Answered before under another token; an answer that stands; or a text that is not the newest.",
    410: "No such task in this worker's hands.",
    422: "The question does not take this answer; nothing was stored.",
    429: "Asked for too often: wait as long as `Retry-After` says.",
    503: "Send the same again after `Retry-After` seconds.",
}
_PARAMETER_SCHEMAS = {
    "slug": {"type": "string", "pattern": NAME_PATTERN, "maxLength": 100},
    "int": {"type": "integer", "minimum": 0},
}


def paths_of_workers() -> dict[str, Any]:
    """Return operations by address and method."""
    paths: dict[str, Any] = {}
    for pattern in urlpatterns:
        route = str(pattern.pattern)
        address = "/api/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)
        parameters = [
            {"in": "path", "name": name, "required": True, "schema": _PARAMETER_SCHEMAS[kind]}
            for kind, name in re.findall(r"<(\w+):(\w+)>", route)
        ]
        paths[address] = {call.method.lower(): _operation(call, parameters) for call in _calls_at(pattern)}
    return paths


def schemas_of_workers() -> dict[str, Any]:
    """Return the schemas that these operations refer to."""
    calls = [call for pattern in urlpatterns for call in _calls_at(pattern)]
    requests = [json_schema(call.asks()).get("$defs", {}) for call in calls]
    answers = worker_schemas(get_type_hints(call.view)["return"] for call in calls)
    return {name: schema for defs in requests for name, schema in defs.items()} | answers


def _calls_at(pattern: Any) -> Iterable[WorkerCall]:
    return cast(Iterable[WorkerCall], pattern.callback.calls.values())


def _operation(call: WorkerCall, parameters: list[Any]) -> dict[str, Any]:
    answer = get_type_hints(call.view)["return"]
    body = json_schema(call.asks())
    body.pop("$defs", None)
    operation: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.title,
        "tags": ["work"],
        "security": [{"worker_token": []}, {"session": []}],
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": _reference(answer)}}},
            **{
                str(code): {
                    "description": _PROBLEMS[code],
                    "content": {"application/problem+json": {"schema": _schema_of(ProblemDetails.__name__)}},
                }
                for code in sorted({401, 403, 503, *call.errors, *([404] if parameters else [])})
            },
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if body["properties"]:
        content = {"schema": body} | ({"example": call.example} if call.example else {})
        operation["requestBody"] = {"content": {"application/json": content}, "required": "required" in body}
    return operation


def _reference(answer: Any) -> dict[str, Any]:
    parts = get_args(answer)
    return {"anyOf": [_schema_of(part.__name__) for part in parts]} if parts else _schema_of(answer.__name__)


def _schema_of(name: str) -> dict[str, Any]:
    return {"$ref": SCHEMA_REFERENCE.format(model=name)}
