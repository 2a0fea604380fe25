"""Views of the REST API: authenticate the caller, parse the call, run the operation, turn errors into
problems."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser, JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.views import APIView

from annotation import jobs
from annotation.api.problems import Problem, invalid_problem, missing, no_role
from annotation.api.rest.access import TokenOrSession, check_confirmed, check_path_arguments, check_rate
from annotation.api.rest.cursors import CursorPage, CursorRequest, ListRequest, list_request
from annotation.api.rest.endpoints import ROUTE_PREFIX, Endpoint
from annotation.common.files import file_download, received_files
from annotation.common.operations import (
    EXPECTED_ERRORS,
    BadJson,
    FieldError,
    Forbidden,
    Invalid,
    Listing,
    NewFile,
    OperationContext,
    Pages,
    RequestField,
    invalid,
    read_json,
    read_request,
    request_fields,
    result_to_dict,
)
from annotation.common.roles import WHOLE_SERVER
from annotation.jobs.status import job_status
from annotation.models import Account, Job
from annotation.workers.picture_addresses import signed_picture_address
from annotation.workers.repeated_calls import (
    KEY_HEADER,
    CallAnswer,
    CallKey,
    KeyReused,
    StillAtWork,
    digest_of_call,
    done_once,
)

_JSON, _FORM = "application/json", "multipart/form-data"


class ApiCall(NamedTuple):
    """A permitted call: the caller, path arguments, the values of its body or its query, and its list
    request, if it is one."""

    request: HttpRequest
    account: Account
    path_arguments: Mapping[str, Any]
    data: Mapping[str, Any]
    listed: ListRequest | None


class Created(NamedTuple):
    """A created object: its plain data, and its address."""

    body: Any
    location: str


#: Result of an operation: plain data, a page of a list, an enqueued job, a created object, a file, or None.
OperationAnswer = Mapping[str, Any] | CursorPage | Job | Created | HttpResponseBase | None


class _OneType(BaseContentNegotiation):
    """Responses have one type, whatever the call accepts."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """Return None: bodies are read by `_body_data`, and parsers only describe their type for the OpenAPI
        document."""
        return None

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        """Return the first."""
        return renderers[0], renderers[0].media_type


class OperationView(APIView):
    """The operations at one address, by method."""

    endpoints: ClassVar[Mapping[str, Endpoint]] = {}
    http_method_names = ["get", "post", "patch", "delete", "head"]
    authentication_classes = [TokenOrSession]
    permission_classes = []
    throttle_classes = []
    content_negotiation_class = _OneType

    def get_parsers(self) -> list[BaseParser]:
        """Return JSON, or a form if the operation accepts files."""
        endpoint = self._endpoint()
        if endpoint is None or not endpoint.uploads:
            return [JSONParser()]
        return [MultiPartParser(), JSONParser()] if endpoint.takes_json else [MultiPartParser()]

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]
        """Return an error as a problem; bugs are raised again."""
        return private(problem_of(exc, self._endpoint(), self.kwargs).response())

    def _endpoint(self) -> Endpoint | None:
        # drf-spectacular calls this without a request.
        method = getattr(self.request, "method", "") or ""
        return self.endpoints.get("GET" if method == "HEAD" else method)

    def _performed(self, request: Request, **path_arguments: Any) -> HttpResponseBase:
        endpoint, account, inner = self._endpoint(), request.user, request._request
        assert endpoint is not None and isinstance(account, Account)
        operation = endpoint.operation
        if endpoint.rest.paced:
            check_rate(account.pk, reads=endpoint.reads)
        if path_arguments:
            check_path_arguments(path_arguments)
        if not operation.permission.allows(account):
            raise Forbidden(*operation.permission.roles)
        if operation.confirms:
            check_confirmed(request)
        data, key, listed = _read(endpoint, inner), None, None
        if operation.listed:
            fields = {name: data.pop(name) for name in request_fields(CursorRequest) if name in data}
            cursor = read_request(CursorRequest, fields)
            listed = list_request(path=inner.path, account=account.pk, filters=data, cursor=cursor)
        if endpoint.takes_key:
            key = _key_of(endpoint, account, inner)
        call = ApiCall(inner, account, path_arguments, data, listed)
        if key is None:
            answer = _answer(endpoint, call)
            if isinstance(answer, HttpResponseBase):
                return private(answer)
            return _as_response(_call_answer(endpoint, answer))
        return _answered_once(key, endpoint, call)


def operation_view(route: str, methods: Mapping[str, Endpoint]) -> Any:
    """Return the view of the address of `route`."""

    def answering() -> Any:
        def method(self: OperationView, request: Request, **path_arguments: Any) -> HttpResponseBase:
            return self._performed(request, **path_arguments)

        return method

    name = "".join(part.title() for part in route.split("_")) + "View"
    held = {method.lower(): answering() for method in methods}
    view: Any = type(name, (OperationView,), {**held, "endpoints": methods, "__doc__": f"Route {route}."})
    return view.as_view()


def _answer(endpoint: Endpoint, call: ApiCall) -> OperationAnswer:
    """Run the operation of a call; its address contains some fields of the request."""
    operation = endpoint.operation
    operation.authorize_named(call.path_arguments, call.account)
    for name in sorted(call.path_arguments.keys() & call.data.keys()):
        known = ", ".join(
            field for field in request_fields(operation.request) if field not in call.path_arguments
        )
        raise invalid(name, "extra_forbidden", known=known)
    for name in endpoint.uploads:
        if name in call.data:
            raise invalid(name, "file_expected")
    uploaded: AbstractContextManager[Mapping[str, Any]] = (
        received_files(operation, call.request.FILES) if endpoint.uploads else nullcontext({})
    )
    with uploaded as files:
        request = read_request(operation.request, {**call.data, **call.path_arguments, **files})
        row = operation.authorize(request, call.account)
        if operation.as_job:
            return jobs.enqueue_operation(operation, request, row=row, actor=call.account)
        picture = partial(signed_picture_address, call.request)
        result = operation.run(request, OperationContext(call.account, picture=picture))
        match result:
            case None:
                return None
            case Listing() | Pages():
                assert call.listed is not None
                return _page(call.listed, result)
            case NewFile():
                return file_download(operation, result)
    if endpoint.rest.creates:
        address = endpoint.rest.creates.format(**asdict(result))
        root = reverse("v1_openapi").removesuffix("openapi.json")
        return Created(result_to_dict(result), f"{root}{address}")
    return result_to_dict(result)


def _page(listed: ListRequest, result: Listing | Pages) -> CursorPage:
    if isinstance(result, Pages):
        results, mark = result.page(listed.mark, listed.limit)
        return listed.page(map(result_to_dict, results), mark)
    rows, by = result.rows, result.by
    if isinstance(rows, QuerySet) and isinstance(by, str):
        return listed.of_rows(rows, by, lambda row: result_to_dict(result.result(row)))
    assert callable(by) and not isinstance(rows, QuerySet)
    return listed.of_values(rows, by, lambda row: result_to_dict(result.result(row)))


def address_values(request: Mapping[str, RequestField], query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return a query's or a form's values of a request's fields in JSON form; others unchanged, to be
    rejected."""
    fields = {name: field for name, field in request.items() if field.upload is None}
    data: dict[str, Any] = {}
    for name, texts in query.items():
        values = [fields[name].read_text(text) for text in texts] if name in fields else texts
        data[name] = values if name in fields and fields[name].many else values[-1]
    return data


