"""The data of a campaign's charts by API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.fields import MoneyField
from annotation.api.rest.operations import GET, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, CAMPAIGNS_TAG, READS_CAMPAIGN
from annotation.api.v1.agreement import AgreementShown, agreement_shown
from annotation.models import Campaign
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.money import amount_text
from annotation.selectors.campaign import overview
from annotation.selectors.campaign.series import SeriesPoint, campaign_series


class CountShown(serializers.Serializer[Any]):
    """A time, and how many there are then."""

    at = serializers.DateTimeField()
    number = serializers.IntegerField()


class AmountShown(serializers.Serializer[Any]):
    """A time, and how much there is then."""

    at = serializers.DateTimeField()
    amount = MoneyField()


class DashboardShown(serializers.Serializer[Any]):
    """The data of the charts: answers by the hour that begins at a time; running totals of images that are
    done and of what answers earned, and where these are expected to end."""

    simulated = serializers.BooleanField(help_text="Simulated answers took no time: no speed, no forecast.")
    answers_by_hour = CountShown(many=True)
    images = serializers.IntegerField()
    images_done = CountShown(many=True)
    images_end = CountShown(allow_null=True)
    currency = serializers.CharField()
    earned = AmountShown(many=True)
    earned_end = AmountShown(allow_null=True)
    budget = MoneyField(allow_null=True)
    agreement = AgreementShown(many=True)


@serves(
    ApiRoute(
        route="dashboard",
        method=GET,
        path=f"{CAMPAIGN_PATH}/dashboard",
        tag=CAMPAIGNS_TAG,
        opens=READS_CAMPAIGN,
        answers=DashboardShown,
    )
)
def dashboard_show_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Show the data of a campaign's charts."""
    settings = settings_of(campaign.settings)
    series = campaign_series(campaign, settings, overview(campaign, settings.pay))
    timed = not campaign.simulated
    return {
        "simulated": campaign.simulated,
        "answers_by_hour": _counts(series.answers) if timed else [],
        "images": series.images,
        "images_done": _counts(series.done),
        "images_end": _counts([series.images_end])[0] if timed and series.images_end else None,
        "currency": series.currency,
        "earned": _amounts(series.cost, series.currency),
        "earned_end": _amounts([series.cost_end], series.currency)[0] if timed and series.cost_end else None,
        "budget": amount_text(series.budget, series.currency) if series.budget is not None else None,
        "agreement": agreement_shown(series.agreement),
    }


def _counts(points: Sequence[SeriesPoint]) -> list[dict[str, Any]]:
    return [{"at": json_time(at), "number": number} for at, number in points]


def _amounts(points: Sequence[SeriesPoint], currency: str) -> list[dict[str, Any]]:
    return [{"at": json_time(at), "amount": amount_text(amount, currency)} for at, amount in points]
