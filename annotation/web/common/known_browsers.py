"""Browsers in which accounts have signed in: what others try elsewhere keeps nobody waiting long there.

A cookie of digests, signed, says for which names; so it tells whoever finds it nobody's name.
"""

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

_SALT = "annotation.known_browser"
#: Seconds for which a browser is known, and names that it is known for: the last ones.
_LIFETIME = 365 * 24 * 3600
_MOST = 5


def knows(request: HttpRequest, name: str) -> bool:
    """Whether somebody has signed in as `name` (folded) in this browser."""
    return any(constant_time_compare(held, _digest(name)) for held in _held(request))


def remember(request: HttpRequest, response: HttpResponse, name: str) -> None:
    """Let the browser that `response` goes to be known for `name` (folded)."""
    others = [held for held in _held(request) if held != _digest(name)]
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        signing.dumps([*others, _digest(name)][-_MOST:], salt=_SALT),
        max_age=_LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _held(request: HttpRequest) -> list[str]:
    """The digests in the cookie; none where it is not of our making, or too old."""
    cookie = request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, "")
    try:
        held: list[str] = signing.loads(cookie, salt=_SALT, max_age=_LIFETIME)
    except signing.BadSignature:
        return []
    return held


def _digest(name: str) -> str:
    return salted_hmac(_SALT, name, algorithm="sha256").hexdigest()[:32]