def problem_of(error: Exception, endpoint: Endpoint | None, path_arguments: Mapping[str, Any]) -> Problem:
    """Return an error of a call with these `path_arguments` as a problem; raise it again if it is a bug."""
    match error:
        case Problem():
            return error
        case RequestDataTooBig() | MultiPartParserError() | SuspiciousOperation():
            large = isinstance(error, RequestDataTooBig)
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE if large else HTTPStatus.BAD_REQUEST
            detail = _("This request is too large.") if large else _("This cannot be read.")
            return Problem(status, "too_large" if large else "bad_request", detail)
        case exceptions.MethodNotAllowed():
            detail = _("This address does not accept this method.")
            return Problem(HTTPStatus.METHOD_NOT_ALLOWED, "bad_method", detail)
        case Forbidden():
            return no_role(*error.roles)
        case Invalid():
            for field_error in error.errors:
                # An unknown name in the address means that the address does not exist.
                if field_error.field in path_arguments and field_error.code != "extra_forbidden":
                    return missing(field_error.detail)
            return invalid_problem(error)
        case Http404():
            return missing(str(error) or _("There is no such thing here."))
    if endpoint is not None and isinstance(error, endpoint.operation.stale):
        return Problem(HTTPStatus.PRECONDITION_FAILED, "stale", str(error))
    if isinstance(error, EXPECTED_ERRORS if endpoint is None else endpoint.operation.errors):
        return Problem(HTTPStatus.CONFLICT, "refused", str(error))
    raise error


