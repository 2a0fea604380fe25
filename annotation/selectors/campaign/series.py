"""What the four charts of a campaign show: answers an hour, images done, cost, and agreement by question."""

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

#: Hours of answers that are shown, the newest.
CHART_HOURS = 48
#: Steps of what is added up: the shortest that has no more than so many.
_STEPS = (timedelta(hours=1), timedelta(days=1), timedelta(weeks=1), timedelta(weeks=13))
_MOST_STEPS = 90

#: A time, and how many or how much there is then.
SeriesPoint = tuple[datetime, int]


@dataclass(frozen=True, slots=True)
class CampaignSeries:
    """The charts' data. Times are the beginnings of hours for `answers`, else the ends of steps, in UTC;
    amounts are millionths of the currency.

    `done` and `cost` are running totals; `bonuses` is what of the cost was given as such. `images_end` and
    `cost_end` are where they are expected to end, None where nobody can tell or all is done; `budget` is None
    where none is set.
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
    """The data of a campaign's charts, beside the figures that were `seen` at the same time."""
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
    """The bonuses that stand, by the hour in which they were given (its beginning, in UTC)."""
    bonuses_by_hour = Counter[datetime]()
    rows = Bonus.objects.filter(campaign=campaign, withdrawn_at__isnull=True)
    for at, amount in rows.values_list("given_at", "amount"):
        bonuses_by_hour[at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)] += amount
    return bonuses_by_hour


def _newest_hours(answers: Mapping[datetime, int], now: datetime) -> list[SeriesPoint]:
    """The newest hours, those without answers too; of a campaign that rests, those before it came to rest."""
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
    """Running totals from a 0 at the first hour on, at the ends of steps of equal length; the last one is
    now, or when the last hour was over."""
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
