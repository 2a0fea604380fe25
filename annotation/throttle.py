"""How often something may be tried: counted in the database, which all processes share.

A limit allows `most` attempts within `seconds` of the first; whoever is beyond it waits until those
seconds are over. What is tried is noted before its outcome is known, so that attempts side by side
count too; one that succeeded is taken back. Rows hold digests, so nothing in them leads to a person,
and are deleted when they are a day old.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import NamedTuple

from django.db.models import F
from django.utils.crypto import salted_hmac

from annotation import sql
from annotation.models import Attempts

#: Rows older than this are of no limit any more.
KEPT = timedelta(days=1)
#: Rows deleted in one turn.
MOST_PRUNED = 500


class Limit(NamedTuple):
    """`most` attempts within `seconds`, of one kind by one visitor. Names are told apart, nothing else."""

    name: str
    most: int
    seconds: int


class Try(NamedTuple):
    """An attempt of what `limit` limits, by `who`: an address, the name of an account."""

    limit: Limit
    who: str

    @property
    def key(self) -> str:
        return salted_hmac(
            "annotation.throttle", f"{self.limit.name}:{self.who}", algorithm="sha256"
        ).hexdigest()


def attempt(*tries: Try) -> int:
    """Note an attempt under each of the limits: 0, or the seconds to wait, and then nothing is noted."""
    with sql.writing():
        now = sql.now()
        rows = []
        # In the order of their keys: two visitors never wait for each other.
        for each in sorted(tries, key=lambda one: one.key):
            Attempts.objects.get_or_create(key=each.key, defaults={"since": now})
            row = Attempts.objects.select_for_update().filter(key=each.key).first()
            if row is None:  # pruned this very moment
                row = Attempts.objects.create(key=each.key, since=now)
            if row.since + timedelta(seconds=each.limit.seconds) <= now:
                row.count, row.since = 0, now
            rows.append((row, each.limit))
        waits = [
            math.ceil((row.since - now).total_seconds()) + limit.seconds
            for row, limit in rows
            if row.count >= limit.most
        ]
        if not waits:
            for row, _limit in rows:
                row.count += 1
                row.save(update_fields=["count", "since"])
        return max(waits, default=0)


def take_back(*tries: Try) -> None:
    """What was noted last under these limits is not to count: it succeeded."""
    with sql.writing():
        for each in sorted(tries, key=lambda one: one.key):
            Attempts.objects.filter(key=each.key, count__gt=0).update(count=F("count") - 1)


def forget(*tries: Try) -> None:
    """Begin anew under these limits."""
    Attempts.objects.filter(key__in=[each.key for each in tries]).delete()


def prune() -> None:
    """Delete the rows that are of no limit any more; those that somebody is just counting are passed over."""
    with sql.writing():
        old = Attempts.objects.select_for_update(skip_locked=True).filter(since__lt=sql.now() - KEPT)
        Attempts.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:MOST_PRUNED])).delete()
