"""How operations are served: the addresses of declared operations, and what the OpenAPI document says of
each."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import TypeAdapter

from annotation.api.problems import ProblemDetails
from annotation.api.rest.cursors import CursorPage, CursorRequest, ListRequest
from annotation.common.operations import Operation, json_schema
from annotation.common.roles import WHOLE_SERVER, Scope
from annotation.jobs.status import JobStatus
from annotation.models import Account, ApiToken, Job

GET, POST, PATCH, DELETE = "GET", "POST", "PATCH", "DELETE"
#: How the name of every route of this API begins.
ROUTE_PREFIX = "v1_"
#: Where an app's folder `operations` keeps answers that the document shows as examples.
_ANSWERS_FILE = "answers.json"
#: The header under whose value a call is done once.
KEY_HEADER = "Idempotency-Key"
#: Where the OpenAPI document keeps a schema.
SCHEMA_PLACE = "#/components/schemas/{model}"
_KEY_PATTERN = r"^[!-~]{1,100}$"


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call that was let in: who calls, the values of its body and its query, its list's place, and the
    token by which it came, if by one."""

    request: HttpRequest
    account: Account
    data: Mapping[str, Any]
    listed: ListRequest | None = None
    token: ApiToken | None = None

    @property
    def rows(self) -> ListRequest:
        """What is asked of the list, in an operation that is one."""
        assert self.listed is not None
        return self.listed

    @property
    def scope(self) -> Scope:
        """What the call is limited to: what its token is for, the whole server without one."""
        return self.token.scope if self.token is not None else WHOLE_SERVER


class Created(NamedTuple):
    """What was made: its plain data, and the address under which it is found."""

    body: Any
    location: str


