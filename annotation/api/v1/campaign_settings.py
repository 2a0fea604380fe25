"""The settings of campaigns by API: those in force, a change, and the versions that they have had."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import campaigns
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.fields import CallFields, PlainField, WholeField
from annotation.api.rest.operations import GET, PATCH, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, CAMPAIGNS_TAG, READS_CAMPAIGN, RUNS_CAMPAIGN
from annotation.models import Campaign
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.selectors.settings_versions import settings_versions


class SettingsShown(serializers.Serializer[Any]):
    """The settings in force, whole, and the version that they are."""

    version = serializers.IntegerField()
    settings = PlainField()


class SettingsVersionShown(SettingsShown):
    """One version of the settings."""

    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class SettingsChanged(serializers.Serializer[Any]):
    """What a change of settings came to: the version in force, what changed, and how many images were
    reopened."""

    version = serializers.IntegerField()
    changed = serializers.ListField(child=serializers.CharField())
    reopened = serializers.IntegerField()


class SettingsWanted(CallFields):
    """All settings, as they shall be from now on; absent ones are defaults. `version` is the version that you
    looked at: where another is in force, nothing is changed (412)."""

    version = WholeField()
    settings = PlainField()
    unpaid = serializers.BooleanField(required=False)


@serves(
    ApiRoute(
        route="campaign_settings",
        method=GET,
        path=f"{CAMPAIGN_PATH}/settings",
        tag=CAMPAIGNS_TAG,
        opens=READS_CAMPAIGN,
        answers=SettingsShown,
    )
)
def campaign_settings_show_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Show the settings in force, whole."""
    return {"version": campaign.settings_version, "settings": settings_of(campaign.settings).as_dict()}


@serves(
    ApiRoute(
        route="campaign_settings",
        method=PATCH,
        path=f"{CAMPAIGN_PATH}/settings",
        tag=CAMPAIGNS_TAG,
        opens=RUNS_CAMPAIGN,
        body=SettingsWanted,
        answers=SettingsChanged,
        refuses=(CampaignError,),
        stale=(campaigns.StaleSettings,),
        example={"version": 1, "settings": {"trust": {"bar": 0.75}}},
    )
)
def campaign_settings_change_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Put settings in force as the next version.

    A change to how images are asked about reopens them all, where nobody has worked yet.
    """
    wanted = call.data["settings"]
    before = settings_of(campaign.settings).pay.unpaid(campaign.kinds)
    after = settings_of(wanted).pay.unpaid(campaign.kinds)
    check_pay(wanted, campaign.kinds, meant=call.data.get("unpaid", False) or set(after) <= set(before))
    done = campaigns.change_campaign_settings(
        campaign=campaign, settings=wanted, seen=call.data["version"], actor=call.account
    )
    changed = [each.name for each in done.differences]
    return {"version": done.version, "changed": changed, "reopened": done.reopened}


@serves(
    ApiRoute(
        route="campaign_settings_versions",
        method=GET,
        path=f"{CAMPAIGN_PATH}/settings/versions",
        tag=CAMPAIGNS_TAG,
        opens=READS_CAMPAIGN,
        answers=SettingsVersionShown,
        listed=True,
    )
)
def campaign_settings_versions_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List the versions that a campaign's settings have had, the newest first."""
    rows = call.rows
    found = settings_versions(campaign)
    if rows.mark is not None:
        found = [each for each in found if each.number < rows.mark]
    shown = found[: rows.limit]
    plain = [
        {
            "version": each.number,
            "settings": settings_of(each.settings).as_dict(),
            "created_by": each.created_by.get_username() if each.created_by is not None else None,
            "created_at": json_time(each.created_at),
        }
        for each in shown
    ]
    return rows.page(plain, shown[-1].number if len(found) > rows.limit else None)


def check_pay(settings: dict[str, Any], kinds: tuple[str, ...], *, meant: bool) -> None:
    """Raise CampaignError where some kind would earn nothing and nobody said that this is meant."""
    unpaid = settings_of(settings).pay.unpaid(kinds)
    if unpaid and not meant:
        raise CampaignError(
            _("No pay is set for %(kinds)s: set it in the settings, under “pay”, or send “unpaid”: true.")
            % {"kinds": ", ".join(unpaid)}
        )
