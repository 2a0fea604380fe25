"""Invitations to a campaign by API; and its layer."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import jobs
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import missing
from annotation.api.rest.fields import CallFields, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, Created, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, PREPARING_TAG, RUNS_CAMPAIGN
from annotation.models import Campaign, Invitation, Job
from annotation.workers import invitations
from annotation.workers.invitations import InvitationError


class InvitationShown(serializers.Serializer[Any]):
    """A link that makes whoever opens it a worker of the campaign; `over` says why it lets in nobody any
    more."""

    number = serializers.IntegerField()
    label = serializers.CharField()  # type: ignore[assignment]
    address = serializers.CharField()
    uses = serializers.IntegerField(allow_null=True, help_text="How many may come; null for any number.")
    used = serializers.IntegerField()
    expires_at = serializers.DateTimeField(allow_null=True)
    over = serializers.CharField()
    created_at = serializers.DateTimeField()


class InvitationWanted(CallFields):
    """A link to be made."""

    label = TextField(required=False, allow_blank=True, max_length=100)  # type: ignore[assignment]
    uses = WholeField(required=False, min_value=1, max_value=10**6)
    expires_at = serializers.DateTimeField(required=False)
    language = TextField(required=False, allow_blank=True, max_length=20)


@serves(
    ApiRoute(
        route="invitations",
        method=GET,
        path=f"{CAMPAIGN_PATH}/invitations",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        answers=InvitationShown,
        listed=True,
    )
)
def invitations_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List a campaign's invitation links, the newest first."""
    found = Invitation.objects.filter(campaign=campaign).select_related("campaign")
    return call.rows.of_rows(found, "-pk", lambda row: _invitation_plain(call, row))


@serves(
    ApiRoute(
        route="invitations",
        method=POST,
        path=f"{CAMPAIGN_PATH}/invitations",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        body=InvitationWanted,
        makes=True,
        answers=InvitationShown,
        refuses=(InvitationError,),
        example={"label": "class of 2026", "uses": 30},
    )
)
def invitation_make_call(call: ApiCall, campaign: Campaign) -> Created:
    """Make an invitation link."""
    made = invitations.make_invitation(
        campaign=campaign,
        label=call.data.get("label", ""),
        uses=call.data.get("uses"),
        expires_at=call.data.get("expires_at"),
        language=call.data.get("language", ""),
        actor=call.account,
    )
    return Created(_invitation_plain(call, made), reverse("v1_invitations", args=[campaign.name]))


@serves(
    ApiRoute(
        route="invitation",
        method=DELETE,
        path=f"{CAMPAIGN_PATH}/invitations/<int:invitation>",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
    )
)
def invitation_revoke_call(call: ApiCall, campaign: Campaign, invitation: int) -> None:
    """Revoke an invitation link; who came by it stays."""
    found = Invitation.objects.select_related("campaign").filter(campaign=campaign, pk=invitation).first()
    if found is None:
        raise missing(_("This campaign has no such invitation."))
    invitations.revoke_invitation(invitation=found, actor=call.account)


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


def _invitation_plain(call: ApiCall, row: Invitation) -> dict[str, Any]:
    token = invitations.invitation_token(row)
    return {
        "number": row.pk,
        "label": row.label,
        "address": call.request.build_absolute_uri(reverse("invite", args=[token])),
        "uses": row.uses,
        "used": row.used,
        "expires_at": json_time(row.expires_at),
        "over": invitations.why_over(row),
        "created_at": json_time(row.created_at),
    }
