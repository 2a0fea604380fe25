"""Rate limits of what visitors may try, and their messages.

Attempts elsewhere never block for long a browser in which the account has signed in before. A signed cookie
of digests contains the known names, so that it reveals no name to somebody who finds it.
"""

import ipaddress
import unicodedata
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import ngettext

from annotation.workers.rate_limit import Delay, Limit, Try

_SALT = "annotation.known_browser"
#: Seconds for which a browser is known, and the maximum number of names, the most recent ones.
_LIFETIME = 365 * 24 * 3600
_MOST = 5


def knows(request: HttpRequest, name: str) -> bool:
    """Whether somebody has signed in as `name` (folded) in this browser."""
    return any(constant_time_compare(held, _digest(name)) for held in _held(request))


def remember(request: HttpRequest, response: HttpResponse, name: str) -> None:
    """Mark the browser of `response` as known for `name` (folded)."""
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
    """Return the digests in the cookie; none if its signature is invalid or it is too old."""
    cookie = request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, "")
    try:
        held: list[str] = signing.loads(cookie, salt=_SALT, max_age=_LIFETIME)
    except signing.BadSignature:
        return []
    return held


def _digest(name: str) -> str:
    return salted_hmac(_SALT, name, algorithm="sha256").hexdigest()[:32]


MINUTE = 60
#: Wrong passwords for one account: from one address, and from all together.
SIGN_IN_PAIR = Delay("sign_in.pair", 5, 15 * MINUTE, 60 * MINUTE)
SIGN_IN_NAME = Delay("sign_in.name", 10, 15 * MINUTE, 60 * MINUTE)
#: Wrong passwords from one address: a class behind one router shares one.
SIGN_IN_ADDRESS = Limit("sign_in.address", 50, 15 * MINUTE)
#: Maximum seconds that a known browser waits for its account: whatever others try, nobody is locked out of
#: their own account.
SIGN_IN_KNOWN = MINUTE
#: The same for codes of a second factor, which are short: a few hundred a day, there too.
SECOND_FACTOR_KNOWN = 5 * MINUTE
#: Wrong codes of a second factor, or wrong recovery codes, for one account; the password was right. A day
#: long, so that only a few hundred of a million codes can be tried per day.
SECOND_FACTOR = Delay("second_factor.name", 5, 15 * MINUTE, 24 * 60 * MINUTE)
#: Redirects to another server to sign in there, from one address.
ELSEWHERE_ADDRESS = Limit("elsewhere.address", 100, 15 * MINUTE)
#: E-mails to one address, and requested from one network address.
RESET_NAME = Limit("reset.name", 3, 60 * MINUTE)
RESET_ADDRESS = Limit("reset.address", 20, 60 * MINUTE)
#: Accounts made by links.
ENTRY_ADDRESS = Limit("entry.address", 100, 15 * MINUTE)


def sign_in_tries(request: HttpRequest, name: str) -> tuple[Try, ...]:
    """Return the limits of a sign-in as `name`: of name and address together, of the name, and of the
    address, which does not apply to known browsers."""
    name, address = folded_name(name), address_of(request)
    if knows(request, name):
        pair, of_name = (limit._replace(longest=SIGN_IN_KNOWN) for limit in (SIGN_IN_PAIR, SIGN_IN_NAME))
        return Try(pair, f"{name} {address}"), Try(of_name, name)
    return Try(SIGN_IN_PAIR, f"{name} {address}"), Try(SIGN_IN_NAME, name), Try(SIGN_IN_ADDRESS, address)


def second_factor_tries(request: HttpRequest, name: str) -> tuple[Try, ...]:
    """Return the limits of the second factor of `name`; a known browser waits less."""
    name = folded_name(name)
    if knows(request, name):
        return (Try(SECOND_FACTOR._replace(longest=SECOND_FACTOR_KNOWN), name),)
    return Try(SECOND_FACTOR, name), Try(SIGN_IN_ADDRESS, address_of(request))


def reset_tries(request: HttpRequest, mail: str) -> tuple[Try, Try]:
    """Return the limits of a password e-mail to the address `mail`."""
    return Try(RESET_NAME, folded_name(mail)), Try(RESET_ADDRESS, address_of(request))


def address_of(request: HttpRequest) -> str:
    """Return the network address of a request; for IPv6 the network, all of which one visitor has.

    Behind a proxy that terminates TLS, it is the proxy's header; nobody else can reach the server there.
    """
    remote = request.META.get("REMOTE_ADDR", "")
    if settings.HTTPS:
        remote = request.headers.get("X-Forwarded-For", remote).rpartition(",")[2].strip()
    try:
        address = ipaddress.ip_address(remote)
    except ValueError:
        return remote[:100]
    if address.version == 6:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def wait_words(seconds: int) -> str:
    """Return a message of when to try again."""
    if seconds <= MINUTE:
        return ngettext(
            "Too many attempts. Try again in %(seconds)d second.",
            "Too many attempts. Try again in %(seconds)d seconds.",
            seconds,
        ) % {"seconds": seconds}
    minutes = -(-seconds // MINUTE)
    return ngettext(
        "Too many attempts. Try again in %(minutes)d minute.",
        "Too many attempts. Try again in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}


def too_often(request: HttpRequest, template: str, seconds: int, **about: Any) -> HttpResponse:
    """Render the page again with a message of when to try again (status 429)."""
    answer = render(request, template, {**about, "wait": wait_words(seconds)}, status=429)
    answer["Retry-After"] = str(seconds)
    return answer


def folded_name(name: str) -> str:
    """Return the normalized name for limits: sign-in accepts full-width letters for the usual ones."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).strip().casefold())[:300]
