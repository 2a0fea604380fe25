"""What a campaign will still take: one figure for its pages, its commands and what is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.models import Campaign
from annotation.protocol.work import PaySettings
from annotation.selectors.campaign.cost import CampaignCost, costs
from annotation.selectors.campaign.progress import Funnel, TaskCounts, funnel, open_tasks_by_kind, to_come


@dataclass(frozen=True, slots=True)
class Forecast:
    """Answers to come and what they will earn, in millionths of the currency; None where it is too early to
    tell. Both are 0 for a closed campaign."""

    answers: int | None
    pay: int | None


def forecast(campaign: Campaign, pay: PaySettings, *, fresh: bool = False) -> Forecast:
    """The forecast of a campaign; counted anew with `fresh`, else kept as its counts are."""
    now, open_counts = funnel(campaign, fresh=fresh), open_tasks_by_kind(campaign, fresh=fresh)
    return forecast_from(campaign, now, open_counts, costs(campaign, pay))


def forecast_from(
    campaign: Campaign, now: Funnel, open_counts: Mapping[str, TaskCounts], so_far: CampaignCost
) -> Forecast:
    """The forecast of a campaign that is as far, and cost as much, as is said."""
    answers = to_come(campaign, now, open_counts)
    return Forecast(answers, _will_earn(answers, so_far))


def _will_earn(answers: int | None, so_far: CampaignCost) -> int | None:
    """What so many answers will earn, control items among them, at what one earned so far. Answers of
    machines earn nothing; they are in both numbers."""
    if not answers:
        return answers
    kinds = so_far.kinds.values()
    on_tasks = so_far.answers + sum(of.machines - of.controls - of.tests for of in kinds)
    return round(answers * so_far.earned / on_tasks) if on_tasks else None
