"""The list of campaigns: how far each is, told from indexes alone."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Campaign, OpenImage
from annotation.selectors.campaign import complete_images
from annotation.selectors.review import count_chains_in_review


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


def campaigns_listed(campaigns: QuerySet[Campaign]) -> list[CampaignRow]:
    """These campaigns, the newest first; three queries each."""
    return [
        CampaignRow(
            campaign,
            OpenImage.objects.filter(campaign=campaign).count(),
            complete_images(campaign),
            count_chains_in_review(campaign.pk),
        )
        for campaign in campaigns.select_related("corpus").order_by("-pk")
    ]
