"""Errors of the API as problem details (RFC 9457)."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NotRequired

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from rest_framework.authentication import CSRFCheck
from typing_extensions import TypedDict

from annotation.common.operations import Invalid


class FieldProblem(TypedDict):
    """The error of one field: its name (a path with dots), a code, and a sentence."""

    field: str
    code: str
    detail: str


class ProblemDetails(TypedDict):
    """An error (RFC 9457). `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: NotRequired[str]
    errors: NotRequired[list[FieldProblem]]


class Problem(Exception):
    """An error: an HTTP status, a code for programs, a sentence for people, the invalid field.

    `errors` has one entry for each invalid field, if a whole body was validated.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        *,
        field: str = "",
        headers: Mapping[str, str] | None = None,
        errors: Sequence[FieldProblem] = (),
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.field = status, code, detail, field
        self.headers = dict(headers or {})
        self.errors = tuple(errors)

    def response(self) -> HttpResponse:
        """Return the problem as `application/problem+json` (RFC 9457), with its status."""
        about: ProblemDetails = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
            "code": self.code,
        }
        if self.field:
            about["field"] = self.field
        if self.errors:
            about["errors"] = list(self.errors)
        return HttpResponse(
            json.dumps(about),
            content_type="application/problem+json",
            status=self.status.value,
            headers=self.headers,
        )


def invalid_problem(error: Invalid) -> Problem:
    """Return a problem of status 400: the errors of each field of a request."""
    errors = [
        FieldProblem(field=field_error.field, code=field_error.code, detail=field_error.detail)
        for field_error in error.errors
    ]
    first = error.errors[0]
    return Problem(
        HTTPStatus.BAD_REQUEST,
        "bad_request",
        f"{first.field}: {first.detail}" if first.field else first.detail,
        field=first.field,
        errors=errors,
    )


def missing(detail: str) -> Problem:
    """Return a problem of status 404."""
    return Problem(HTTPStatus.NOT_FOUND, "unknown", detail)


def no_role(*roles: str) -> Problem:
    """Return a problem of status 403: the account, or its token, has none of these roles here."""
    detail = _("This takes the role %(roles)s: ask an admin of this server.") % {"roles": " / ".join(roles)}
    return Problem(HTTPStatus.FORBIDDEN, "no_role", detail)


def too_many_requests(seconds: int) -> Problem:
    """Return a problem of status 429: the caller may retry after `seconds`."""
    detail = _("Too many requests. Try again in %(seconds)d s.") % {"seconds": seconds}
    return Problem(HTTPStatus.TOO_MANY_REQUESTS, "too_often", detail, headers={"Retry-After": str(seconds)})


def check_csrf(request: HttpRequest) -> None:
    """Raise Problem if a call by a session lacks its CSRF token, as Django checks that of a form."""
    check = CSRFCheck(lambda _request: None)  # type: ignore[arg-type]
    check.process_request(request)
    reason = check.process_view(request, None, (), {})  # type: ignore[arg-type]
    if reason:
        raise Problem(HTTPStatus.FORBIDDEN, "csrf", _("CSRF: %(reason)s") % {"reason": reason})
