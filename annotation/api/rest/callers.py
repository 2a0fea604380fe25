"""Who calls the REST API: an account by a token of its own, or by a session with a CSRF token."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.request import Request

from annotation.api.problems import Problem
from annotation.models import Account, ApiToken
from annotation.workers import api_tokens, sessions

#: How the header begins that carries a token.
SCHEME = "Bearer "
#: Methods that change nothing.
SAFE_METHODS = ("GET", "HEAD")


class TokenOrSession(BaseAuthentication):
    """`Authorization: Bearer TOKEN`, without cookies; else a session, whose writes need the CSRF token.

    A session that was opened by the address of a crowd platform may only work, and opens nothing here.
    """

    def authenticate(self, request: Request) -> tuple[Account, ApiToken | None]:
        """The account that calls, and the token by which. Raises Problem, never falls through to nobody."""
        header = request.headers.get("Authorization", "")
        if header:
            token = (
                api_tokens.token_sent(header.removeprefix(SCHEME).strip())
                if header.startswith(SCHEME)
                else None
            )
            if token is None:
                raise _signed_out(_("This token is not valid: make another on the page “My account”."))
            if request.method not in SAFE_METHODS and not token.writes:
                raise Problem(
                    HTTPStatus.FORBIDDEN,
                    "read_only",
                    _("This token is for reading only: make one that may write."),
                )
            return api_tokens.account_under(token), token
        inner: HttpRequest = request._request
        account = inner.user
        if not isinstance(account, Account) or not account.is_active:
            raise _signed_out(_("Send a token: Authorization: Bearer TOKEN. Or sign in."))
        if sessions.by_address(inner.session):
            raise Problem(HTTPStatus.FORBIDDEN, "only_work", _("This sign-in opens only the tasks."))
        if sessions.sets_up_first(inner.session):
            raise Problem(HTTPStatus.FORBIDDEN, "second_factor", _("Set up your second factor first."))
        if inner.method not in SAFE_METHODS:
            _check_csrf(inner)
        return account, None

    def authenticate_header(self, request: Request) -> str:
        """What a call without a token is told to send."""
        return SCHEME.strip()


def _check_csrf(request: HttpRequest) -> None:
    check = CSRFCheck(lambda _request: None)  # type: ignore[arg-type]
    check.process_request(request)
    nothing: tuple[Any, ...] = ()
    reason = check.process_view(request, None, nothing, {})  # type: ignore[arg-type]
    if reason:
        raise Problem(HTTPStatus.FORBIDDEN, "csrf", _("CSRF: %(reason)s") % {"reason": reason})


def _signed_out(detail: str) -> Problem:
    headers = {"WWW-Authenticate": SCHEME.strip()}
    return Problem(HTTPStatus.UNAUTHORIZED, "signed_out", detail, headers=headers)


class TokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document tells of `TokenOrSession`."""

    target_class = TokenOrSession
    name = ["token", "session"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """One of the two is enough."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        """A token, or the cookie of a session."""
        return [
            {"type": "http", "scheme": "bearer", "description": "A token of the page My account."},
            {
                "type": "apiKey",
                "in": "cookie",
                "name": "session",
                "description": "The cookie of a signed-in account; writes need the header X-CSRFToken too.",
            },
        ]
