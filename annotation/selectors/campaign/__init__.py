"""What the campaign page and `campaign_status` read of a campaign.

`overview` puts together what is asked for most. Counts of images and tasks are kept for a minute where they
are slow (`kept`); sums over answers are kept and added to (`sums`); all else is read from few rows.
"""

from annotation.protocol.agreement import DoubleCheckAgreement
from annotation.selectors.campaign.cost import CampaignCost, costs, in_hand, money, paid, spent
from annotation.selectors.campaign.crowd import KindRow, WorkerRow, workers
from annotation.selectors.campaign.glance import Forecast, Overview, agreement, forecast, overview
from annotation.selectors.campaign.progress import (
    Funnel,
    Pace,
    TaskCounts,
    complete_images,
    funnel,
    open_tasks_by_kind,
    open_tasks_of_campaigns,
    pace,
)
from annotation.selectors.campaign.sums import Earned, earned, earned_in_campaigns

__all__ = [
    "DoubleCheckAgreement",
    "CampaignCost",
    "Earned",
    "Forecast",
    "Funnel",
    "KindRow",
    "Overview",
    "Pace",
    "TaskCounts",
    "WorkerRow",
    "agreement",
    "complete_images",
    "costs",
    "earned",
    "earned_in_campaigns",
    "forecast",
    "funnel",
    "in_hand",
    "money",
    "overview",
    "pace",
    "paid",
    "spent",
    "open_tasks_by_kind",
    "open_tasks_of_campaigns",
    "workers",
]
