"""Campaigns out of the way: lists leave archived ones out, unless asked for them. Nothing else changes."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.models import Account, Campaign
from annotation.protocol.campaign_settings import CampaignError


def archive_campaign(*, campaign: Campaign, archived: bool = True, actor: Account | None = None) -> bool:
    """Archive a campaign, or bring it back; False where it is so already.

    Raises CampaignError for an open one: people would go on working on what no list shows.
    """
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if archived and row.state == Campaign.OPEN:
            raise CampaignError(
                _("Campaign “%(name)s” is open: pause or close it before you archive it.")
                % {"name": row.name}
            )
        changed = (row.archived_at is not None) != archived
        if changed:
            row.archived_at = database.now() if archived else None
            row.save(update_fields=["archived_at"])
            record(
                actor=actor, act="archive_campaign" if archived else "unarchive_campaign", campaign=campaign
            )
    campaign.refresh_from_db()
    return changed
