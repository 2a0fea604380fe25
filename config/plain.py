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
    """Reads every form before anybody else does. To stand before all other layers but the log.

    A call of the API carries no form, and says itself what it takes.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            _ = request.POST
        except UNREADABLE as error:
            forms: Any = request
            forms._post, forms._files = QueryDict(), MultiValueDict()
            forms.unreadable = error
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_about: object) -> HttpResponseBase | None:
        """Before all checks of other layers, so that the page of the error has their headers."""
        error = getattr(request, "unreadable", None)
        return None if error is None else bad_request(request, error)
