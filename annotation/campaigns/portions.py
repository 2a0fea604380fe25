"""Images that a campaign is still to open, as others are finished: so many are asked about at once
(`machine.images_at_once`).

A crowd works on many images at a time, and draws in most of them before the first is finished. Where all are
open, a machine that begins with nothing has learned too little by then (docs/machines.md).
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TypedDict

from django.db.models import Q

from annotation.campaigns.choosing import images_chosen, not_open
from annotation.common import database
from annotation.models import Campaign, Image, OpenImage
from annotation.protocol.campaign_settings import settings_of


class ImageChoice(TypedDict):
    """Images that are to be opened, as `open_campaign_images` takes them."""

    split: str | None
    images: int | None
    tags: list[str]


def images_to_open(campaign: Campaign) -> int | None:
    """How many images may be opened now; None: all there are."""
    unfinished = OpenImage.objects.filter(campaign=campaign, complete=False).count()
    return settings_of(campaign.settings).machine.images_to_open(unfinished)


def count_still_to_open(campaign: Campaign) -> int:
    """How many images are still to be opened."""
    choices = [images_chosen(campaign, **choice).values("pk") for choice in campaign.still_to_open]
    if not choices:
        return 0
    chosen = reduce(or_, (Q(pk__in=each) for each in choices))
    return not_open(campaign, Image.objects.filter(chosen)).count()


def note_still_to_open(campaign: Campaign, choice: ImageChoice) -> None:
    """Remember that some of these images are still to be opened."""
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if choice not in row.still_to_open:
            row.still_to_open.append(choice)
            row.save(update_fields=["still_to_open"])
    campaign.still_to_open = row.still_to_open


def note_all_opened(campaign: Campaign, choice: ImageChoice) -> None:
    """Forget a choice all of whose images are open."""
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if choice in row.still_to_open:
            row.still_to_open.remove(choice)
            row.save(update_fields=["still_to_open"])
    campaign.still_to_open = row.still_to_open
