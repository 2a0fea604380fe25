"""Figures that are counted over a whole campaign, kept for a while by this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

from annotation.models import Campaign

#: Seconds for which figures are kept: at the size of Flickr30k, counting them takes seconds.
KEPT = 60

T = TypeVar("T")


def kept(campaign: Campaign, what: str, count: Callable[[], T], *, fresh: bool, seconds: int = KEPT) -> T:
    """What `count` gives, or gave at most so many `seconds` ago; `fresh` counts anew in any case."""
    # Ids alone are used again by databases that are thrown away.
    name = f"campaign-{campaign.pk}-{campaign.created_at.timestamp()}-{what}"
    found: T | None = None if fresh else cache.get(name)
    if found is None:
        found = count()
        cache.set(name, found, seconds)
    return found
