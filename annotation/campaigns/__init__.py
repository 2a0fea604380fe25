"""Campaigns: opened over a corpus, image by image; paused, resumed, closed.

create, open_images, begin, open_campaign   from a corpus to questions that people can answer (CampaignPlan)
open_pairs, count_pairs                     from pairs of images and captions to questions, or to their number
change_settings, differences, begun         other settings, and what they change from when on
pause, resume, close, set_stop_rules        acts of staff
set_open_to_all                             who may work on it
prioritise_images                           which images come first
duplicate                                   one like another
delete, why_kept                            one that nobody has come to
reached                                     whether a stop rule holds
"""

from annotation.campaigns.changing import (
    WHEN,
    Change,
    Difference,
    StaleSettings,
    begun,
    change_settings,
    check_seen,
    differences,
    reopens,
)
from annotation.campaigns.counted import OpenedPairs, asks_pairs, count_pairs, open_pairs, tasks_of_pairs
from annotation.campaigns.deleting import delete, why_kept
from annotation.campaigns.duplicating import duplicate
from annotation.campaigns.opening import (
    ENTITIES,
    GOLD_LAYERS,
    SMALLEST_CROWD,
    CampaignPlan,
    Opened,
    begin,
    campaign_named,
    create,
    gold_layer,
    mentions_of,
    open_campaign,
    open_images,
)
from annotation.campaigns.ordering import prioritise_images
from annotation.campaigns.states import (
    StopRule,
    close,
    pause,
    reached,
    resume,
    set_open_to_all,
    set_stop_rules,
)
from annotation.protocol.campaign_settings import CampaignError

__all__ = [
    "ENTITIES",
    "GOLD_LAYERS",
    "SMALLEST_CROWD",
    "WHEN",
    "CampaignError",
    "CampaignPlan",
    "Change",
    "Difference",
    "Opened",
    "OpenedPairs",
    "StaleSettings",
    "StopRule",
    "begin",
    "begun",
    "campaign_named",
    "change_settings",
    "check_seen",
    "close",
    "asks_pairs",
    "count_pairs",
    "tasks_of_pairs",
    "create",
    "delete",
    "differences",
    "duplicate",
    "gold_layer",
    "mentions_of",
    "open_campaign",
    "open_images",
    "open_pairs",
    "pause",
    "prioritise_images",
    "reached",
    "reopens",
    "resume",
    "set_open_to_all",
    "set_stop_rules",
    "why_kept",
]
