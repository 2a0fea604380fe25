"""How often something may be tried: counted in the database, which all processes share.

A limit allows `most` attempts within `seconds` of the first; those beyond it wait until those
seconds are over. A delay allows each attempt some time after the one before, twice as long every time.
What is tried is noted before its outcome is known, so that attempts side by side count too; one that
succeeded is taken back, and one that was refused does not count. Rows hold digests, so nothing in them
leads to a person, and are deleted when they are a day old.
"""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import F
from django.utils.crypto import salted_hmac

from annotation.common import database
from annotation.models import Attempts

#: Rows older than this are of no limit any more.
_LIFETIME = timedelta(days=1)
#: Rows deleted in one turn.
_MOST_PRUNED = 500


class Limit(NamedTuple):
    """`most` attempts within `seconds`, of one kind by one visitor. Names are told apart, nothing else."""

    name: str
    most: int
    seconds: int

    def over(self, row: Attempts, now: datetime) -> bool:
        """Whether what `row` counted is of no matter any more."""
        return row.since + timedelta(seconds=self.seconds) <= now

    def wait(self, row: Attempts, now: datetime) -> int:
        """Seconds to wait after what `row` counted; 0 where one may try."""
        return math.ceil((row.since - now).total_seconds()) + self.seconds if row.count >= self.most else 0

    def noted(self, row: Attempts, now: datetime) -> None:
        """One more."""
        row.count += 1


class Delay(NamedTuple):
    """After `free` attempts of one kind by one visitor each has to wait: a second, two, four, `longest` at
    most. All is over `seconds` after the last."""

    name: str
    free: int
    longest: int
    seconds: int

    def over(self, row: Attempts, now: datetime) -> bool:
        """Whether what `row` counted is of no matter any more."""
        return row.since + timedelta(seconds=self.seconds) <= now

    def wait(self, row: Attempts, now: datetime) -> int:
        """Seconds to wait after what `row` counted; 0 where one may try."""
        if row.count < self.free:
            return 0
        # The count has no end; no power is larger than it needs to be.
        delay = min(self.longest, 2 ** min(row.count - self.free, self.longest.bit_length()))
        return max(0, math.ceil((row.since - now).total_seconds() + delay))

    def noted(self, row: Attempts, now: datetime) -> None:
        """One more, now."""
        row.count += 1
        row.since = now


class Try(NamedTuple):
    """An attempt of what `limit` limits, by `who`: an address, the name of an account."""

    limit: Limit | Delay
    who: str

    @property
    def key(self) -> str:
        """The key under which it is counted, from which nobody can tell who it was."""
        return salted_hmac(
            "annotation.throttle", f"{self.limit.name}:{self.who}", algorithm="sha256"
        ).hexdigest()


def attempt(*tries: Try) -> int:
    """Note an attempt under each of the limits: 0, or the seconds to wait, and then nothing is noted."""
    with database.writing():
        now = database.now()
        rows = []
        # In the order of their keys: two visitors never wait for each other.
        for limited in sorted(tries, key=lambda item: item.key):
            Attempts.objects.get_or_create(key=limited.key, defaults={"since": now})
            row = Attempts.objects.select_for_update().filter(key=limited.key).first()
            if row is None:  # pruned this very moment
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
    """What was noted last under these limits is not to count: it succeeded."""
    with database.writing():
        for limited in sorted(tries, key=lambda item: item.key):
            Attempts.objects.filter(key=limited.key, count__gt=0).update(count=F("count") - 1)


def forget(*tries: Try) -> None:
    """Begin again under these limits."""
    Attempts.objects.filter(key__in=[limited.key for limited in tries]).delete()


def prune_rate_limits() -> None:
    """Delete the rows that are of no limit any more; those that somebody is just counting are passed over."""
    with database.writing():
        old = Attempts.objects.select_for_update(skip_locked=True).filter(
            since__lt=database.now() - _LIFETIME
        )
        Attempts.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:_MOST_PRUNED])).delete()
