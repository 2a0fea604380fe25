"""Addresses that pages had before, and where they lead: bookmarks, links and open forms go on working."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import URLPattern, path, reverse

_CAMPAIGN = "campaigns/<slug:name>"

#: The address that a page had -> the name of its route now. The parts in brackets are the same in both.
OLD_ADDRESSES: dict[str, str] = {
    f"{_CAMPAIGN}/images/<str:key>/rule/": "rule",
    f"{_CAMPAIGN}/entry/": "entry",
    f"{_CAMPAIGN}/known/": "known_items",
    f"{_CAMPAIGN}/known/new/": "new_known_item",
    "account/erase/": "erase_me",
    "begun/": "invite_begun",
    "evaluation/bring/": "evaluation:bring",
    "evaluation/build/": "evaluation:new_batch",
    "evaluation/report/": "evaluation:new_report",
}


def patterns() -> list[URLPattern]:
    """One nameless route for each old address; it leads to the new one, which asks who may open it."""
    return [path(old, _moved, {"route": route}) for old, route in OLD_ADDRESSES.items()]


@login_not_required
def _moved(request: HttpRequest, route: str, **parts: Any) -> HttpResponse:
    # 301 for pages, with what was asked for; 308 for forms, which the browser then sends again as they are.
    address = reverse(route, kwargs=parts)
    if asked := request.META.get("QUERY_STRING"):
        address += f"?{asked}"
    return HttpResponsePermanentRedirect(address, preserve_request=request.method not in ("GET", "HEAD"))
