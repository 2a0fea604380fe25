"""The versions of a campaign's settings: which there are, and what they say."""

from django.db.models import Count

from annotation.models import Campaign, OpenImage, SettingsVersion
from annotation.protocol.campaign_settings import CampaignSettings, settings_of


def settings_by_version(campaign: Campaign) -> dict[int, CampaignSettings]:
    """Version -> the settings, of every version that the campaign has had."""
    stored = SettingsVersion.objects.filter(campaign=campaign.pk).values_list("number", "settings")
    settings = {number: settings_of(values) for number, values in stored}
    return {**settings, campaign.settings_version: settings_of(campaign.settings)}


def settings_versions(campaign: Campaign) -> list[SettingsVersion]:
    """The versions as rows, the newest first, each with who made it."""
    rows = SettingsVersion.objects.filter(campaign=campaign).select_related("created_by")
    return list(rows.order_by("-number"))


def images_by_version(campaign: Campaign) -> list[tuple[int, int]]:
    """(version, how many images were opened under it), in the order of the versions."""
    counts = OpenImage.objects.filter(campaign=campaign).values("settings_version").annotate(n=Count("id"))
    return sorted(counts.values_list("settings_version", "n"))
