"""Figures that are counted over a whole campaign, kept for a while by this process where counting is slow."""

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

#: Seconds for which figures are kept at most: at the size of Flickr30k, counting them takes seconds.
_CACHE_SECONDS = 60
#: What takes less is counted whenever it is read.
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
    """What `count` gives, or gave at most so many `seconds` ago; `fresh` counts again in any case.

    Nothing is kept that was counted quickly, nor beyond an act of a researcher or reviewer: answers alone
    may be newer. `counted_at` tells since when.
    """
    name = _name(campaign, what)
    cached: Counted[_T] | None = None if fresh else cache.get(name)
    if cached is None:
        began, at = time.perf_counter(), timezone.now()
        cached = Counted(at, count())
        if time.perf_counter() - began >= SLOW:
            cache.set(name, cached, seconds)
        else:
            cache.delete(name)
    return cached.value


def list_key(things: Iterable[Hashable]) -> str:
    """A short name for what a figure is about, where that is a list."""
    return hashlib.sha256(repr(list(things)).encode()).hexdigest()[:16]


def counted_at(campaign: Campaign, whats: Iterable[str]) -> datetime | None:
    """When the oldest of these figures that are kept was counted; None where none is kept."""
    cached = cache.get_many([_name(campaign, what) for what in whats])
    return min((counted.at for counted in cached.values()), default=None)


def _name(campaign: Campaign, what: str) -> str:
    # Ids alone are used again by databases that are thrown away.
    campaign_name = f"{campaign.pk}-{campaign.created_at.timestamp()}"
    return f"campaign-{campaign_name}-{campaign.revision}-{newest_act(campaign)}-{what}"


def newest_act(campaign: Campaign) -> int:
    """The id of the newest act on the campaign: each writes a line of the audit in its transaction."""
    return acts_on(campaign).values_list("pk", flat=True).first() or 0


def acts_on(campaign: Campaign) -> QuerySet[AuditEntry]:
    """What researchers and reviewers did with the campaign, the newest first; answers that workers changed
    are answers."""
    entries = AuditEntry.objects.filter(campaign=campaign).exclude(act=AuditEntry.CHANGE_ANSWER)
    return entries.order_by("-pk")
