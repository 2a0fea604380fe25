"""How large a body may be, from whom: known before it is received, and whatever its sender says of itself."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from rest_framework.authtoken.models import Token

from annotation.common.session_store import SessionStore
from annotation.workers.api_tokens import token_of_secret

#: Bytes of the largest body that anything takes: the files of a form, 64 MiB in all, and its fields.
LARGEST_BODY = 68 * 2**20
#: Bytes of a body from somebody without an account: forms to sign in, what platforms tell.
LARGEST_FROM_ANYBODY = 256 * 2**10

_TOKEN, _BEARER = "Token ", "Bearer "


def declared_length(request: HttpRequest) -> int:
    """How long the body is, as its sender says; 0 where that is no number, as Django takes it."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def largest_body_of(environ: dict[str, Any]) -> int:
    """The bytes that the body of a request may have, by its head."""
    return most_bytes(WSGIRequest(environ))


def most_bytes(request: HttpRequest) -> int:
    """The bytes that its body may have. Who sends it is asked only where it is a large one."""
    if declared_length(request) <= LARGEST_FROM_ANYBODY or not _has_account(request):
        return LARGEST_FROM_ANYBODY
    return LARGEST_BODY


def _has_account(request: HttpRequest) -> bool:
    """Whether a request carries a token or a session that somebody is signed in by."""
    header = request.headers.get("Authorization", "")
    if header.startswith(_BEARER):
        return token_of_secret(header.removeprefix(_BEARER).strip()) is not None
    if header.startswith(_TOKEN):
        key = header.removeprefix(_TOKEN).strip()
        return "\0" not in key and Token.objects.filter(key=key, user__is_active=True).exists()
    asking = HttpRequest()
    asking.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return get_user(asking).is_active
