"""Sums of a campaign's answers by worker, kind and role (`ledger`), and the current leases of workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Sum

from annotation.common import database
from annotation.models import Assignment, Campaign, CampaignSums
from annotation.selectors.campaign.ledger import LedgerSums

#: Condition of the assignments of a trust state. SQLite keeps the order of a CROSS JOIN: an index range for
#: each one.
OF_TRUST_STATE = "a.campaign_id = s.campaign_id AND a.worker_id = s.worker_id AND a.kind = s.kind"


class _Sum(NamedTuple):
    """Sums of some answers; `pay` in millionths of the currency."""

    answers: int = 0
    seconds: float = 0.0
    pay: int = 0


#: The columns of `_Sum`, of assignments `a`.
_SUM = "count(*), sum(a.seconds), CAST(sum(a.pay) AS bigint)"

#: Sums of answers by (worker, kind, role).
Sums = dict[tuple[int, str, str], _Sum]


@dataclass(frozen=True, slots=True)
class Earned:
    """Sums of one worker's answers of one kind and role; `pay` in millionths of the currency."""

    worker: int
    kind: str
    role: str
    answers: int
    seconds: float
    pay: int


def earned(campaign: Campaign, *, worker: int | None = None) -> list[Earned]:
    """Return the earnings until now, of one worker or of all, in the order in which workers came."""
    return _lines(_of_one(campaign, worker) if worker is not None else EARNED.now([campaign])[campaign.pk])


def _of_one(campaign: Campaign, worker: int) -> Sums:
    lines = Assignment.objects.filter(campaign=campaign, worker=worker, state=Assignment.SUBMITTED)
    grouped = lines.order_by().values("kind", "role").annotate(n=Count("id"), s=Sum("seconds"), p=Sum("pay"))
    return {(worker, row["kind"], row["role"]): _Sum(row["n"], row["s"], row["p"]) for row in grouped}


def earned_in_campaigns(campaigns: Sequence[Campaign]) -> dict[int, list[Earned]]:
    """Return the earnings until now by campaign id; the number of queries is independent of the number of
    campaigns."""
    return {campaign: _lines(sums) for campaign, sums in EARNED.now(campaigns).items()}


def _lines(sums: Sums) -> list[Earned]:
    return [
        Earned(worker, kind, role, came_to.answers, came_to.seconds, came_to.pay)
        for (worker, kind, role), came_to in sorted(sums.items())
    ]


def _first(campaigns: Sequence[int], until: datetime) -> dict[int, Sums]:
    """Return by campaign the sums of everything that ended until then, in one pass over their assignments."""
    # SQLite would use the index by worker, and look up every row elsewhere.
    no_index = "NOT INDEXED" if connection.vendor == "sqlite" else ""
    sums: dict[int, Sums] = {campaign: {} for campaign in campaigns}
    if not campaigns:
        return sums
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT a.campaign_id, a.worker_id, a.kind, a.role, {_SUM}
                FROM annotation_assignment a {no_index}
                WHERE a.campaign_id IN ({database.parameters(campaigns)})
                    AND a.state = 'submitted' AND a.ended_at <= %s
                GROUP BY a.campaign_id, a.worker_id, a.kind, a.role""",
            [*campaigns, connection.ops.adapt_datetimefield_value(until)],
        )
        for campaign, worker, kind, role, *columns in cursor.fetchall():
            sums[campaign][worker, kind, role] = _Sum._make(columns)
    return sums


def _newer(after: Mapping[int, datetime], until: datetime | None = None) -> dict[int, Sums]:
    """Return by campaign the sums of what ended after its time, and until another if it is set; one query."""
    upper = "" if until is None else "AND a.ended_at <= %s"
    sums: dict[int, Sums] = {campaign: {} for campaign in after}
    if not after:
        return sums
    part = f"""SELECT a.campaign_id, a.worker_id, a.kind, a.role, {_SUM}
        FROM annotation_truststate s CROSS JOIN annotation_assignment a
        WHERE s.campaign_id = %s AND {OF_TRUST_STATE} AND a.ended_at > %s {upper} AND a.state = 'submitted'
        GROUP BY a.campaign_id, a.worker_id, a.kind, a.role"""
    time = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join([part] * len(after)),
            [
                value
                for campaign, begin in after.items()
                for value in (campaign, *(time(at) for at in (begin, until) if at))
            ],
        )
        for campaign, worker, kind, role, *columns in cursor.fetchall():
            sums[campaign][worker, kind, role] = _Sum._make(columns)
    return sums


#: Earnings by (worker, kind, role).
EARNED = LedgerSums(
    CampaignSums.EARNED,
    all_of=_first,
    newer=_newer,
    to_json=lambda key, came_to: [*key, *came_to],
    from_json=lambda line: ((line[0], line[1], line[2]), _Sum(*line[3:])),
)


def leases_in_hand(campaign: Campaign) -> dict[tuple[str, str, int], int]:
    """Return the number of current leases by (kind, role, version of the settings)."""
    return leases_of_campaigns([campaign.pk])[campaign.pk]


def leases_of_campaigns(campaigns: Sequence[int]) -> dict[int, dict[tuple[str, str, int], int]]:
    """Return `leases_in_hand` by campaign; one query."""
    leases: dict[int, dict[tuple[str, str, int], int]] = {campaign: {} for campaign in campaigns}
    if not campaigns:
        return leases
    with connection.cursor() as cursor:
        # Spelled exactly like the condition of the index of leases.
        cursor.execute(
            f"""SELECT a.campaign_id, a.kind, a.role, a.settings_version, count(*)
                FROM annotation_truststate s CROSS JOIN annotation_assignment a
                WHERE s.campaign_id IN ({database.parameters(campaigns)}) AND {OF_TRUST_STATE}
                    AND a.state = 'leased'
                GROUP BY a.campaign_id, a.kind, a.role, a.settings_version""",
            list(campaigns),
        )
        for campaign, kind, role, version, count in cursor.fetchall():
            leases[campaign][kind, role, version] = count
    return leases
