"""What the campaign page and `campaign_status` read of a campaign.

`overview` puts together what is asked for most. Figures that have to be counted over the whole
campaign are kept for a minute (`kept`); everything else is read from a bounded number of rows.
"""

from annotation.selectors.campaign.cost import Cost, Earned, cost, earned, in_hand, money, paid, spent
from annotation.selectors.campaign.crowd import KindRow, WorkerRow, workers
from annotation.selectors.campaign.double_checks import Agreement, agreement
from annotation.selectors.campaign.glance import Overview, overview
from annotation.selectors.campaign.progress import (
    Funnel,
    Pace,
    TaskCounts,
    complete_images,
    funnel,
    pace,
    tasks,
)

__all__ = [
    "Agreement",
    "Cost",
    "Earned",
    "Funnel",
    "KindRow",
    "Overview",
    "Pace",
    "TaskCounts",
    "WorkerRow",
    "agreement",
    "complete_images",
    "cost",
    "earned",
    "funnel",
    "in_hand",
    "money",
    "overview",
    "pace",
    "paid",
    "spent",
    "tasks",
    "workers",
]
