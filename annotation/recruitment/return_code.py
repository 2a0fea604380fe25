"""The code with which somebody comes back: shown while they are signed in, and readable in no table.

The session holds it behind a pad that is used once, and the pad lies in a cookie: neither tells anything
alone.
"""

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse

#: What a session, and a browser, keep of the code.
CODE = "return_code"


def store_code(request: HttpRequest, response: HttpResponse, code: str) -> None:
    """Let the browser that `response` goes to show `code` again, until it is closed or signed out."""
    code_bytes = code.encode()
    pad = secrets.token_bytes(len(code_bytes))
    request.session[CODE] = _mixed(code_bytes, pad).hex()
    response.set_cookie(
        settings.RETURN_CODE_COOKIE_NAME,
        pad.hex(),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )


def stored_code(request: HttpRequest) -> str:
    """The code; "" where this browser holds none."""
    held, pad = request.session.get(CODE, ""), request.COOKIES.get(settings.RETURN_CODE_COOKIE_NAME, "")
    try:
        return _mixed(bytes.fromhex(held), bytes.fromhex(pad)).decode("ascii")
    except ValueError:
        return ""


def _mixed(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))
