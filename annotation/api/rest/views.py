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
from annotation.api.rest.doors import check_permission, check_place, missing
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
from annotation.api.rest.throttles import check_pace
from annotation.common import database, plain_json
from annotation.common.locks import Busy
from annotation.common.operations import FieldError, Invalid, plain_result, read_request
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
_REFUSALS = (jobs.JobError, UnknownName, Busy)
_JSON, _FORM = "application/json", "multipart/form-data"


class _OneAnswer(BaseContentNegotiation):
    """Answers are of one type, whatever a call would rather have."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """None: bodies are read by `_sent`, and parsers only tell the OpenAPI document their type."""
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
    content_negotiation_class = _OneAnswer

    def get_parsers(self) -> list[BaseParser]:
        """JSON, or a form where the operation takes files."""
        about = self._about()
        if about is None or not about.uploads:
            return [JSONParser()]
        return [MultiPartParser(), JSONParser()] if about.json_too else [MultiPartParser()]

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]
        """What went wrong, as a problem; what is our fault is raised on."""
        about = self._about()
        return private(problem_of(exc, about).response())

    def _about(self) -> ApiRoute | None:
        # drf-spectacular asks before there is a request.
        method = getattr(self.request, "method", "") or ""
        found = self.operations.get("GET" if method == "HEAD" else method)
        return found.about if found is not None else None

    def _performed(self, request: Request, **place: Any) -> HttpResponseBase:
        about, handler = self.operations["GET" if request.method == "HEAD" else str(request.method)]
        account = request.user
        assert isinstance(account, Account)
        if about.declared.rest is None or about.declared.rest.paced:
            check_pace(account.pk, reads=about.reads)
        check_place(place)
        check_permission(about.declared.permission, account)
        if (
            about.confirms
            and request.auth is None
            and not sessions.recently_confirmed(request._request.session)
        ):
            detail = _("This asks for your password: give it on a page, or use a token.")
            raise Problem(HTTPStatus.FORBIDDEN, "not_confirmed", detail)
        inner = request._request
        place_in_list, data = _read(about, inner)
        key = _key_of(about, account, inner)
        listed = (
            list_request(path=inner.path, account=account.pk, filters=data, place=place_in_list)
            if about.listed
            else None
        )
        token: Any = request.auth
        call = ApiCall(inner, account, data, listed, token)
        if key is None:
            return _response(about, handler(call, **place))
        return _done_once(key, about, lambda: _plain(about, handler(call, **place)))


def operation_view(route: str, methods: Mapping[str, Served]) -> Any:
    """What answers at the address of `route`."""

    def answering(one: Served) -> Any:
        def method(self: OperationView, request: Request, **place: Any) -> HttpResponseBase:
            return self._performed(request, **place)

        method.__doc__ = one.handler.__doc__
        return described_for_openapi(one)(method)

    name = "".join(part.title() for part in route.split("_")) + "View"
    held = {one.about.method.lower(): answering(one) for one in methods.values()}
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
    if isinstance(error, (*_REFUSALS, *(about.refuses if about is not None else ()))):
        return Problem(HTTPStatus.CONFLICT, "refused", str(error))
    raise error


def private(response: HttpResponseBase) -> HttpResponseBase:
    """Nobody on the way keeps an answer."""
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _sent(about: ApiRoute, request: HttpRequest) -> Any:
    """What a body says: JSON, {} where it is empty; or the fields of a form, but for its files."""
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
        return plain_json.read_plain_json(request.body)
    except plain_json.BadJson as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", str(error)) from error


def _read(about: ApiRoute, request: HttpRequest) -> tuple[CursorRequest, dict[str, Any]]:
    """The place in a list, and what is said of the request's fields, which are checked later."""
    query, of = dict(request.GET.lists()), about.declared.request
    place: dict[str, list[str]] = {
        name: query.pop(name) for name in ("limit", "cursor") if about.listed and name in query
    }
    if about.reads:
        data = address_values(of, query)
    elif query:
        raise Invalid(*(FieldError(name[:100], "extra_forbidden", {"known": ""}) for name in query))
    else:
        sent = _sent(about, request)
        data = address_values(of, dict(sent.lists())) if isinstance(sent, QueryDict) else sent
        if not isinstance(data, dict):
            raise Problem(HTTPStatus.BAD_REQUEST, "bad_request", _("Expected a JSON object: {...}."))
    return read_request(CursorRequest, address_values(CursorRequest, place)), data


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
    said: list[Any] = sorted(request.POST.lists())
    for name in sorted(request.FILES):
        for file in request.FILES.getlist(name):
            digest = hashlib.sha256()
            for chunk in file.chunks():
                digest.update(chunk)
            file.seek(0)
            said.append([name, file.name, digest.hexdigest()])
    return json.dumps(said).encode()


def _done_once(key: CallKey, about: ApiRoute, work: Any) -> HttpResponseBase:
    """Do the work unless it was done under this key; answer as then."""
    try:
        if about.own_transactions:
            before = begin_call(key)
            if before is None:
                try:
                    made: CallAnswer = work()
                except BaseException:
                    give_key_back(key)
                    raise
                end_call(key, _kept(about, made))
        else:
            with database.writing():
                before = begin_call(key)
                if before is None:
                    made = work()
                    end_call(key, _kept(about, made))
    except KeyReused:
        detail = _("This key was sent with another call within the last 24 hours: choose a new one.")
        raise Problem(HTTPStatus.CONFLICT, "key_reused", detail, field=KEY_HEADER) from None
    except StillAtWork:
        detail = _("The call of this key is still being done, or was cut off: look whether it was done.")
        raise Problem(
            HTTPStatus.CONFLICT, "still_at_work", detail, field=KEY_HEADER, headers={"Retry-After": "5"}
        ) from None
    response = _as_response(before or made)
    if before is not None:
        response["Idempotent-Replayed"] = "true"
    return response


def _plain(about: ApiRoute, answer: OperationAnswer) -> CallAnswer:
    """An answer as it is stored and sent."""
    location = ""
    body: Any = answer
    match answer:
        case Job():
            body = plain_result(job_status(answer))
            location = reverse(f"{ROUTE_PREFIX}job", args=[answer.pk])
        case Created():
            body, location = answer
        case CursorPage():
            body = answer._asdict()
        case HttpResponseBase():
            raise TypeError("a file is no answer to a call under a key")
    return CallAnswer(about.status, "" if body is None else json.dumps(body, default=str), location)


def _kept(about: ApiRoute, answer: CallAnswer) -> CallAnswer:
    """What is kept of an answer for the same call under the same key: all but a secret."""
    if not about.secret:
        return answer
    return answer._replace(body=json.dumps({**json.loads(answer.body), about.secret: None}))


def _response(about: ApiRoute, answer: OperationAnswer) -> HttpResponseBase:
    return private(answer) if isinstance(answer, HttpResponseBase) else _as_response(_plain(about, answer))


def _as_response(answer: CallAnswer) -> HttpResponse:
    response = HttpResponse(answer.body.encode(), content_type=_JSON, status=answer.status)
    if not answer.body:
        del response["Content-Type"]
    if answer.location:
        response["Location"] = answer.location
    private(response)
    return response
