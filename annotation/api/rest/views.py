"""What answers at an address: the caller is found and let in, the call is read, and errors become
problems."""

import hashlib
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
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
from annotation.api.problems import Problem, invalid_problem
from annotation.api.rest.callers import TokenOrSession
from annotation.api.rest.cursors import CursorPage, CursorRequest, list_request
from annotation.api.rest.declared import address_values
from annotation.api.rest.operations import (
    KEY_HEADER,
    ROUTE_PREFIX,
    ApiCall,
    ApiRoute,
    Created,
    OperationAnswer,
    Served,
    described_for_openapi,
)
from annotation.api.rest.permissions import check_path_arguments, check_permission, missing
from annotation.api.rest.throttles import check_rate
from annotation.common import database, incoming_json
from annotation.common.locks import Busy
from annotation.common.operations import FieldError, Invalid, read_request, result_to_dict
from annotation.jobs.status import job_status
from annotation.models import Account, Job
from annotation.workers import sessions
from annotation.workers.repeated_calls import (
    CallAnswer,
    CallKey,
    KeyReused,
    StillAtWork,
    begin_call,
    digest_of_call,
    end_call,
    give_key_back,
)
from phrasebox.registry import UnknownName

#: What any operation may be refused for by the services behind it.
_SERVICE_ERRORS = (jobs.JobError, UnknownName, Busy)
_JSON, _FORM = "application/json", "multipart/form-data"


class _OneType(BaseContentNegotiation):
    """Answers are of one type, whatever a call would rather have."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """None: bodies are read by `_body_data`, and parsers only tell the OpenAPI document their type."""
        return None

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        """The first."""
        return renderers[0], renderers[0].media_type


class OperationView(APIView):
    """The operations at one address, by method."""

    operations: ClassVar[Mapping[str, Served]] = {}
    http_method_names = ["get", "post", "patch", "delete", "head"]
    authentication_classes = [TokenOrSession]
    permission_classes = []
    throttle_classes = []
    content_negotiation_class = _OneType

    def get_parsers(self) -> list[BaseParser]:
        """JSON, or a form where the operation takes files."""
        about = self._about()
        if about is None or not about.uploads:
            return [JSONParser()]
        return [MultiPartParser(), JSONParser()] if about.json_too else [MultiPartParser()]

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]
        """The error as a problem; raises it again if it is a bug of ours."""
        about = self._about()
        return private(problem_of(exc, about).response())

    def _about(self) -> ApiRoute | None:
        # drf-spectacular asks before there is a request.
        method = getattr(self.request, "method", "") or ""
        operation = self.operations.get("GET" if method == "HEAD" else method)
        return operation.about if operation is not None else None

    def _performed(self, request: Request, **path_arguments: Any) -> HttpResponseBase:
        about, handler = self.operations["GET" if request.method == "HEAD" else str(request.method)]
        account = request.user
        assert isinstance(account, Account)
        if about.declared.rest is None or about.declared.rest.paced:
            check_rate(account.pk, reads=about.reads)
        check_path_arguments(path_arguments)
        check_permission(about.declared.permission, account)
        if (
            about.confirms
            and request.auth is None
            and not sessions.recently_confirmed(request._request.session)
        ):
            detail = _("This asks for your password: give it on a page, or use a token.")
            raise Problem(HTTPStatus.FORBIDDEN, "not_confirmed", detail)
        inner = request._request
        cursor, data = _read(about, inner)
        key = _key_of(about, account, inner)
        listed = (
            list_request(path=inner.path, account=account.pk, filters=data, cursor=cursor)
            if about.listed
            else None
        )
        token: Any = request.auth
        call = ApiCall(inner, account, data, listed, token)
        if key is None:
            return _response(about, handler(call, **path_arguments))
        return _done_once(key, about, lambda: _call_answer(about, handler(call, **path_arguments)))


def operation_view(route: str, methods: Mapping[str, Served]) -> Any:
    """What answers at the address of `route`."""

    def answering(operation: Served) -> Any:
        def method(self: OperationView, request: Request, **path_arguments: Any) -> HttpResponseBase:
            return self._performed(request, **path_arguments)

        method.__doc__ = operation.handler.__doc__
        return described_for_openapi(operation)(method)

    name = "".join(part.title() for part in route.split("_")) + "View"
    held = {operation.about.method.lower(): answering(operation) for operation in methods.values()}
    view: Any = type(name, (OperationView,), {**held, "operations": methods, "__doc__": f"Route {route}."})
    return view.as_view()


def problem_of(error: Exception, about: ApiRoute | None) -> Problem:
    """An error as a problem; raises it on where it is our fault."""
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
        case Invalid():
            return invalid_problem(error)
        case Http404():
            return missing(str(error) or _("There is no such thing here."))
    if about is not None and isinstance(error, about.stale):
        return Problem(HTTPStatus.PRECONDITION_FAILED, "stale", str(error))
    if isinstance(error, (*_SERVICE_ERRORS, *(about.refuses if about is not None else ()))):
        return Problem(HTTPStatus.CONFLICT, "refused", str(error))
    raise error


def private(response: HttpResponseBase) -> HttpResponseBase:
    """Nobody on the way keeps an answer."""
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _body_data(about: ApiRoute, request: HttpRequest) -> Any:
    """The data of a body: JSON, {} for an empty one; or the fields of a form, without its files."""
    kind = (request.content_type or "").strip().lower()
    if about.uploads and kind == _FORM:
        return request.POST
    if about.uploads and not about.json_too:
        raise _bad_type(_FORM)
    if kind.startswith("multipart/"):  # it was read as a form: there is no body any more
        raise _bad_type(_JSON)
    if not request.body:
        return {}
    if kind != _JSON:
        raise _bad_type(_JSON)
    try:
        return incoming_json.read_json(request.body)
    except incoming_json.BadJson as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", str(error)) from error


def _read(about: ApiRoute, request: HttpRequest) -> tuple[CursorRequest, dict[str, Any]]:
    """The cursor in a list, and the raw values of the request's fields, which are checked later."""
    query, of = dict(request.GET.lists()), about.declared.request
    cursor_fields: dict[str, list[str]] = {
        name: query.pop(name) for name in ("limit", "cursor") if about.listed and name in query
    }
    if about.reads:
        data = address_values(of, query)
    elif query:
        raise Invalid(*(FieldError(name[:100], "extra_forbidden", {"known": ""}) for name in query))
    else:
        body = _body_data(about, request)
        data = address_values(of, dict(body.lists())) if isinstance(body, QueryDict) else body
        if not isinstance(data, dict):
            raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", _("Expected a JSON object: {...}."))
    return read_request(CursorRequest, address_values(CursorRequest, cursor_fields)), data


