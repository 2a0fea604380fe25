"""Requests that cannot be read are refused with 400, before anything looks into them.

Django reads a form when somebody first asks for it, which its own pages of errors do too: where a form cannot
be read, they fail as the view did. And it decodes an address by whatever the body's type calls its charset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from django.utils.http import parse_header_parameters
from django.views.defaults import bad_request

from config.errors import is_call, unreadable_call

UNREADABLE = (BadRequest, SuspiciousOperation, MultiPartParserError, OSError, ValueError, LookupError)
UTF_8 = ("", "utf-8", "utf8")


class PlainText:
    """A WSGI application that is asked nothing in any charset but UTF-8."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if in_utf_8(environ.get("CONTENT_TYPE", "")):
            return self.application(environ, start_response)
        said = b"This server reads UTF-8 alone: leave the charset out.\n"
        start_response(
            "400 Bad Request", [("Content-Type", "text/plain"), ("Content-Length", str(len(said)))]
        )
        return [said]


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
        try:
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
        return unreadable_call() if is_call(request) else bad_request(request, error)


def _holds_nulls(given: QueryDict) -> bool:
    return any("\0" in name or any("\0" in value for value in values) for name, values in given.lists())


def _without_nulls(given: QueryDict) -> QueryDict:
    found = QueryDict(mutable=True)
    for name, values in given.lists():
        for value in values:
            found.appendlist(name.replace("\0", ""), value.replace("\0", ""))
    found._mutable = False
    return found
