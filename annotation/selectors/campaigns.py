"""The list of campaigns with their progress, counted from indexes alone; and the versions of their
settings."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Sum

from annotation.models import Campaign, OpenImage, PlannedImage, SettingsVersion
from annotation.protocol.campaign_settings import CampaignSettings, settings_of

#: Possible states of a campaign.
CAMPAIGN_STATES = Campaign.STATES


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """A campaign with the numbers of its images, of complete ones, and of its chains that wait for a
    reviewer."""

    campaign: Campaign
    images: int
    complete: int
    in_review: int

    @property
    def percent(self) -> int:
        """Complete images in whole per cent, rounded down; 0 without images."""
        return 100 * self.complete // self.images if self.images else 0


def campaigns_listed(campaigns: Sequence[Campaign]) -> list[CampaignRow]:
    """Return these campaigns, in order, each with its figures; four queries for any number. Images that are
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


def settings_by_version(campaign: Campaign) -> dict[int, CampaignSettings]:
    """Return the settings of every version that the campaign has had."""
    stored = SettingsVersion.objects.filter(campaign=campaign.pk).values_list("number", "settings")
    settings = {number: settings_of(values) for number, values in stored}
    return {**settings, campaign.settings_version: settings_of(campaign.settings)}


def settings_versions(campaign: Campaign) -> list[SettingsVersion]:
    """Return the versions as rows, the newest first, each with its author."""
    rows = SettingsVersion.objects.filter(campaign=campaign).select_related("created_by")
    return list(rows.order_by("-number"))


def images_by_version(campaign: Campaign) -> list[tuple[int, int]]:
    """Return (version, number of images opened under it), in the order of the versions."""
    counts = OpenImage.objects.filter(campaign=campaign).values("settings_version").annotate(n=Count("id"))
    return sorted(counts.values_list("settings_version", "n"))
