"""Rate limits, counted in the database, which all processes share.

A limit allows `most` attempts within `seconds` of the first; further ones wait until those seconds are over.
A delay allows each attempt some time after the previous one, twice as long every time. An attempt is counted
before its outcome is known, so that simultaneous attempts count too; a successful one is taken back, and a
refused one does not count. Rows contain digests, so nothing in them identifies a person, and are deleted
after a day.
"""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import F
from django.utils.crypto import salted_hmac

from annotation.common import database
from annotation.models import Attempts

#: Older rows do not affect any limit.
_LIFETIME = timedelta(days=1)
#: Number of rows deleted in one run.
_MOST_PRUNED = 500


class Limit(NamedTuple):
    """`most` attempts within `seconds`, of one kind by one visitor. Names are distinguished, nothing else."""

    name: str
    most: int
    seconds: int

    def over(self, row: Attempts, now: datetime) -> bool:
        """Whether the count in `row` has expired."""
        return row.since + timedelta(seconds=self.seconds) <= now

    def wait(self, row: Attempts, now: datetime) -> int:
        """Return the seconds to wait after the count in `row`; 0 if an attempt is allowed."""
        return math.ceil((row.since - now).total_seconds()) + self.seconds if row.count >= self.most else 0

    def noted(self, row: Attempts, now: datetime) -> None:
        """Count one more attempt."""
        row.count += 1


class Delay(NamedTuple):
    """After `free` attempts of one kind by one visitor, each has to wait: one second, two, four, at most
    `longest`. The count expires `seconds` after the last attempt."""

    name: str
    free: int
    longest: int
    seconds: int

    def over(self, row: Attempts, now: datetime) -> bool:
        """Whether the count in `row` has expired."""
        return row.since + timedelta(seconds=self.seconds) <= now

    def wait(self, row: Attempts, now: datetime) -> int:
        """Return the seconds to wait after the count in `row`; 0 if an attempt is allowed."""
        if row.count < self.free:
            return 0
        # The count is unbounded; the power is limited to what is needed.
        delay = min(self.longest, 2 ** min(row.count - self.free, self.longest.bit_length()))
        return max(0, math.ceil((row.since - now).total_seconds() + delay))

    def noted(self, row: Attempts, now: datetime) -> None:
        """Count one more attempt, now."""
        row.count += 1
        row.since = now


class Try(NamedTuple):
    """An attempt under `limit`, by `who`: an address, the name of an account."""

    limit: Limit | Delay
    who: str

    @property
    def key(self) -> str:
        """The key under which it is counted, which does not reveal who it was."""
        return salted_hmac(
            "annotation.throttle", f"{self.limit.name}:{self.who}", algorithm="sha256"
        ).hexdigest()


def attempt(*tries: Try) -> int:
    """Count an attempt under each limit and return 0, or count nothing and return the seconds to wait."""
    with database.writing():
        now = database.now()
        rows = []
        # In the order of their keys, so that two visitors never deadlock.
        for limited in sorted(tries, key=lambda item: item.key):
            Attempts.objects.get_or_create(key=limited.key, defaults={"since": now})
            row = Attempts.objects.select_for_update().filter(key=limited.key).first()
            if row is None:  # pruned at this moment
                row = Attempts.objects.create(key=limited.key, since=now)
            if limited.limit.over(row, now):
                row.count, row.since = 0, now
            rows.append((row, limited))
        wait = max((limited.limit.wait(row, now) for row, limited in rows), default=0)
        if not wait:
            for row, limited in rows:
                limited.limit.noted(row, now)
                row.save(update_fields=["count", "since"])
        return wait


def take_back(*tries: Try) -> None:
    """Undo the last count under these limits, since the attempt succeeded."""
    with database.writing():
        for limited in sorted(tries, key=lambda item: item.key):
            Attempts.objects.filter(key=limited.key, count__gt=0).update(count=F("count") - 1)


def forget(*tries: Try) -> None:
    """Reset these limits."""
    Attempts.objects.filter(key__in=[limited.key for limited in tries]).delete()


def prune_rate_limits() -> None:
    """Delete rows that affect no limit; those being counted at the moment are skipped."""
    with database.writing():
        old = Attempts.objects.select_for_update(skip_locked=True).filter(
            since__lt=database.now() - _LIFETIME
        )
        Attempts.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:_MOST_PRUNED])).delete()
