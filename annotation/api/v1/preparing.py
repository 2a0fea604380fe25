"""What a campaign's workers are told, asked and invited by, by API: texts, control items, invitations."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import instructions, jobs
from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import missing
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, Created, Operation, serves
from annotation.api.v1.addressed import RUNS_CAMPAIGN
from annotation.api.v1.work import layer_is_open_to
from annotation.datasets.layers import MOST_IMAGES_UPDATED_FOR_PAGE, LayerBehind, layer_to_read
from annotation.models import Campaign, Control, Invitation, Job
from annotation.moderation import control_items, discarding
from annotation.protocol.campaign_settings import CampaignError
from annotation.quality import controls
from annotation.selectors.controls import control_item_counts
from annotation.selectors.corpora import check_split
from annotation.workers import invitations
from annotation.workers.invitations import InvitationError

_TAG = "preparing"
_PATH = "campaigns/<slug:name>"
#: Images that control items are drawn from at most, in one call.
_MOST_IMAGES = 500


class CampaignTextShown(serializers.Serializer[Any]):
    """A text of a campaign: of the consent, or the instructions of a kind of question. Version 0 is built
    in."""

    kind = serializers.CharField()
    version = serializers.IntegerField()
    text = serializers.CharField()


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


class ControlCountShown(serializers.Serializer[Any]):
    """Control items in use, of one kind, purpose and answer."""

    kind = serializers.CharField()
    purpose = serializers.ChoiceField(["control", "qualification"])
    answer = serializers.CharField()
    items = serializers.IntegerField()


class ControlItemsAdded(serializers.Serializer[Any]):
    """How many control items were added, were there before, and were passed over since something contradicts
    them."""

    added = serializers.IntegerField()
    there = serializers.IntegerField()
    passed_over = serializers.IntegerField()


class ControlItemRetired(serializers.Serializer[Any]):
    """How many workers' accuracy changed."""

    workers = serializers.IntegerField()


class TextWanted(CallFields):
    """A text to be published, and the version that you read before (0: the built-in one): where there is a
    newer one, nothing is published (412)."""

    kind = NameField(help_text="consent, or a kind of question.")
    version = WholeField()
    text = TextField(max_length=20_000, allow_blank=True)


class InvitationWanted(CallFields):
    """A link to be made."""

    label = TextField(required=False, allow_blank=True, max_length=100)  # type: ignore[assignment]
    uses = WholeField(required=False, min_value=1, max_value=10**6)
    expires_at = serializers.DateTimeField(required=False)
    language = TextField(required=False, allow_blank=True, max_length=20)


class ControlItemsWanted(CallFields):
    """Control items to be made of a layer whose truth is known, of what at least so many workers agree on,
    or, of questions about pairs, of the captions of a split. Say one of `layer`, `kind` and `split`."""

    layer = NameField(required=False)
    images = WholeField(required=False, min_value=1, max_value=_MOST_IMAGES)
    kind = NameField(required=False)
    at_least = WholeField(required=False, min_value=2, max_value=100)
    purpose = serializers.ChoiceField(list(Control.PURPOSES), required=False)
    split = TextField(required=False, max_length=40)


class Retiring(CallFields):
    """Whether the item was wrong itself: then nobody's accuracy counts it any more."""

    wrong = serializers.BooleanField(required=False)


@serves(
    Operation(
        route="texts",
        method=GET,
        path=f"{_PATH}/texts",
        tag=_TAG,
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
    Operation(
        route="texts",
        method=POST,
        path=f"{_PATH}/texts",
        tag=_TAG,
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
    Operation(
        route="invitations",
        method=GET,
        path=f"{_PATH}/invitations",
        tag=_TAG,
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
    Operation(
        route="invitations",
        method=POST,
        path=f"{_PATH}/invitations",
        tag=_TAG,
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
    Operation(
        route="invitation",
        method=DELETE,
        path=f"{_PATH}/invitations/<int:invitation>",
        tag=_TAG,
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
    Operation(
        route="campaign_controls",
        method=GET,
        path=f"{_PATH}/control-items",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        answers=ControlCountShown,
        listed=True,
    )
)
def campaign_controls_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """Count a campaign's control items in use, by kind, purpose and answer."""
    counts = [
        {"kind": kind, "purpose": purpose, "answer": answer, "items": items}
        for (kind, purpose, answer), items in control_item_counts(campaign).items()
    ]
    return call.rows.of_values(counts, _counted_key, dict)


def _counted_key(line: dict[str, Any]) -> str:
    return f"{line['kind']} {line['purpose']} {line['answer']}"


@serves(
    Operation(
        route="campaign_controls",
        method=POST,
        path=f"{_PATH}/control-items",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=ControlItemsWanted,
        answers=ControlItemsAdded,
        refuses=(
            controls.BadItem,
            controls.BadItems,
            control_items.NoGold,
            control_items.CannotPromote,
            LayerBehind,
        ),
        example={"layer": "import", "images": 60},
    )
)
def control_items_add_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Add control items: from a layer, from what workers agree on, or from captions."""
    given, actor = call.data, call.account
    if len({"layer", "kind", "split"} & set(given)) != 1:
        raise controls.BadItem(_("Say what the items are made of: one of “layer”, “kind” and “split”."))
    if "layer" in given:
        if not layer_is_open_to(actor, campaign, given["layer"]):
            raise controls.BadItem(_("Your role covers only this campaign, not the layers of its corpus."))
        layer = layer_to_read(campaign.corpus, given["layer"], most=MOST_IMAGES_UPDATED_FOR_PAGE)
        assert layer is not None  # a name was given
        done = control_items.from_gold(
            campaign=campaign, layer=layer, images=given.get("images", 60), actor=actor
        )
    elif "kind" in given:
        done = control_items.promote(
            campaign=campaign,
            kind=given["kind"],
            at_least=given.get("at_least", 3),
            purpose=given.get("purpose", Control.CONTROL),
            actor=actor,
        )
    else:
        check_split(campaign.corpus, given["split"])
        done = controls.from_split(campaign=campaign, split=given["split"], seed=campaign.seed, actor=actor)
    return {"added": done.added, "there": done.there, "passed_over": len(done.passed_over)}


@serves(
    Operation(
        route="control_item_retire",
        method=POST,
        path=f"{_PATH}/control-items/<int:item>/retire",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        body=Retiring,
        answers=ControlItemRetired,
    )
)
def control_item_retire_call(call: ApiCall, campaign: Campaign, item: int) -> dict[str, Any]:
    """Take a control item out of use. Answers given to it keep counting, unless it was wrong itself."""
    if not Control.objects.filter(campaign=campaign, pk=item, active=True).exists():
        raise missing(_("This campaign has no such control item in use."))
    if call.data.get("wrong", False):
        changed = discarding.disown_control_item(campaign=campaign, control=item, actor=call.account)
        return {"workers": changed}
    controls.retire_control_items(campaign=campaign, controls=[item], actor=call.account)
    return {"workers": 0}


@serves(
    Operation(
        route="layer_refresh",
        method=POST,
        path=f"{_PATH}/layer/refresh",
        tag=_TAG,
        opens=RUNS_CAMPAIGN,
        job=True,
    )
)
def layer_refresh_call(call: ApiCall, campaign: Campaign) -> Job:
    """Bring a campaign's layer up to its answers, as a job."""
    return jobs.enqueue(kind="refresh_layer", campaign=campaign, actor=call.account)


def _text_plain(text: instructions.CampaignText) -> dict[str, Any]:
    return {"kind": text.kind, "version": text.version, "text": text.text}


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