#: What an operation returns: plain data, a page of a list, a job that was asked for, what was made, a file,
#: or None where there is nothing to say.
OperationAnswer = Mapping[str, Any] | CursorPage | Job | Created | HttpResponseBase | None
Handler = Callable[..., OperationAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRoute:
    """All about an operation but its function.

    `route` names its address, which several methods may share; `declared` says who may call, what is sent and
    what is answered. Where it is `listed` that is a row; with `job` it answers 202 and the job. `file` is the
    type of a file that it sends; `uploads` are the fields of a form that carry files, which may come as JSON
    where all can be left out (`json_too`). `refuses` are the errors of services that are told as 409, `stale`
    those told as 412. What has `own_transactions` takes long, or several of them:
    its key is kept before and after, not within one. `confirms` asks callers by session to have given their
    password within the last minutes; a token was made by a password. `secret` is a field of the answer that
    is kept nowhere: the same call under the same key gets null there.
    """

    route: str
    method: str
    path: str
    tag: str
    declared: Operation
    listed: bool = False
    makes: bool = False
    job: bool = False
    file: str = ""
    uploads: tuple[str, ...] = ()
    json_too: bool = False
    own_transactions: bool = False
    confirms: bool = False
    secret: str = ""
    refuses: tuple[type[Exception], ...] = ()
    stale: tuple[type[Exception], ...] = ()
    example: Any = None

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.method == GET

    @property
    def takes_key(self) -> bool:
        """Whether it is done once under a key. A file is not: no answer with a file is kept."""
        return self.method == POST and not self.file

    @property
    def status(self) -> int:
        """The status of its answer."""
        if self.job:
            return 202
        if self.makes:
            return 201
        return 204 if self.declared.result is None else 200


class Served(NamedTuple):
    """An operation and its function."""

    about: ApiRoute
    handler: Handler

    @property
    def name(self) -> str:
        """How the OpenAPI document calls it."""
        return self.handler.__name__.removesuffix("_call")


#: By route and method.
_SERVED: dict[str, dict[str, Served]] = defaultdict(dict)


def serves(about: ApiRoute) -> Callable[[Handler], Handler]:
    """Make the decorated function the work of an operation: `work(call, thing, **rest_of_the_address)`."""

    def register(handler: Handler) -> Handler:
        methods = _SERVED[about.route]
        if about.method in methods:
            raise ValueError(f"two operations {about.method} {about.route}")
        methods[about.method] = Served(about, handler)
        return handler

    return register


def served() -> list[Served]:
    """All operations, in the order of their definition."""
    return [one for methods in _SERVED.values() for one in methods.values()]


def operation_patterns(
    view: Callable[[str, Mapping[str, Served]], Any], routes: Iterable[str] | None = None
) -> list[URLPattern]:
    """The addresses of operations, by default of all; `view` makes what answers at one of them."""
    found = []
    for route in dict.fromkeys(_SERVED if routes is None else routes):
        methods = _SERVED[route]
        places = {one.about.path for one in methods.values()}
        assert len(places) == 1, f"{route} has several addresses: {places}"
        found.append(path(places.pop(), view(route, methods), name=ROUTE_PREFIX + route))
    return found


def problem_codes(about: ApiRoute) -> list[int]:
    """The statuses of errors that an operation may answer."""
    codes = [400, 401, 403, 404, 429, 503]
    if not about.reads or about.refuses or about.file:
        codes.append(409)
    if about.stale:
        codes.append(412)
    if _declared_body(about):
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


def described_for_openapi(served_here: Served) -> Callable[[Any], Any]:
    """What drf-spectacular is told of an operation, as its decorator."""
    about, handler = served_here
    title, _, text = (handler.__doc__ or "").strip().partition("\n\n")
    return extend_schema(
        operation_id=served_here.name,
        summary=" ".join(title.split()).rstrip("."),
        description=" ".join(re.sub(r"\n +", "\n", text).split()),
        tags=[about.tag],
        request=_declared_body(about),
        parameters=_parameters(about),
        responses={**_answers(about), **_errors(about)},
        examples=_examples(served_here),
    )


def _fields_of_address(about: ApiRoute) -> set[str]:
    return set(re.findall(r"<\w+:(\w+)>", about.path))


def _declared_body(about: ApiRoute) -> Any:
    """What the body of a declared operation holds: the fields of its request that its address has not."""
    if about.reads:
        return None
    schema = {**json_schema(about.declared.request)}
    hide = _fields_of_address(about)
    schema["properties"] = {name: of for name, of in schema["properties"].items() if name not in hide}
    if required := [name for name in schema.pop("required", []) if name not in hide]:
        schema["required"] = required
    schema.pop("$defs", None)
    if not schema["properties"]:
        return None
    if not about.uploads:
        return {"application/json": schema}
    plain = {name: of for name, of in schema["properties"].items() if name not in about.uploads}
    as_json = {"application/json": {**schema, "properties": plain}} if about.json_too else {}
    return {**as_json, "multipart/form-data": schema}


def _query_of(request: type[Any], hide: set[str]) -> list[Any]:
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


def _parameters(about: ApiRoute) -> list[Any]:
    found = [*_query_of(CursorRequest, set())] if about.listed else []
    if about.reads:
        found += _query_of(about.declared.request, _fields_of_address(about))
    if about.takes_key:
        found.append(
            OpenApiParameter(
                KEY_HEADER,
                str,
                OpenApiParameter.HEADER,
                pattern=_KEY_PATTERN,
                description="A text of yours, 1 to 100 visible ASCII characters. The same call under the "
                "same key is done once within 24 hours, and answered as before.",
            )
        )
    return found


def _answers(about: ApiRoute) -> dict[Any, Any]:
    if about.file:
        held = OpenApiTypes.ANY if about.file == "application/json" else OpenApiTypes.BINARY
        return {(about.status, about.file): held}
    if about.job:
        job = {"$ref": f"#/components/schemas/{JobStatus.__name__}"}
        return {202: OpenApiResponse(job, "The job that does it; `Location` is its address.")}
    if about.declared.result is not None:
        name = _name_of(about.declared)
        row = {"$ref": f"#/components/schemas/{name}"}
        return {about.status: _declared_list(row) if about.listed else row}
    return {204: OpenApiResponse(description="Done.")}


def _declared_list(row: dict[str, Any]) -> dict[str, Any]:
    following = {"type": ["string", "null"]}
    return {
        "type": "object",
        "description": "A page of a list; `next` is the cursor of the next page, null at the end.",
        "properties": {"results": {"type": "array", "items": row}, "next": following},
        "required": ["results", "next"],
    }


def _name_of(declared: Operation) -> str:
    """The name of the schema of what an operation answers."""
    assert isinstance(declared.result, type)
    return declared.result.__name__


def declared_schemas() -> dict[str, Any]:
    """The schemas of what declared operations answer, and of all that these and requests refer to."""
    problem = TypeAdapter(ProblemDetails).json_schema(ref_template=SCHEMA_PLACE)
    found: dict[str, Any] = {**problem.pop("$defs"), ProblemDetails.__name__: problem}
    for one in served():
        declared = one.about.declared
        parts = {**json_schema(declared.request).get("$defs", {})}
        if isinstance(declared.result, type) and not declared.as_job:
            schema = {**json_schema(declared.result, result=True)}
            parts |= schema.pop("$defs", {})
            parts[_name_of(declared)] = schema
        for name, part in parts.items():
            assert found.setdefault(name, part) == part, f"two schemas {name}"
    return found


def _errors(about: ApiRoute) -> dict[Any, Any]:
    return {
        (code, "application/problem+json"): OpenApiResponse(
            {"$ref": SCHEMA_PLACE.format(model=ProblemDetails.__name__)}, _PROBLEMS[code]
        )
        for code in problem_codes(about)
    }


@cache
def _recorded_answers(file: Path) -> dict[str, Any]:
    """ApiRoute -> an answer that it gave to a test, which recorded it (`tests.api.v1.recording`)."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def _examples(served_here: Served) -> list[OpenApiExample]:
    about, found = served_here.about, []
    if about.example is not None:
        required = json_schema(about.declared.request).get("required", ())
        value = {**about.example, **{name: "..." for name in about.uploads if name in required}}
        kinds = ["multipart/form-data"] if about.uploads else []
        for sent_as in [*kinds, "application/json"] if about.json_too or not kinds else kinds:
            found.append(OpenApiExample("Request", value=value, request_only=True, media_type=sent_as))
    # Beside the declarations of an app.
    home = Path(str(sys.modules[served_here.handler.__module__.partition(".")[0]].__file__))
    shown = _recorded_answers(home.parent / "operations" / _ANSWERS_FILE).get(served_here.name)
    if shown is not None:
        found.append(
            OpenApiExample("Answer", value=shown, response_only=True, status_codes=[str(about.status)])
        )
    return found
