"""What a campaign's workers are told, by API; and its layer."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import instructions, jobs
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, PREPARING_TAG, RUNS_CAMPAIGN
from annotation.models import Campaign, Job
from annotation.protocol.campaign_settings import CampaignError


class CampaignTextShown(serializers.Serializer[Any]):
    """A text of a campaign: of the consent, or the instructions of a kind of question. Version 0 is built
    in."""

    kind = serializers.CharField()
    version = serializers.IntegerField()
    text = serializers.CharField()


class TextWanted(CallFields):
    """A text to be published, and the version that you read before (0: the built-in one): where there is a
    newer one, nothing is published (412)."""

    kind = NameField(help_text="consent, or a kind of question.")
    version = WholeField()
    text = TextField(max_length=20_000, allow_blank=True)


@serves(
    ApiRoute(
        route="texts",
        method=GET,
        path=f"{CAMPAIGN_PATH}/texts",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        answers=CampaignTextShown,
        listed=True,
    )
)
def texts_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List what workers of a campaign are told: the consent, and the instructions of each kind of
    question."""
    found = [
        instructions.current_text(campaign=campaign, kind=kind)
        for kind in (instructions.CONSENT, *campaign.kinds)
    ]
    return call.rows.of_values(found, lambda text: text.kind, _text_plain)


@serves(
    ApiRoute(
        route="texts",
        method=POST,
        path=f"{CAMPAIGN_PATH}/texts",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        body=TextWanted,
        answers=CampaignTextShown,
        refuses=(CampaignError,),
        stale=(instructions.StaleText,),
        example={"kind": "consent", "version": 0, "text": "You agree that your answers are published."},
    )
)
def text_publish_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Publish a text as the next version. Everybody is asked for consent to a new consent text."""
    kind = call.data["kind"]
    if kind not in (instructions.CONSENT, *campaign.kinds):
        raise CampaignError(_("There is no text of “%(kind)s”.") % {"kind": kind})
    made = instructions.publish_text(
        campaign=campaign, kind=kind, text=call.data["text"], seen=call.data["version"], actor=call.account
    )
    return _text_plain(made)


@serves(
    ApiRoute(
        route="layer_refresh",
        method=POST,
        path=f"{CAMPAIGN_PATH}/layer/refresh",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        job=True,
    )
)
def layer_refresh_call(call: ApiCall, campaign: Campaign) -> Job:
    """Bring a campaign's layer up to its answers, as a job."""
    return jobs.enqueue(kind="refresh_layer", campaign=campaign, actor=call.account)


def _text_plain(text: instructions.CampaignText) -> dict[str, Any]:
    return {"kind": text.kind, "version": text.version, "text": text.text}
