"""Limits on the size of a request's body, by its sender, checked before it is received."""

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from annotation.common.session_store import SessionStore
from annotation.models import WorkerToken
from annotation.workers.api_tokens import digest_of_secret, token_of_secret

#: Largest body in bytes: the files of a form, 64 MiB in all, and its fields.
LARGEST_BODY = 68 * 2**20
#: Largest body in bytes without an account: forms for signing in, platforms' reports.
LARGEST_FROM_ANYBODY = 256 * 2**10

_TOKEN, _BEARER = "Token ", "Bearer "


def declared_length(request: HttpRequest) -> int:
    """Return the declared length of the body; 0 if that is no number, as in Django."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def most_bytes(request: HttpRequest) -> int:
    """Return the maximum size of the request's body in bytes. The sender is only determined for a large
    one."""
    if declared_length(request) <= LARGEST_FROM_ANYBODY or sender_of(request) is None:
        return LARGEST_FROM_ANYBODY
    return LARGEST_BODY


def sender_of(request: HttpRequest) -> int | None:
    """Return the account of a request's token or session, from its head."""
    header = request.headers.get("Authorization", "")
    if header.startswith(_BEARER):
        token = token_of_secret(header.removeprefix(_BEARER).strip())
        return None if token is None else token.account_id
    if header.startswith(_TOKEN):
        digest = digest_of_secret(header.removeprefix(_TOKEN).strip())
        tokens = WorkerToken.objects.filter(digest=digest, account__is_active=True)
        return tokens.values_list("account", flat=True).first()
    asking = HttpRequest()
    asking.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    user = get_user(asking)
    return user.pk if user.is_active else None
