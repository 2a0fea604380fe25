"""Images that a campaign will open later, as others are finished, since it asks about a limited number at
once (`model_annotator.images_at_once`).

A crowd works on many images at a time, and draws in most of them before the first is finished. If all were
open, a model annotator that starts from scratch would have learned too little by then
(docs/model_annotators.md).
"""

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, QuerySet

from annotation.audit import record
from annotation.campaigns.choosing import not_open
from annotation.common import database
from annotation.models import Account, Campaign, Image, OpenImage, PlannedImage, Task
from annotation.protocol.campaign_settings import CampaignError, settings_of

#: Number of rows written by one statement.
_ROWS = 500


def images_to_open(campaign: Campaign) -> int | None:
    """Return how many images may be opened now; None: all. Images that only wait for a reviewer do not delay
    others."""
    open_tasks = Task.objects.filter(image=OuterRef("pk"), state=Task.OPEN)
    unfinished = OpenImage.objects.filter(Exists(open_tasks), campaign=campaign, complete=False).count()
    return settings_of(campaign.settings).model_annotator.images_to_open(unfinished)


def count_planned(campaign: Campaign) -> int:
    """Return how many images will be opened later."""
    return PlannedImage.objects.filter(campaign=campaign).count()


def not_planned(campaign: Campaign, images: QuerySet[Image]) -> QuerySet[Image]:
    """Return those of the images that are not planned."""
    return images.exclude(Exists(PlannedImage.objects.filter(campaign=campaign, image=OuterRef("pk"))))


def plan_images(
    campaign: Campaign, images: QuerySet[Image], most: int | None, *, actor: Account | None = None
) -> None:
    """Plan these images, in order, until `most` are open or planned in all (None: all). Raises CampaignError
    if the campaign is closed."""
    with database.writing():
        # Locks the campaign's row: of two concurrent planners, the second finds the first one's plan.
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        check_not_closed(row)
        chosen = not_planned(row, not_open(row, images)).values_list("pk", flat=True)
        if most is not None:
            there = OpenImage.objects.filter(campaign=row).count() + count_planned(row)
            chosen = chosen[: max(0, most - there)]
        planned = PlannedImage.objects.bulk_create(
            (PlannedImage(campaign=row, image_id=pk) for pk in chosen), batch_size=_ROWS
        )
        if planned:
            record(actor=actor, act="plan_images", campaign=row, images=len(planned))


def drop_plan(campaign: Campaign, *, actor: Account | None = None) -> int:
    """Cancel the plan, so that no further images are opened; return how many were planned.

    This works for a closed campaign, too.
    """
    with database.writing():
        row = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        number, _ = PlannedImage.objects.filter(campaign=row).delete()
        if number:
            record(actor=actor, act="drop_planned_images", campaign=row, images=number)
    return number


def check_not_closed(campaign: Campaign) -> None:
    """Raise CampaignError for a closed campaign, which opens no images."""
    if campaign.state == Campaign.CLOSED:
        raise CampaignError(f"campaign {campaign.name!r} is closed; open another under a new name")


def next_images(campaign: Campaign, number: int) -> list[int]:
    """Return the ids of the next `number` planned images, in the order of planning."""
    rows = PlannedImage.objects.filter(campaign=campaign).order_by("pk")[:number]
    return list(rows.values_list("image", flat=True))


def forget_plan(campaign: Campaign, keys: Iterable[str]) -> None:
    """Remove the images with these `keys` from the plan: they are open, or gold does not cover them."""
    PlannedImage.objects.filter(campaign=campaign, image__key__in=list(keys)).delete()
