"""A campaign at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from annotation.models import Campaign
from annotation.protocol.work import PaySettings
from annotation.selectors.campaign.cost import Cost, costs
from annotation.selectors.campaign.double_checks import Agreement, agreement
from annotation.selectors.campaign.forecast import pay_to_come
from annotation.selectors.campaign.progress import Funnel, Pace, TaskCounts, funnel, pace, tasks


@dataclass(frozen=True, slots=True)
class Overview:
    """What the campaign page shows above its tables; `pay_to_come` is what the answers to come will earn."""

    funnel: Funnel
    tasks: dict[str, TaskCounts]
    pace: Pace
    cost: Cost
    pay_to_come: int | None
    agreement: dict[str, Agreement]


def overview(
    campaign: Campaign, pay: PaySettings, *, at: datetime | None = None, fresh: bool = False
) -> Overview:
    """All figures of a campaign; those over all of it are a minute old at most, unless `fresh`."""
    now = pace(campaign, at=at, fresh=fresh)
    so_far = costs(campaign, pay)
    return Overview(
        funnel=funnel(campaign),
        tasks=tasks(campaign),
        pace=now,
        cost=so_far,
        pay_to_come=pay_to_come(now.to_come, so_far),
        agreement=agreement(campaign, fresh=fresh),
    )
