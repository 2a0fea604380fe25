"""How large a body may be, from whom: known before it is received, and whatever its sender says of itself."""

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from annotation.common.session_store import SessionStore
from annotation.models import WorkerToken
from annotation.workers.api_tokens import digest_of_secret, token_of_secret

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


def most_bytes(request: HttpRequest) -> int:
    """The bytes that its body may have. Who sends it is asked only where it is a large one."""
    if declared_length(request) <= LARGEST_FROM_ANYBODY or sender_of(request) is None:
        return LARGEST_FROM_ANYBODY
    return LARGEST_BODY


def sender_of(request: HttpRequest) -> int | None:
    """The account whose token or session a request carries, by its head."""
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
