"""Reviewing by API: chains that wait, all that is behind an image, rulings, and what workers reported."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import missing
from annotation.api.rest.fields import CallFields, PlainField, TextField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, Created, serves
from annotation.api.v1.addressed import READS_CAMPAIGN
from annotation.models import Campaign, OpenImage
from annotation.moderation import control_items, rulings
from annotation.moderation.rulings import CannotRule
from annotation.protocol.contents import BadPlainData, ruling_from
from annotation.selectors import review

_TAG = "reviewing"
_PATH = "campaigns/<slug:name>/review"
_IMAGE = f"{_PATH}/images/<str:key>"


class WaitingChainShown(serializers.Serializer[Any]):
    """A chain that waits: its number in the image from 1, the ids of its mentions, and why."""

    number = serializers.IntegerField()
    mentions = serializers.ListField(child=serializers.CharField())
    title = serializers.CharField()
    reason = serializers.CharField()
    boxes = serializers.IntegerField()


class WaitingImageShown(serializers.Serializer[Any]):
    """An image with chains that wait for a reviewer."""

    image = serializers.CharField()
    changed_at = serializers.DateTimeField()
    chains = WaitingChainShown(many=True)


class RulingShown(serializers.Serializer[Any]):
    """A ruling: an assertion about mentions, in force until it is withdrawn."""

    number = serializers.IntegerField()
    ruling = PlainField()
    comment = serializers.CharField()
    made_by = serializers.CharField(allow_null=True)
    made_at = serializers.DateTimeField()
    withdrawn_at = serializers.DateTimeField(allow_null=True)


class ReviewedChainShown(serializers.Serializer[Any]):
    """A chain as the answers make it."""

    mentions = serializers.ListField(child=serializers.CharField())
    title = serializers.CharField()
    stage = serializers.CharField()


class ReviewedImageShown(serializers.Serializer[Any]):
    """An image of a campaign: its chains, rulings, and how many judgments are behind it."""

    image = serializers.CharField()
    complete = serializers.BooleanField()
    version = serializers.IntegerField()
    judgments = serializers.IntegerField()
    mentions = serializers.DictField(
        child=serializers.CharField(), help_text="The words of each mention, by its id."
    )
    chains = ReviewedChainShown(many=True)
    rulings = RulingShown(many=True)


class FlagShown(serializers.Serializer[Any]):
    """What a worker reported instead of answering."""

    number = serializers.IntegerField()
    image = serializers.CharField()
    kind = serializers.CharField()
    flag = serializers.CharField()
    comment = serializers.CharField()
    words = serializers.ListField(child=serializers.CharField())
    worker = serializers.CharField()
    control_item = serializers.BooleanField()
    at = serializers.DateTimeField()
    handled_at = serializers.DateTimeField(allow_null=True)


class RulingMade(serializers.Serializer[Any]):
    """A ruling that was made or withdrawn: its number, chains of the image that still wait, and control
    items that it contradicts and that were retired."""

    number = serializers.IntegerField()
    waiting = serializers.IntegerField()
    retired = serializers.ListField(child=serializers.CharField())


class Handled(serializers.Serializer[Any]):
    """Whether the report was open until now."""

    changed = serializers.BooleanField()


class WaitingFilter(CallFields):
    """Why they wait."""

    reason = serializers.ChoiceField(review.REASONS, required=False)


class FlagFilter(CallFields):
    """Which reports."""

    handled = serializers.BooleanField(required=False, help_text="Those that were handled too.")


class RulingWanted(CallFields):
    """A ruling about mentions, by their ids. `ruling` is one of

    {"kind": "partition", "groups": [[id, ...], ...]}, {"kind": "keep_apart", "a": id, "b": id},
    {"kind": "boxes", "mentions": [id, ...], "boxes": [[left, top, right, bottom], ...]},
    {"kind": "closure", "mentions": [id, ...], "as": "scene", "none" or "excluded"},
    {"kind": "resume", "mentions": [id, ...]}.

    `seen` are chains, as you saw them: where one is not so any more, nothing is ruled.
    """

    ruling = PlainField()
    seen = serializers.ListField(
        child=serializers.ListField(child=TextField(max_length=100), max_length=200),
        required=False,
        max_length=200,
    )
    comment = TextField(required=False, allow_blank=True, max_length=1000)


_REFUSES = (CannotRule, BadPlainData)


@serves(
    ApiRoute(
        route="review",
        method=GET,
        path=_PATH,
        tag=_TAG,
        opens=READS_CAMPAIGN,
        asked=WaitingFilter,
        answers=WaitingImageShown,
        listed=True,
    )
)
def review_queue_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List the images with chains that wait for a reviewer, the last changed first."""
    rows = call.rows
    found = review.review_queue(
        campaign=campaign.pk, reason=call.asked.get("reason", ""), after=rows.mark or "", size=rows.limit
    )
    plain = [
        {
            "image": each.image.key,
            "changed_at": json_time(each.changed_at),
            "chains": [
                {
                    "number": chain.number,
                    "mentions": list(chain.mentions),
                    "title": chain.title,
                    "reason": chain.reason,
                    "boxes": chain.boxes,
                }
                for chain in each.chains
            ],
        }
        for each in found.images
    ]
    return rows.page(plain, found.after or None)


