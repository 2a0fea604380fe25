"""What visitors may try how often, and what they are told when it was too often."""

from __future__ import annotations

import ipaddress
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import ngettext

from annotation.throttle import Limit, Try

MINUTE = 60
#: Wrong passwords for one account, and from one address: a class behind one router shares one.
SIGN_IN_NAME = Limit("sign_in.name", 10, 15 * MINUTE)
SIGN_IN_ADDRESS = Limit("sign_in.address", 50, 15 * MINUTE)
#: Letters to one address of mail, and asked for from one address of the network.
RESET_NAME = Limit("reset.name", 3, 60 * MINUTE)
RESET_ADDRESS = Limit("reset.address", 20, 60 * MINUTE)
#: Accounts made by links.
ENTRY_ADDRESS = Limit("entry.address", 100, 15 * MINUTE)


def sign_in_tries(request: HttpRequest, name: str) -> tuple[Try, Try]:
    """An attempt to sign in as `name`."""
    return Try(SIGN_IN_NAME, _folded(name)), Try(SIGN_IN_ADDRESS, address_of(request))


def reset_tries(request: HttpRequest, mail: str) -> tuple[Try, Try]:
    """A letter asked for to the address `mail`."""
    return Try(RESET_NAME, _folded(mail)), Try(RESET_ADDRESS, address_of(request))


def address_of(request: HttpRequest) -> str:
    """Where a request comes from; of IPv6 the network, of which one visitor has all.

    Where a proxy ends TLS, it says so; nobody else can reach us there.
    """
    told = request.META.get("REMOTE_ADDR", "")
    if settings.HTTPS:
        told = request.headers.get("X-Forwarded-For", told).rpartition(",")[2].strip()
    try:
        address = ipaddress.ip_address(told)
    except ValueError:
        return told[:100]
    if address.version == 6:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def wait_words(seconds: int) -> str:
    """When to try again."""
    minutes = max(1, -(-seconds // MINUTE))
    return ngettext(
        "That was tried too often. Try again in %(minutes)d minute.",
        "That was tried too often. Try again in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}


def too_often(request: HttpRequest, template: str, seconds: int, **about: Any) -> HttpResponse:
    """The page again, saying when to try again (status 429)."""
    answer = render(request, template, {**about, "wait": wait_words(seconds)}, status=429)
    answer["Retry-After"] = str(seconds)
    return answer


def _folded(name: str) -> str:
    return name.strip().casefold()[:300]
