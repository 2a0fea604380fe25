"""Requests that cannot be read are refused with 400, those that are too large with 413, before anything looks
into them.

Django reads a form when somebody first asks for it, which its own pages of errors do too: where a form cannot
be read, they fail as the view did. And it decodes an address by whatever the body's type calls its charset.

It writes the files of a form to the disk however large they are, and views look at their size afterwards. So
nothing is read of a body that says that it is larger than anything that a page or a call takes; without a
session or a token that is a short form. A body that does not say how long it is counts as empty: no server of
ours hands on more than was said.
"""

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.datastructures import MultiValueDict
from django.utils.http import parse_header_parameters
from django.utils.translation import gettext as _
from django.views.defaults import bad_request

from annotation.api.problems import Problem
from config.errors import is_call, unreadable_call

UNREADABLE = (BadRequest, SuspiciousOperation, MultiPartParserError, OSError, ValueError, LookupError)
UTF_8 = ("", "utf-8", "utf8")
#: Bytes of the largest body that anything takes: the files of a form, 64 MiB in all, and its fields.
LARGEST_BODY = 68 * 2**20
#: Bytes of a body from somebody without a session or a token: forms to sign in, what platforms tell.
LARGEST_FROM_ANYBODY = 256 * 2**10
#: Seconds for which more is taken of a body that was refused, and dropped: the person who is cut off in the
#: midst of sending may never read why.
HEARD_OUT_SECONDS = 5.0


class Utf8Only:
    """A WSGI application that is asked nothing in any charset but UTF-8."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if in_utf_8(environ.get("CONTENT_TYPE", "")):
            return self.application(environ, start_response)
        message = b"This server reads UTF-8 alone: leave the charset out.\n"
        start_response(
            "400 Bad Request", [("Content-Type", "text/plain"), ("Content-Length", str(len(message)))]
        )
        return [message]


def in_utf_8(content_type: str) -> bool:
    """Whether a body of this type, and the address that it came to, are to be read as UTF-8."""
    if "charset" not in content_type.lower():
        return True
    try:
        _type, parameters = parse_header_parameters(content_type)
    except (ValueError, LookupError):
        return False
    return str(parameters.get("charset", "")).lower() in UTF_8


class ReadableForms:
    """Reads every form before anybody else does, and leaves null characters out of it and of what the address
    asks for: no database stores them. To stand before all other layers but the log.

    A call of the API carries no form, and says itself what it takes.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        read: Any = request
        most = most_bytes(request)
        try:
            if declared_length(request) > most:
                raise TooLarge(most)
            if _holds_nulls(request.POST):
                read._post = _without_nulls(request.POST)
        except UNREADABLE as error:
            read._post, read._files = QueryDict(), MultiValueDict()
            read.unreadable = error
        if "%00" in request.META.get("QUERY_STRING", "") and _holds_nulls(request.GET):
            read.GET = _without_nulls(request.GET)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_about: object) -> HttpResponseBase | None:
        """Before all checks of other layers, so that the page of the error has their headers."""
        error = getattr(request, "unreadable", None)
        if error is None:
            return None
        if isinstance(error, TooLarge):
            return _too_large(request, error.most)
        return unreadable_call() if is_call(request) else bad_request(request, error)


class TooLarge(RequestDataTooBig):
    """A body that says that it is larger than `most` bytes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most} bytes")
        self.most = most


def most_bytes(request: HttpRequest) -> int:
    """The bytes that the body of a request may have. Whether its session or token is a valid one is not
    looked at yet."""
    known = settings.SESSION_COOKIE_NAME in request.COOKIES or "Authorization" in request.headers
    return LARGEST_BODY if known else LARGEST_FROM_ANYBODY


def declared_length(request: HttpRequest) -> int:
    """How long the body is, as its sender says; 0 where that is no number, as Django takes it."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _too_large(request: HttpRequest, most: int) -> HttpResponse:
    """To programs as problem details, to people as a page; then the sender is heard out for a moment."""
    if most < LARGEST_BODY:
        why = _("Without signing in, a request may have %(most)s at most. Sign in, then send it again.")
    else:
        why = _(
            "A request may have %(most)s at most. Larger files are imported by command, and a new corpus is "
            "uploaded in parts."
        )
    why %= {"most": filesizeformat(most)}
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if is_call(request):
        response = Problem(status, "too_large", why).response()
    else:
        response = HttpResponse(render_to_string("413.html", {"why": why}), status=status)
    response["Cache-Control"] = "no-store"
    # The server closes a response once it is sent.
    response._resource_closers.append(lambda: _hear_out(request.META.get("gunicorn.socket")))  # type: ignore[attr-defined]
    return response


def _hear_out(connection: Any) -> None:
    """End our half of a connection, and drop what still comes for a moment; then it is over."""
    if not isinstance(connection, socket.socket):
        return
    until = monotonic() + HEARD_OUT_SECONDS
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while (left := until - monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv(2**16):
                break
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RD)


def _holds_nulls(query: QueryDict) -> bool:
    return any("\0" in name or any("\0" in value for value in values) for name, values in query.lists())


def _without_nulls(query: QueryDict) -> QueryDict:
    cleaned = QueryDict(mutable=True)
    for name, values in query.lists():
        for value in values:
            cleaned.appendlist(name.replace("\0", ""), value.replace("\0", ""))
    cleaned._mutable = False
    return cleaned