def private(response: HttpResponseBase) -> HttpResponseBase:
    """Forbid caches to store the response."""
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _body_data(endpoint: Endpoint, request: HttpRequest) -> Any:
    """Return the content of a body: JSON, {} if it is empty; or the fields of a form, except its files."""
    kind = (request.content_type or "").strip().lower()
    if endpoint.uploads and kind == _FORM:
        return request.POST
    if endpoint.uploads and not endpoint.takes_json:
        raise _bad_type(_FORM)
    if kind.startswith("multipart/"):  # it was read as a form: the body is consumed
        raise _bad_type(_JSON)
    if not request.body:
        return {}
    if kind != _JSON:
        raise _bad_type(_JSON)
    try:
        return read_json(request.body)
    except BadJson as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", str(error)) from error


def _read(endpoint: Endpoint, request: HttpRequest) -> dict[str, Any]:
    """Return the raw values of the request's fields, and of a list's cursor, which are checked later."""
    query, operation = dict(request.GET.lists()), endpoint.operation
    if endpoint.reads:
        cursor_fields = request_fields(CursorRequest) if operation.listed else {}
        return address_values({**request_fields(operation.request), **cursor_fields}, query)
    if query:
        raise Invalid(*(FieldError(name[:100], "extra_forbidden", {"known": ""}) for name in query))
    data = _body_data(endpoint, request)
    if isinstance(data, QueryDict):
        return address_values(request_fields(operation.request), dict(data.lists()))
    if not isinstance(data, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", _("Expected a JSON object: {...}."))
    return data


def _bad_type(kind: str) -> Problem:
    detail = _("Send %(kind)s.") % {"kind": kind}
    return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "bad_type", detail)


def _key_of(endpoint: Endpoint, account: Account, request: HttpRequest) -> CallKey | None:
    """Return the call with its idempotency key; None without one. Raises Problem."""
    key = request.headers.get(KEY_HEADER)
    if key is None:
        return None
    if not (0 < len(key) <= 100 and key.isascii() and key.isprintable() and " " not in key):
        detail = _("The header Idempotency-Key has 1 to 100 visible ASCII characters.")
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_key", detail, field=KEY_HEADER)
    body = _form_as_bytes(request) if request.content_type == _FORM else request.body
    digest = digest_of_call(request.get_full_path(), body)
    # A token for one corpus or campaign must not get the stored response to a call outside it.
    scope = "" if account.limit == WHOLE_SERVER else " {}:{}".format(*account.limit)
    return CallKey(account, f"{endpoint.rest.method} {endpoint.route}{scope}", key, digest)


def _form_as_bytes(request: HttpRequest) -> bytes:
    """Return a form and its files as bytes, as far as they distinguish two calls."""
    parts: list[Any] = sorted(request.POST.lists())
    for name in sorted(request.FILES):
        for file in request.FILES.getlist(name):
            digest = hashlib.sha256()
            for chunk in file.chunks():
                digest.update(chunk)
            file.seek(0)
            parts.append([name, file.name, digest.hexdigest()])
    return json.dumps(parts).encode()


def _answered_once(key: CallKey, endpoint: Endpoint, call: ApiCall) -> HttpResponseBase:
    """Run the operation unless it was run under this key; return the stored response otherwise."""
    try:
        answer, before = done_once(
            key,
            lambda: _call_answer(endpoint, _answer(endpoint, call)),
            secret=endpoint.operation.secret,
            own_transactions=endpoint.rest.own_transactions,
        )
    except KeyReused:
        detail = _("This key was sent with another call within the last 24 hours: choose a new one.")
        raise Problem(HTTPStatus.CONFLICT, "key_reused", detail, field=KEY_HEADER) from None
    except StillAtWork:
        detail = _("The call of this key is still being done, or was cut off: look whether it was done.")
        raise Problem(
            HTTPStatus.CONFLICT, "still_at_work", detail, field=KEY_HEADER, headers={"Retry-After": "5"}
        ) from None
    response = _as_response(answer)
    if before:
        response["Idempotent-Replayed"] = "true"
    return response


def _call_answer(endpoint: Endpoint, answer: OperationAnswer) -> CallAnswer:
    """Return a response as it is stored and sent."""
    location = ""
    body: Any = answer
    match answer:
        case Job():
            body = result_to_dict(job_status(answer))
            location = reverse(f"{ROUTE_PREFIX}job", args=[answer.pk])
        case Created():
            body, location = answer
        case CursorPage():
            body = answer._asdict()
        case HttpResponseBase():
            raise TypeError("a file is no answer to a call under a key")
    return CallAnswer(endpoint.status, "" if body is None else json.dumps(body, default=str), location)


def _as_response(answer: CallAnswer) -> HttpResponse:
    response = HttpResponse(answer.body.encode(), content_type=_JSON, status=answer.status)
    if not answer.body:
        del response["Content-Type"]
    if answer.location:
        response["Location"] = answer.location
    private(response)
    return response
