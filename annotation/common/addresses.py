"""Full URLs of this server, whatever host a request names: they begin with SITE_URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse


def full_address(route: str, args: Sequence[Any] = ()) -> str:
    """Return the URL of a route, such as "https://example.org/campaigns/"; it does not depend on a request's
    host."""
    return f"{settings.SITE_URL}{reverse(route, args=args)}"


def site_host() -> str:
    """Return the host of this server, with its port where that is not the default."""
    return urlsplit(settings.SITE_URL).netloc
