"""Authentication and rate limits of the REST API: by an account's token, or a session with a CSRF token."""

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from annotation.api.problems import Problem, check_csrf, missing, too_many_requests
from annotation.common.database import LARGEST_ID
from annotation.models import Account, ApiToken
from annotation.workers import api_tokens, sessions
from annotation.workers.rate_limit import Limit, Try, attempt

#: Prefix of the header with a token.
SCHEME = "Bearer "
#: Methods that change nothing.
SAFE_METHODS = ("GET", "HEAD")
_MINUTE = 60


class TokenOrSession(BaseAuthentication):
    """`Authorization: Bearer TOKEN`, without cookies; else a session, whose writes need the CSRF token.

    A session from the address of a crowd platform may only work, and has no access here.
    """

    def authenticate(self, request: Request) -> tuple[Account, ApiToken | None]:
        """Return the calling account, and its token. Raises Problem; never returns an anonymous caller."""
        header = request.headers.get("Authorization", "")
        if header:
            token = (
                api_tokens.token_of_secret(header.removeprefix(SCHEME).strip())
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
            check_csrf(inner)
        return account, None

    def authenticate_header(self, request: Request) -> str:
        """Return the `WWW-Authenticate` header for a call without a token."""
        return SCHEME.strip()


def _signed_out(detail: str) -> Problem:
    headers = {"WWW-Authenticate": SCHEME.strip()}
    return Problem(HTTPStatus.UNAUTHORIZED, "signed_out", detail, headers=headers)


class TokenScheme(OpenApiAuthenticationExtension):
    """Describes `TokenOrSession` in the OpenAPI document."""

    target_class = TokenOrSession
    name = ["token", "session"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """Return that one of the two is enough."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        """Return the definitions of a token and of the cookie of a session."""
        return [
            {"type": "http", "scheme": "bearer", "description": "A token of the page My account."},
            {
                "type": "apiKey",
                "in": "cookie",
                "name": "session",
                "description": "The cookie of a signed-in account; writes need the header X-CSRFToken too.",
            },
        ]


def check_rate(account: int, *, reads: bool) -> None:
    """Count a call of an account, with all its tokens and sessions. Raises Problem (429) above the limit per
    minute.

    Writes are counted in the database, like other limits. Reads are counted in the memory of each process: a
    count in the database would turn every read into a write.
    """
    if reads:
        now = int(time.time())
        key = f"annotation.api.reads.{account}.{now // _MINUTE}"
        cache.add(key, 0, 2 * _MINUTE)
        try:
            calls = cache.incr(key)
        except ValueError:  # the cache was full, and evicted it at this moment
            calls = 1
        wait = _MINUTE - now % _MINUTE if calls > settings.API_READS_A_MINUTE else 0
    else:
        wait = attempt(Try(Limit("api.writes", settings.API_WRITES_A_MINUTE, _MINUTE), str(account)))
    if wait:
        raise too_many_requests(wait)


def check_path_arguments(path_arguments: Mapping[str, Any]) -> None:
    """Raise Problem if an address contains a value that no row can have: too large a number, a null
    character."""
    for value in path_arguments.values():
        if (isinstance(value, int) and value > LARGEST_ID) or (isinstance(value, str) and "\0" in value):
            raise missing(_("There is no such thing here."))


def check_confirmed(request: Request) -> None:
    """Raise Problem unless the call came by a token, which needed a password, or by a session in which the
    password was entered within the last minutes."""
    if request.auth is None and not sessions.recently_confirmed(request._request.session):
        detail = _("This asks for your password: give it on a page, or use a token.")
        raise Problem(HTTPStatus.FORBIDDEN, "not_confirmed", detail)
