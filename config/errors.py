"""What a request gets that could not be answered: 503 while the database is away, else 500."""

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

#: Where the API's addresses begin.
_API = "/api/"
#: Seconds after which to try again: a database that is started again takes no longer.
RETRY_AFTER = 5


def not_answered(request: HttpRequest) -> HttpResponse:
    """Tell of the exception that is being handled: to programs as problem details, to people as a page."""
    error = sys.exc_info()[1]
    lost = database_lost(error)
    if lost is None:
        return _fault().response() if is_call(request) else server_error(request)
    # Not the address itself: some let the person who has them in.
    route = request.resolver_match.route if request.resolver_match else "a page"
    _log.warning("%s %s: 503, the database cannot be used: %s", request.method, route, one_line(lost))
    response = _away().response() if is_call(request) else _away_page(request)
    # So Django knows that it is logged. Its own line has a traceback, which would tell nobody anything.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def database_lost(error: BaseException | None) -> BaseException | None:
    """What the driver raised, if that is behind `error` and says that the database is away or too busy."""
    while error is not None:
        # SQLite raises the same where a statement is wrong, or its table missing.
        code = getattr(error.__cause__, "sqlite_errorcode", None)
        if isinstance(error, DATABASE_LOST) and code != sqlite3.SQLITE_ERROR:
            return error
        error = error.__cause__ or error.__context__
    return None


def is_call(request: HttpRequest) -> bool:
    """Whether a request is a call of the API, which gets its errors as problem details."""
    return request.path_info.startswith(_API)


def unreadable_call() -> HttpResponse:
    """What a call gets whose form cannot be read."""
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
    """Without the request's own context, which would ask the database who is there."""
    reads = request.method in ("GET", "HEAD")
    # An address with two slashes at its beginning would lead elsewhere.
    again = escape_leading_slashes(request.get_full_path()) if reads else ""
    return HttpResponse(
        render_to_string("503.html", {"again": again}),
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        headers={"Retry-After": str(RETRY_AFTER), "Cache-Control": "no-store"},
    )
