"""Each operation's part of the OpenAPI document, for drf-spectacular."""

import json
import sys
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any

from django.utils import translation
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import TypeAdapter

from annotation.api.problems import ProblemDetails
from annotation.api.rest.cursors import CursorRequest
from annotation.api.rest.endpoints import Endpoint, endpoints
from annotation.common.operations import json_schema
from annotation.jobs.status import JobStatus
from annotation.workers.repeated_calls import KEY_HEADER

#: File in an app's folder `operations` with example responses for the document.
_ANSWERS_FILE = "answers.json"
#: Reference to a schema within the OpenAPI document.
SCHEMA_REFERENCE = "#/components/schemas/{model}"
_KEY_PATTERN = r"^[!-~]{1,100}$"


def problem_codes(endpoint: Endpoint) -> list[int]:
    """Return the statuses of an operation's errors."""
    codes = [400, 401, 403, 404, 409, 429, 503]
    if endpoint.operation.stale:
        codes.append(412)
    if _declared_body(endpoint):
        codes += [413, 415]
    return sorted(codes)


_PROBLEMS = {
    400: "What was sent cannot be read; `errors` names the fields.",
    401: "No token, or one that is not valid.",
    403: "The account, or the token, has not the role for this.",
    404: "There is no such thing, or it is not open to this account.",
    409: "It cannot be done as things are; or the key was sent with another call before.",
    412: "Somebody changed it meanwhile: look at it again.",
    413: "Too large.",
    415: "Not of a type that is taken.",
    429: "Too many calls: wait as long as `Retry-After` says.",
    503: "The database is away: send it again after `Retry-After` seconds.",
}


def described_for_openapi(endpoint: Endpoint) -> Callable[[Any], Any]:
    """Return the drf-spectacular decorator of an operation."""
    operation = endpoint.operation
    with translation.override("en"):
        title = str(operation.title)
    return extend_schema(
        operation_id=endpoint.name,
        summary=title,
        description=" ".join((operation.request.__doc__ or "").split()),
        tags=[endpoint.rest.tag],
        request=_declared_body(endpoint),
        parameters=_parameters(endpoint),
        responses={**_answers(endpoint), **_errors(endpoint)},
        examples=_examples(endpoint),
    )


def _declared_body(endpoint: Endpoint) -> Any:
    """Return the body of a declared operation: the fields of its request that are not in its address."""
    if endpoint.reads:
        return None
    schema = {**json_schema(endpoint.operation.request)}
    hide = endpoint.rest.arguments
    schema["properties"] = {name: of for name, of in schema["properties"].items() if name not in hide}
    if required := [name for name in schema.pop("required", []) if name not in hide]:
        schema["required"] = required
    schema.pop("$defs", None)
    if not schema["properties"]:
        return None
    if not endpoint.uploads:
        return {"application/json": schema}
    properties = {name: of for name, of in schema["properties"].items() if name not in endpoint.uploads}
    as_json = {"application/json": {**schema, "properties": properties}} if endpoint.takes_json else {}
    return {**as_json, "multipart/form-data": schema}


def _query_of(request: type[Any], hide: Collection[str]) -> list[Any]:
    schema = json_schema(request)
    return [
        OpenApiParameter(
            name,
            {key: value for key, value in of.items() if key not in ("title", "description")},
            OpenApiParameter.QUERY,
            required=name in schema.get("required", ()),
            description=of.get("description", ""),
        )
        for name, of in schema["properties"].items()
        if name not in hide
    ]


def _parameters(endpoint: Endpoint) -> list[Any]:
    parameters = [*_query_of(CursorRequest, ())] if endpoint.operation.listed else []
    if endpoint.reads:
        parameters += _query_of(endpoint.operation.request, endpoint.rest.arguments)
    if endpoint.takes_key:
        parameters.append(
            OpenApiParameter(
                KEY_HEADER,
                str,
                OpenApiParameter.HEADER,
                pattern=_KEY_PATTERN,
                description="A text of yours, 1 to 100 visible ASCII characters. The same call under the "
                "same key is done once within 24 hours, and answered as before.",
            )
        )
    return parameters


def _answers(endpoint: Endpoint) -> dict[Any, Any]:
    if endpoint.media_type:
        held = OpenApiTypes.ANY if endpoint.media_type == "application/json" else OpenApiTypes.BINARY
        return {(endpoint.status, endpoint.media_type): held}
    if endpoint.operation.as_job:
        job = {"$ref": SCHEMA_REFERENCE.format(model=JobStatus.__name__)}
        return {202: OpenApiResponse(job, "The job that does it; `Location` is its address.")}
    if isinstance(endpoint.operation.result, type):
        row = {"$ref": SCHEMA_REFERENCE.format(model=endpoint.operation.result.__name__)}
        return {endpoint.status: _declared_list(row) if endpoint.operation.listed else row}
    return {204: OpenApiResponse(description="Done.")}


def _declared_list(row: dict[str, Any]) -> dict[str, Any]:
    following = {"type": ["string", "null"]}
    return {
        "type": "object",
        "description": "A page of a list; `next` is the cursor of the next page, null at the end.",
        "properties": {"results": {"type": "array", "items": row}, "next": following},
        "required": ["results", "next"],
    }


def declared_schemas() -> dict[str, Any]:
    """Return the schemas of declared operations' responses, and of everything that these and requests refer
    to."""
    problem = TypeAdapter(ProblemDetails).json_schema(ref_template=SCHEMA_REFERENCE)
    schemas: dict[str, Any] = {**problem.pop("$defs"), ProblemDetails.__name__: problem}
    for endpoint in endpoints():
        declared = endpoint.operation
        parts = {**json_schema(declared.request).get("$defs", {})}
        if isinstance(declared.result, type) and not declared.as_job:
            schema = {**json_schema(declared.result, result=True)}
            parts |= schema.pop("$defs", {})
            parts[declared.result.__name__] = schema
        for name, part in parts.items():
            assert schemas.setdefault(name, part) == part, f"two schemas {name}"
    return schemas


def _errors(endpoint: Endpoint) -> dict[Any, Any]:
    return {
        (code, "application/problem+json"): OpenApiResponse(
            {"$ref": SCHEMA_REFERENCE.format(model=ProblemDetails.__name__)}, _PROBLEMS[code]
        )
        for code in problem_codes(endpoint)
    }


@cache
def _recorded_answers(file: Path) -> dict[str, Any]:
    """Return, for each operation, a response that a test recorded (`tests.api.v1.recording`)."""
    answers: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return answers


def _examples(endpoint: Endpoint) -> list[OpenApiExample]:
    examples = []
    if endpoint.rest.example is not None:
        required = json_schema(endpoint.operation.request).get("required", ())
        value = {**endpoint.rest.example, **{name: "..." for name in endpoint.uploads if name in required}}
        kinds = ["multipart/form-data"] if endpoint.uploads else []
        for sent_as in [*kinds, "application/json"] if endpoint.takes_json or not kinds else kinds:
            examples.append(OpenApiExample("Request", value=value, request_only=True, media_type=sent_as))
    # Beside the declarations of an app.
    home = Path(str(sys.modules[endpoint.operation.app].__file__))
    answer = _recorded_answers(home.parent / "operations" / _ANSWERS_FILE).get(endpoint.name)
    if answer is not None:
        examples.append(
            OpenApiExample("Answer", value=answer, response_only=True, status_codes=[str(endpoint.status)])
        )
    return examples
