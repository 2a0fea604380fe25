"""The list of campaigns: how far each is, told from indexes alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Sum

from annotation.models import Campaign, OpenImage, PlannedImage

#: What state a campaign can be in.
CAMPAIGN_STATES = Campaign.STATES


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """A campaign with its images, those that are complete, and its chains that wait for a reviewer."""

    campaign: Campaign
    images: int
    complete: int
    in_review: int

    @property
    def percent(self) -> int:
        """Complete images in whole per cent, rounded down; 0 of none."""
        return 100 * self.complete // self.images if self.images else 0


def campaigns_listed(campaigns: Sequence[Campaign]) -> list[CampaignRow]:
    """These campaigns, in their order, each with its figures; four queries for any number. Images that are
    still to be opened count."""
    opened = OpenImage.objects.filter(campaign__in=campaigns).values_list("campaign").order_by()
    images = dict(opened.annotate(Count("pk")))
    planned = PlannedImage.objects.filter(campaign__in=campaigns).values_list("campaign").order_by()
    to_come = dict(planned.annotate(Count("pk")))
    unfinished = dict(opened.filter(complete=False).annotate(Count("pk")))
    in_review = dict(opened.filter(in_review__gt=0).annotate(Sum("in_review")))
    return [
        CampaignRow(
            campaign,
            images.get(campaign.pk, 0) + to_come.get(campaign.pk, 0),
            images.get(campaign.pk, 0) - unfinished.get(campaign.pk, 0),
            in_review.get(campaign.pk, 0),
        )
        for campaign in campaigns
    ]
