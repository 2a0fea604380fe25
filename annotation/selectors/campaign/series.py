"""Data of the four charts of a campaign: answers per hour, completed images, cost, and agreement by
question."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from annotation.models import Bonus, Campaign
from annotation.protocol.agreement import DoubleCheckAgreement
from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.work import MICROS
from annotation.selectors.campaign.glance import Overview
from annotation.selectors.campaign.hours import answer_hours, done_hours

#: Number of hours of answers that are shown, the newest.
CHART_HOURS = 48
#: Steps of cumulative charts: the shortest that has no more than the maximum number is used.
_STEPS = (timedelta(hours=1), timedelta(days=1), timedelta(weeks=1), timedelta(weeks=13))
_MOST_STEPS = 90

#: A time, and a count or amount.
SeriesPoint = tuple[datetime, int]


@dataclass(frozen=True, slots=True)
class CampaignSeries:
    """The charts' data. Times are the starts of hours for `answers`, else the ends of steps, in UTC; amounts
    are millionths of the currency.

    `done` and `cost` are running totals; `bonuses` is the part of the cost that was granted as bonuses.
    `images_end` and `cost_end` are the expected ends, None if unknown or if all is done; `budget` is None if
    none is set.
    """

    answers: list[SeriesPoint]
    done: list[SeriesPoint]
    images: int
    images_end: SeriesPoint | None
    cost: list[SeriesPoint]
    budget: int | None
    cost_end: SeriesPoint | None
    currency: str
    bonuses: int
    agreement: dict[str, DoubleCheckAgreement]


def campaign_series(
    campaign: Campaign, settings: CampaignSettings, seen: Overview, *, fresh: bool = False
) -> CampaignSeries:
    """Return the data of a campaign's charts, besides the figures in `seen` of the same time."""
    now = timezone.now()
    hours, done = answer_hours(campaign), done_hours(campaign, fresh=fresh)
    bonuses_by_hour = _bonuses_by_hour(campaign)
    paid = {hour: bonuses_by_hour[hour] for hour in bonuses_by_hour} | {
        hour: spending.pay + bonuses_by_hour[hour] for hour, spending in hours.items()
    }
    cost = _running(paid, now)
    ends_at = seen.throughput.ends_at if campaign.state != Campaign.CLOSED else None
    budget = settings.stop.budget
    to_come = seen.pay_to_come
    return CampaignSeries(
        answers=_newest_hours({hour: spending.answers for hour, spending in hours.items()}, now),
        done=_running(done, now),
        images=seen.funnel.in_all,
        images_end=(ends_at, seen.funnel.in_all) if ends_at is not None else None,
        cost=cost,
        budget=round(budget * MICROS) if budget is not None else None,
        cost_end=(ends_at, cost[-1][1] + to_come) if ends_at is not None and cost and to_come else None,
        currency=seen.cost.currency,
        bonuses=bonuses_by_hour.total(),
        agreement=seen.agreement,
    )


def _bonuses_by_hour(campaign: Campaign) -> Counter[datetime]:
    """Return valid bonuses by the hour in which they were granted (its start, in UTC)."""
    bonuses_by_hour = Counter[datetime]()
    rows = Bonus.objects.filter(campaign=campaign, withdrawn_at__isnull=True)
    for at, amount in rows.values_list("given_at", "amount"):
        bonuses_by_hour[at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)] += amount
    return bonuses_by_hour


def _newest_hours(answers: Mapping[datetime, int], now: datetime) -> list[SeriesPoint]:
    """Return the newest hours, including those without answers; for an inactive campaign, those before its
    last answer."""
    counted = [hour for hour, number in answers.items() if number]
    if not counted:
        return []
    last = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if last - max(counted) > timedelta(hours=CHART_HOURS):
        last = max(counted)
    first = max(last - timedelta(hours=CHART_HOURS - 1), min(counted))
    number = int((last - first) / timedelta(hours=1)) + 1
    hours_drawn = [first + timedelta(hours=index) for index in range(number)]
    return [(hour, answers.get(hour, 0)) for hour in hours_drawn]


def _running(values: Mapping[datetime, int], now: datetime) -> list[SeriesPoint]:
    """Return running totals from a 0 at the first hour on, at the ends of steps of equal length; the last one
    is now, or the end of the last hour."""
    if not values:
        return []
    first, last = min(values), max(values)
    step = next((step_size for step_size in _STEPS if (last - first) / step_size <= _MOST_STEPS), _STEPS[-1])
    totals: list[SeriesPoint] = [(first, 0)]
    total, end = 0, first + step
    for hour in sorted(values):
        while hour >= end:
            totals.append((end, total))
            end += step
        total += values[hour]
    return [*totals, (min(end, now) if now > first else end, total)]
