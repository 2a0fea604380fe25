"""Images that a campaign is still to open, as others are finished: so many are asked about at once
(`machine.images_at_once`).

A crowd works on many images at a time, and draws in most of them before the first is finished. Where all are
open, a machine that begins with nothing has learned too little by then (docs/machines.md).
"""

from __future__ import annotations

from typing import TypedDict

from annotation.campaigns.choosing import images_chosen
from annotation.common import database
from annotation.models import Campaign, OpenImage
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


def still_to_open(campaign: Campaign) -> list[ImageChoice]:
    """The choices of images of which some are still to be opened, the oldest first."""
    found: list[ImageChoice] = Campaign.objects.values_list("still_to_open", flat=True).get(pk=campaign.pk)
    return found


def count_still_to_open(campaign: Campaign) -> int:
    """How many images are still to be opened."""
    wanted: set[int] = set()
    for choice in still_to_open(campaign):
        wanted.update(images_chosen(campaign, **choice).values_list("pk", flat=True))
    if not wanted:
        return 0
    return len(wanted.difference(OpenImage.objects.filter(campaign=campaign).values_list("image", flat=True)))


def note_still_to_open(campaign: Campaign, choice: ImageChoice) -> None:
    """Remember that some of these images are still to be opened."""
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if choice not in row.still_to_open:
            row.still_to_open.append(choice)
            row.save(update_fields=["still_to_open"])


def note_all_opened(campaign: Campaign, choice: ImageChoice) -> None:
    """Forget a choice all of whose images are open."""
    if choice not in still_to_open(campaign):
        return
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        row.still_to_open = [other for other in row.still_to_open if other != choice]
        row.save(update_fields=["still_to_open"])
