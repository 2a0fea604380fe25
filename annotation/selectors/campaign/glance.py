"""A campaign at a glance."""

from dataclasses import dataclass
from datetime import datetime

from annotation.models import Campaign
from annotation.protocol.agreement import DoubleCheckAgreement
from annotation.protocol.work import PaySettings
from annotation.selectors.campaign.cost import CampaignCost, costs
from annotation.selectors.campaign.double_checks import agreement
from annotation.selectors.campaign.forecast import forecast_from
from annotation.selectors.campaign.kept import counted_at
from annotation.selectors.campaign.progress import (
    Funnel,
    Pace,
    TaskCounts,
    funnel,
    open_tasks_by_kind,
    pace,
    submitted,
)


@dataclass(frozen=True, slots=True)
class Overview:
    """What the campaign page shows above its tables; `pay_to_come` is what the answers to come will earn.

    Where counting is slow, figures may be those of `counted_at`; `since` answers came after that.
    """

    funnel: Funnel
    tasks: dict[str, TaskCounts]
    pace: Pace
    cost: CampaignCost
    pay_to_come: int | None
    agreement: dict[str, DoubleCheckAgreement]
    counted_at: datetime | None
    since: int


def overview(
    campaign: Campaign, pay: PaySettings, *, at: datetime | None = None, fresh: bool = False
) -> Overview:
    """All figures of a campaign; counted anew with `fresh`, or where that is quick."""
    now, open_counts = funnel(campaign, fresh=fresh), open_tasks_by_kind(campaign, fresh=fresh)
    so_far, agreed = costs(campaign, pay), agreement(campaign, fresh=fresh)
    flow = pace(campaign, at=at, fresh=fresh, counts=(now, open_counts))
    counted = counted_at(campaign, ("funnel", "tasks", "agreement", "recent"))
    return Overview(
        funnel=now,
        tasks=open_counts,
        pace=flow,
        cost=so_far,
        pay_to_come=forecast_from(campaign, now, open_counts, so_far).pay,
        agreement=agreed,
        counted_at=counted,
        since=submitted(campaign, since=counted) if counted else 0,
    )
