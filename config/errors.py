"""Responses to requests that failed: 503 while the database is unavailable, else 500."""

import logging
import sqlite3
import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.http import escape_leading_slashes
from django.utils.translation import gettext as _
from django.views.defaults import server_error

from annotation.api.problems import Problem
from annotation.common.outages import DATABASE_LOST, one_line

_log = logging.getLogger(__name__)

#: The prefix of the API's paths.
_API = "/api/"
#: Seconds after which to retry: a database restart takes no longer.
RETRY_AFTER = 5


def not_answered(request: HttpRequest) -> HttpResponse:
    """Report the current exception: to programs as problem details, to people as a page."""
    error = sys.exc_info()[1]
    lost = database_lost(error)
    if lost is None:
        return _fault().response() if is_call(request) else server_error(request)
    # Not the path itself: some paths give access to anybody who knows them.
    route = request.resolver_match.route if request.resolver_match else "a page"
    _log.warning("%s %s: 503, the database cannot be used: %s", request.method, route, one_line(lost))
    response = _away().response() if is_call(request) else _away_page(request)
    # So Django considers it logged. Its own message has a traceback, which would not help here.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def database_lost(error: BaseException | None) -> BaseException | None:
    """Return the driver's exception behind `error`, if it means that the database is unavailable or too
    busy."""
    while error is not None:
        # SQLite raises the same class where a statement is wrong, or its table missing.
        code = getattr(error.__cause__, "sqlite_errorcode", None)
        if isinstance(error, DATABASE_LOST) and code != sqlite3.SQLITE_ERROR:
            return error
        error = error.__cause__ or error.__context__
    return None


def is_call(request: HttpRequest) -> bool:
    """Whether a request is a call of the API, whose errors are problem details."""
    return request.path_info.startswith(_API)


def unreadable_call() -> HttpResponse:
    """Return the response to a call whose form cannot be parsed."""
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", _("This form cannot be read.")).response()


def _away() -> Problem:
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "database_away",
        _(
            "The database cannot be reached right now. Send this again later: nothing that was stored is "
            "lost."
        ),
        headers={"Retry-After": str(RETRY_AFTER), "Cache-Control": "no-store"},
    )


def _fault() -> Problem:
    return Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "fault",
        _("The server failed on this request. If it happens again, tell an admin of this server."),
    )


def _away_page(request: HttpRequest) -> HttpResponse:
    """Render without the request's own context, which would query the database for the account."""
    reads = request.method in ("GET", "HEAD")
    # A path that begins with two slashes would lead to another host.
    again = escape_leading_slashes(request.get_full_path()) if reads else ""
    return HttpResponse(
        render_to_string("503.html", {"again": again}),
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        headers={"Retry-After": str(RETRY_AFTER), "Cache-Control": "no-store"},
    )
