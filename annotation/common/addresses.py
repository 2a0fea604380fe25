"""Full addresses of this server, for e-mails, webhooks and invitations: they begin with SITE_URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse


def full_address(route: str, args: Sequence[Any] = ()) -> str:
    """The address of a route, as "https://example.org/campaigns/"; no request has a say in its host."""
    return f"{settings.SITE_URL}{reverse(route, args=args)}"


def site_host() -> str:
    """The host of this server, with its port where that is not the usual one."""
    return urlsplit(settings.SITE_URL).netloc
