"""Figures that are counted over a whole campaign, cached by this process if counting is slow."""

import hashlib
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.core.cache import cache
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import AuditEntry, Campaign

#: Maximum age of cached figures in seconds, and for each second of counting: at the size of Flickr30k, some
#: figures take seconds.
_CACHE_SECONDS = 60
#: Figures that take less time, in seconds, are not cached.
SLOW = 0.05

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Counted(Generic[_T]):
    """A figure and when it was counted."""

    at: datetime
    value: _T


def cached_figure(
    campaign: Campaign, what: str, count: Callable[[], _T], *, fresh: bool, seconds: int = _CACHE_SECONDS
) -> _T:
    """Return `count()`, or its result of at most `seconds` ago (longer if counting takes more than a second);
    `fresh` counts again in any case.

    Figures that are counted quickly are not cached, and an act of a researcher or reviewer invalidates them:
    only answers may be newer. `counted_at` returns their time.
    """
    name = _name(campaign, what)
    cached: Counted[_T] | None = None if fresh else cache.get(name)
    if cached is None:
        began, at = time.perf_counter(), timezone.now()
        cached = Counted(at, count())
        took = time.perf_counter() - began
        if took >= SLOW:
            cache.set(name, cached, max(seconds, _CACHE_SECONDS * took))
        else:
            cache.delete(name)
    return cached.value


def list_key(things: Iterable[Hashable]) -> str:
    """Return a short name of a figure that is about a list."""
    return hashlib.sha256(repr(list(things)).encode()).hexdigest()[:16]


def counted_at(campaign: Campaign, whats: Iterable[str]) -> datetime | None:
    """Return when the oldest of these cached figures was counted; None if none is cached."""
    cached = cache.get_many([_name(campaign, what) for what in whats])
    return min((counted.at for counted in cached.values()), default=None)


def _name(campaign: Campaign, what: str) -> str:
    # Temporary databases reuse ids, so an id alone is not enough.
    campaign_name = f"{campaign.pk}-{campaign.created_at.timestamp()}"
    return f"campaign-{campaign_name}-{campaign.revision}-{newest_act(campaign)}-{what}"


def newest_act(campaign: Campaign) -> int:
    """Return the id of the newest act on the campaign: each writes a line of the audit in its transaction."""
    return acts_on(campaign).values_list("pk", flat=True).first() or 0


def acts_on(campaign: Campaign) -> QuerySet[AuditEntry]:
    """Return the acts of researchers and reviewers on the campaign, the newest first; workers' changes of
    answers count as answers."""
    entries = AuditEntry.objects.filter(campaign=campaign).exclude(act=AuditEntry.CHANGE_ANSWER)
    return entries.order_by("-pk")
