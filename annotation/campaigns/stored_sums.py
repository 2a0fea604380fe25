"""Stored totals of a campaign's answers, so that no page adds up millions of them."""

from typing import Any

from django.utils import timezone

from annotation.common import database
from annotation.models import Campaign, CampaignSums
from annotation.selectors.campaign.hours import HOURS
from annotation.selectors.campaign.ledger import UNSETTLED, LedgerSums, is_outdated
from annotation.selectors.campaign.sums import EARNED


def store_sums(campaign: Campaign) -> None:
    """Store the totals of finished assignments.

    Assignments that finished since the last time are added. Once a day, after the campaign's revision
    increased, and after the clock was set back, all answers are counted again. A closed campaign is checked
    once a day: few answers arrive after the close.
    """
    for way in (EARNED, HOURS):
        _save_sums(campaign, way)


def _save_sums(campaign: Campaign, way: LedgerSums[Any, Any]) -> None:
    now = timezone.now()
    until, counted_at = now - UNSETTLED, now
    row = CampaignSums.objects.filter(campaign=campaign, what=way.what, revision=campaign.revision).first()
    if row is None or is_outdated(row.until, row.counted_at, now=now):
        sums = way.all_of([campaign.pk], until)[campaign.pk]
    elif campaign.state == Campaign.CLOSED:
        return
    else:
        before = way.of_row(row)
        sums = way.advanced({campaign.pk: before}, until)[campaign.pk].sums
        if sums == before.sums:
            return
        counted_at = row.counted_at
    values = {
        "revision": campaign.revision,
        "until": until,
        "counted_at": counted_at,
        "sums": [way.to_json(*key_and_sum) for key_and_sum in sorted(sums.items())],
    }
    with database.writing():
        CampaignSums.objects.update_or_create(campaign=campaign, what=way.what, defaults=values)