@serves(
    ApiRoute(
        route="review_image",
        method=GET,
        path=_IMAGE,
        tag=_TAG,
        opens=READS_CAMPAIGN,
        answers=ReviewedImageShown,
    )
)
def review_image_show_call(call: ApiCall, campaign: Campaign, key: str) -> dict[str, Any]:
    """Show an open image of a campaign: its chains as the answers make them, and its rulings."""
    try:
        found = review.image_under_review(campaign=campaign.pk, key=key)
    except review.NoSuchImage:
        raise _no_image(campaign, key) from None
    return {
        "image": key,
        "complete": found.open.complete,
        "version": found.open.version,
        "judgments": len(found.said),
        "mentions": {name: mention.text for name, mention in found.mentions.items()},
        "chains": [
            {
                "mentions": list(chain["m"]),
                "title": review.chain_title(chain, found.mentions),
                "stage": chain["s"],
            }
            for chain in found.chains
        ],
        "rulings": [
            {
                "number": each.row.pk,
                "ruling": each.row.content,
                "comment": each.row.comment,
                "made_by": each.row.made_by.get_username() if each.row.made_by is not None else None,
                "made_at": json_time(each.row.made_at),
                "withdrawn_at": json_time(each.row.withdrawn_at),
            }
            for each in found.rulings
        ],
    }


@serves(
    ApiRoute(
        route="rulings",
        method=POST,
        path=f"{_IMAGE}/rulings",
        tag=_TAG,
        opens=READS_CAMPAIGN,
        body=RulingWanted,
        answers=RulingMade,
        makes=True,
        refuses=_REFUSES,
        example={"ruling": {"kind": "closure", "mentions": ["0:0-2"], "as": "none"}},
    )
)
def ruling_make_call(call: ApiCall, campaign: Campaign, key: str) -> Created:
    """Rule about an image; it is computed anew with the ruling."""
    row = _open(campaign, key)
    done = rulings.make_ruling(
        image=row.pk,
        ruling=ruling_from(call.data["ruling"]),
        seen=call.data.get("seen", []),
        comment=call.data.get("comment", ""),
        actor=call.account,
    )
    return Created(_ruled(done), reverse("v1_review_image", args=[campaign.name, key]))


@serves(
    ApiRoute(
        route="ruling",
        method=DELETE,
        path=f"{_PATH}/rulings/<int:ruling>",
        tag=_TAG,
        opens=READS_CAMPAIGN,
        answers=RulingMade,
        refuses=_REFUSES,
    )
)
def ruling_withdraw_call(call: ApiCall, campaign: Campaign, ruling: int) -> dict[str, Any]:
    """Withdraw a ruling: the workers' answers decide again."""
    return _ruled(rulings.withdraw_ruling(campaign=campaign, ruling=ruling, actor=call.account))


@serves(
    ApiRoute(
        route="flags",
        method=GET,
        path="campaigns/<slug:name>/flags",
        tag=_TAG,
        opens=READS_CAMPAIGN,
        asked=FlagFilter,
        answers=FlagShown,
        listed=True,
    )
)
def flags_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List what workers reported instead of answering, the newest first."""
    rows = call.rows
    found, before = review.worker_reports(
        campaign=campaign.pk,
        unresolved=not call.asked.get("handled", False),
        before=rows.mark,
        size=rows.limit,
    )
    plain = [
        {
            "number": each.flag.pk,
            "image": each.image.key,
            "kind": each.kind,
            "flag": each.flag.judgment.flag,
            "comment": each.flag.comment,
            "words": list(each.words),
            "worker": each.flag.judgment.worker.pseudonym,
            "control_item": each.known_item,
            "at": json_time(each.flag.judgment.created_at),
            "handled_at": json_time(each.flag.resolved_at),
        }
        for each in found
    ]
    return rows.page(plain, before)


@serves(
    ApiRoute(
        route="flag_resolve",
        method=POST,
        path="campaigns/<slug:name>/flags/<int:flag>/resolve",
        tag=_TAG,
        opens=READS_CAMPAIGN,
        answers=Handled,
        refuses=_REFUSES,
    )
)
def flag_resolve_call(call: ApiCall, campaign: Campaign, flag: int) -> dict[str, Any]:
    """Mark what a worker reported as handled."""
    return {"changed": rulings.resolve_flag(campaign=campaign, flag=flag, actor=call.account)}


def _ruled(done: rulings.Ruled) -> dict[str, Any]:
    waiting = sum(chain.stage == "REVIEW" for chain in done.state.chains)
    retired = list(map(str, control_items.names_of_items(done.retired))) if done.retired else []
    return {"number": done.ruling.pk, "waiting": waiting, "retired": retired}


def _open(campaign: Campaign, key: str) -> OpenImage:
    try:
        return review.open_image(campaign=campaign.pk, key=key)
    except review.NoSuchImage:
        raise _no_image(campaign, key) from None


def _no_image(campaign: Campaign, key: str) -> Exception:
    return missing(
        _("Campaign “%(campaign)s” has no open image “%(key)s”.") % {"campaign": campaign.name, "key": key}
    )
