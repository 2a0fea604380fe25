"""Campaigns: opened over a corpus, image by image; paused, resumed, closed.

create, open_images, begin, open_campaign   from a corpus to questions that people can answer (CampaignPlan)
open_pairs, count_pairs                     from pairs of images and captions to questions, or to their number
change_settings, differences, begun         other settings, and what they change from when on
pause, resume, close, set_stop_rules        acts of staff
set_open_to_all                             who may work on it
prioritise_images                           which images come first
phrases                                     what is marked by hand for those to come
duplicate                                   one like another
archive                                     one that lists leave out from now on
delete, why_not_deletable                            one that nobody has come to
mark_simulated                              one that simulated workers answer, for good
reached                                     whether a stop rule holds
crowd_size                                  how many workers it needs
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