def _bad_type(kind: str) -> Problem:
    detail = _("Send %(kind)s.") % {"kind": kind}
    return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "bad_type", detail)


def _key_of(about: ApiRoute, account: Account, request: HttpRequest) -> CallKey | None:
    """The call under the key that it was sent with; None without one. Raises Problem."""
    key = request.headers.get(KEY_HEADER)
    if key is None or not about.takes_key:
        return None
    if not (0 < len(key) <= 100 and key.isascii() and key.isprintable() and " " not in key):
        detail = _("The header Idempotency-Key has 1 to 100 visible ASCII characters.")
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_key", detail, field=KEY_HEADER)
    body = _form_as_bytes(request) if request.content_type == _FORM else request.body
    return CallKey(
        account, f"{about.method} {about.route}", key, digest_of_call(request.get_full_path(), body)
    )


def _form_as_bytes(request: HttpRequest) -> bytes:
    """A form and its files, as far as they tell two calls apart."""
    parts: list[Any] = sorted(request.POST.lists())
    for name in sorted(request.FILES):
        for file in request.FILES.getlist(name):
            digest = hashlib.sha256()
            for chunk in file.chunks():
                digest.update(chunk)
            file.seek(0)
            parts.append([name, file.name, digest.hexdigest()])
    return json.dumps(parts).encode()


def _done_once(key: CallKey, about: ApiRoute, work: Any) -> HttpResponseBase:
    """Do the work unless it was done under this key; answer as then."""
    try:
        if about.own_transactions:
            before = begin_call(key)
            if before is None:
                try:
                    answer: CallAnswer = work()
                except BaseException:
                    give_key_back(key)
                    raise
                end_call(key, _without_secret(about, answer))
        else:
            with database.writing():
                before = begin_call(key)
                if before is None:
                    answer = work()
                    end_call(key, _without_secret(about, answer))
    except KeyReused:
        detail = _("This key was sent with another call within the last 24 hours: choose a new one.")
        raise Problem(HTTPStatus.CONFLICT, "key_reused", detail, field=KEY_HEADER) from None
    except StillAtWork:
        detail = _("The call of this key is still being done, or was cut off: look whether it was done.")
        raise Problem(
            HTTPStatus.CONFLICT, "still_at_work", detail, field=KEY_HEADER, headers={"Retry-After": "5"}
        ) from None
    response = _as_response(before or answer)
    if before is not None:
        response["Idempotent-Replayed"] = "true"
    return response


def _call_answer(about: ApiRoute, answer: OperationAnswer) -> CallAnswer:
    """An answer as it is stored and sent."""
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
    return CallAnswer(about.status, "" if body is None else json.dumps(body, default=str), location)


def _without_secret(about: ApiRoute, answer: CallAnswer) -> CallAnswer:
    """The answer as it is stored for a repeated call with the same key: without its secret."""
    if not about.secret:
        return answer
    return answer._replace(body=json.dumps({**json.loads(answer.body), about.secret: None}))


def _response(about: ApiRoute, answer: OperationAnswer) -> HttpResponseBase:
    return (
        private(answer) if isinstance(answer, HttpResponseBase) else _as_response(_call_answer(about, answer))
    )


def _as_response(answer: CallAnswer) -> HttpResponse:
    response = HttpResponse(answer.body.encode(), content_type=_JSON, status=answer.status)
    if not answer.body:
        del response["Content-Type"]
    if answer.location:
        response["Location"] = answer.location
    private(response)
    return response
