"""Campaigns: created from a corpus, opened image by image, paused, resumed, closed.

opening         create and open a campaign (CampaignPlan), from a corpus to questions for workers
counted         questions about pairs of images and captions, and their number
changing        change the settings, list differences and when they take effect
states          pause, resume, close, archive, stop rules, access for everybody, simulated campaigns
ordering        which images come first
phrases         phrases marked by hand for future tasks
duplicating     a draft that copies a campaign
deleting        delete a campaign that nobody has joined
monitoring      stop rules and alarms
"""

from annotation.campaigns.changing import (
    WHEN,
    SettingsChange,
    StaleSettings,
    change_campaign_settings,
    settings_differences,
    work_has_begun,
)
from annotation.campaigns.choosing import ENTITIES, gold_layer
from annotation.campaigns.counted import OpenedPairs, asks_pairs, count_pairs, has_these_pairs, open_pairs
from annotation.campaigns.deleting import delete_campaign, why_not_deletable
from annotation.campaigns.duplicating import duplicate_campaign
from annotation.campaigns.opening import (
    CampaignPlan,
    OpenedImages,
    begin_campaign,
    campaign_crowd_size,
    campaign_named,
    create_campaign,
    open_campaign,
    open_campaign_images,
)
from annotation.campaigns.ordering import prioritise_images
from annotation.campaigns.states import (
    StopRule,
    archive_campaign,
    close_campaign,
    mark_simulated,
    pause_campaign,
    reached_stop_rule,
    resume_campaign,
    set_open_to_all,
    set_stop_rules,
)
from annotation.protocol.campaign_settings import CampaignError
