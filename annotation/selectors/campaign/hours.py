"""A campaign hour by hour: people's answers, what they earned, and the completed images.

Past hours are stored (`ledger`). An image is complete at the time of its newest answer.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from django.db import connection

from annotation.models import Campaign, CampaignSums
from annotation.selectors.campaign.cached import cached_figure
from annotation.selectors.campaign.ledger import LedgerSums


class HourSum(NamedTuple):
    """People's work in an hour: answers on tasks without control items, and the pay of all answers, in
    millionths of the currency."""

    answers: int = 0
    pay: int = 0


#: Hours by their start, in UTC, without hours that have no answers.
Hours = dict[datetime, HourSum]


def answer_hours(campaign: Campaign) -> Hours:
    """Return people's work hour by hour, until now."""
    return HOURS.now([campaign])[campaign.pk]


def done_hours(campaign: Campaign, *, fresh: bool = False) -> dict[datetime, int]:
    """Return the number of complete images by the hour of completion. Cached for a minute if slow."""
    return cached_figure(campaign, "done-hours", lambda: _done(campaign), fresh=fresh)


def _read(campaign: int, *, after: datetime | None, until: datetime | None = None) -> Hours:
    time = connection.ops.adapt_datetimefield_value
    limits = [(sign, time(at)) for sign, at in ((">", after), ("<=", until)) if at is not None]
    # The newest are an index range for each worker and kind; all of them are one pass over the table.
    source = (
        """annotation_truststate s CROSS JOIN annotation_assignment a
           JOIN annotation_worker w ON w.id = a.worker_id
           WHERE s.campaign_id = %s AND a.campaign_id = s.campaign_id AND a.worker_id = s.worker_id
               AND a.kind = s.kind"""
        if after is not None
        else f"""annotation_assignment a {"NOT INDEXED" if connection.vendor == "sqlite" else ""}
           JOIN annotation_worker w ON w.id = a.worker_id WHERE a.campaign_id = %s"""
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {_hour("a.ended_at")}, sum(CASE WHEN a.task_id IS NULL THEN 0 ELSE 1 END),
                    CAST(sum(a.pay) AS bigint)
                FROM {source} AND a.state = 'submitted' AND w.kind = 'person'
                {" ".join(f"AND a.ended_at {sign} %s" for sign, _at in limits)} GROUP BY 1""",
            [campaign, *(at for _sign, at in limits)],
        )
        return {_hour_of(hour): HourSum(answers, pay) for hour, answers, pay in cursor.fetchall()}


#: People's work, by hour.
HOURS = LedgerSums(
    CampaignSums.HOURS,
    all_of=lambda campaigns, until: {
        campaign: _read(campaign, after=None, until=until) for campaign in campaigns
    },
    newer=lambda after, until: {
        campaign: _read(campaign, after=since, until=until) for campaign, since in after.items()
    },
    to_json=lambda hour, came_to: [hour.isoformat(), *came_to],
    from_json=lambda line: (datetime.fromisoformat(line[0]), HourSum(*line[1:])),
)


def _done(campaign: Campaign) -> dict[datetime, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {_hour("d.at")}, count(*) FROM (
                    SELECT COALESCE((
                        SELECT j.created_at FROM annotation_judgment j
                        WHERE j.image_id = o.id AND NOT j.withdrawn ORDER BY j.id DESC LIMIT 1), o.opened_at)
                        AS at
                    FROM annotation_openimage o WHERE o.campaign_id = %s AND o.complete) d GROUP BY 1""",
            [campaign.pk],
        )
        return {_hour_of(hour): count for hour, count in cursor.fetchall()}


def _hour(column: str) -> str:
    """Return the hour of a time in UTC as text, "2026-11-25 09"."""
    if connection.vendor == "postgresql":
        return f"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')"
    return f"substr({column}, 1, 13)"


def _hour_of(text: str) -> datetime:
    return datetime.strptime(text.replace("T", " "), "%Y-%m-%d %H").replace(tzinfo=UTC)
