"""What a campaign's answers add up to, by worker, kind and role, without adding them all up each time.

A line of the ledger never changes once it is written, but that it may become another worker's (`joining`,
which raises the campaign's revision). So each process keeps the sums of all lines but the newest ones, and
adds to them what ended since.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, Sum
from django.utils import timezone

from annotation.models import Assignment, Campaign

#: After this long, whatever ended is committed, whichever clock it was read from.
UNSETTLED = timedelta(minutes=10)
#: Seconds after which the sums are made anew.
_KEPT = 24 * 3600

#: The assignments of a standing. SQLite keeps to the order of a CROSS JOIN: an index range for each one.
_ITS_OWN = "a.campaign_id = s.campaign_id AND a.worker_id = s.worker_id AND a.kind = s.kind"


class _Sum(NamedTuple):
    """What some answers came to; `pay` in millionths of the currency."""

    answers: int = 0
    seconds: float = 0.0
    pay: int = 0


#: The columns of `_Sum`, of assignments `a`.
_SUM = "count(*), sum(a.seconds), CAST(sum(a.pay) AS bigint)"

#: What answers came to by (worker, kind, role).
Sums = dict[tuple[int, str, str], _Sum]


@dataclass(frozen=True, slots=True)
class Earned:
    """What one worker's answers of one kind and role came to; `pay` in millionths of the currency."""

    worker: int
    kind: str
    role: str
    answers: int
    seconds: float
    pay: int


def earned(campaign: Campaign, *, worker: int | None = None) -> list[Earned]:
    """What was earned until now, of one worker, or of all; in the order in which workers came."""
    sums = _of_one(campaign, worker) if worker is not None else _of_all(campaign)
    return [
        Earned(worker, kind, role, came_to.answers, came_to.seconds, came_to.pay)
        for (worker, kind, role), came_to in sorted(sums.items())
    ]


def _of_one(campaign: Campaign, worker: int) -> Sums:
    lines = Assignment.objects.filter(campaign=campaign, worker=worker, state=Assignment.SUBMITTED)
    grouped = lines.order_by().values("kind", "role").annotate(n=Count("id"), s=Sum("seconds"), p=Sum("pay"))
    return {(worker, row["kind"], row["role"]): _Sum(row["n"], row["s"], row["p"]) for row in grouped}


def _of_all(campaign: Campaign) -> Sums:
    # Ids alone are used again by databases that are thrown away.
    name = f"campaign-{campaign.pk}-{campaign.created_at.timestamp()}-{campaign.revision}-sums"
    settled = timezone.now() - UNSETTLED
    until, sums = cache.get(name) or (None, {})
    if until is None:
        until, sums = settled, _first(campaign, settled)
        cache.set(name, (until, sums), _KEPT)
    elif settled - until > UNSETTLED:
        until, sums = settled, _added(sums, _newer(campaign, until, settled))
        cache.set(name, (until, sums), _KEPT)
    return _added(sums, _newer(campaign, until))


def _added(sums: Sums, more: Sums) -> Sums:
    found = dict(sums)
    for key, new in more.items():
        before = found.get(key, _Sum())
        found[key] = _Sum(before.answers + new.answers, before.seconds + new.seconds, before.pay + new.pay)
    return found


def _first(campaign: Campaign, until: datetime) -> Sums:
    """The sums of all that ended until then, in one pass over the assignments."""
    # SQLite would follow the index by worker, and look up every row in another place.
    no_index = "NOT INDEXED" if connection.vendor == "sqlite" else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT a.worker_id, a.kind, a.role, {_SUM}
                FROM annotation_assignment a {no_index}
                WHERE a.campaign_id = %s AND a.state = 'submitted' AND a.ended_at <= %s
                GROUP BY a.worker_id, a.kind, a.role""",
            [campaign.pk, connection.ops.adapt_datetimefield_value(until)],
        )
        return {
            (worker, kind, role): _Sum._make(columns) for worker, kind, role, *columns in cursor.fetchall()
        }


def _newer(campaign: Campaign, after: datetime, until: datetime | None = None) -> Sums:
    """The sums of what ended after one time, and until another if it is given."""
    upper = "" if until is None else "AND a.ended_at <= %s"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT a.worker_id, a.kind, a.role, {_SUM}
                FROM annotation_standing s CROSS JOIN annotation_assignment a
                WHERE s.campaign_id = %s AND {_ITS_OWN} AND a.ended_at > %s {upper} AND a.state = 'submitted'
                GROUP BY a.worker_id, a.kind, a.role""",
            [campaign.pk, *(connection.ops.adapt_datetimefield_value(at) for at in (after, until) if at)],
        )
        return {
            (worker, kind, role): _Sum._make(columns) for worker, kind, role, *columns in cursor.fetchall()
        }


def leases_in_hand(campaign: Campaign) -> dict[tuple[str, str, int], int]:
    """(kind, role, version of the settings) -> how many leases are in workers' hands."""
    with connection.cursor() as cursor:
        # Written out, as the condition of the index of leases is.
        cursor.execute(
            f"""SELECT a.kind, a.role, a.settings_version, count(*)
                FROM annotation_standing s CROSS JOIN annotation_assignment a
                WHERE s.campaign_id = %s AND {_ITS_OWN} AND a.state = 'leased'
                GROUP BY a.kind, a.role, a.settings_version""",
            [campaign.pk],
        )
        return {(kind, role, version): count for kind, role, version, count in cursor.fetchall()}
