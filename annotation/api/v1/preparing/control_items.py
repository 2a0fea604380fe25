"""Control items by API: counted, one by one, added from what is known or by hand, taken out of use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.rest.fields import CallFields, NameField, TextField
from annotation.api.rest.operations import POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import PREPARING_TAG, RUNS_CAMPAIGN
from annotation.models import Campaign, Control
from annotation.protocol import questions as q
from annotation.protocol.kinds import draws
from annotation.protocol.terms import Box
from annotation.quality import controls

#: Items that one call adds by hand.
_MOST_ITEMS = 500


class BoxField(serializers.ListField):
    """A box in pixels: left, top, right, bottom; from 1, both edges included."""

    def __init__(self, **about: Any) -> None:
        corner = serializers.IntegerField(min_value=1, max_value=10**6)
        super().__init__(**{"child": corner, "min_length": 4, "max_length": 4, **about})


class ControlItemsAdded(serializers.Serializer[Any]):
    """How many control items were added, were there before, and were passed over since something contradicts
    them."""

    added = serializers.IntegerField()
    there = serializers.IntegerField()
    passed_over = serializers.IntegerField()


class WrittenItem(CallFields):
    """A control item that you made by hand: a question about some mentions of an image, and its gold answer:
    a word, or for drawing the boxes still to be drawn. `boxes` are those accepted so far, of kinds that show
    them; `pending` is the one whose quality is asked."""

    kind = NameField()
    purpose = serializers.ChoiceField(list(Control.PURPOSES))
    image = TextField(max_length=255)
    mentions = serializers.ListField(child=TextField(max_length=40), min_length=1, max_length=200)
    answer = TextField(required=False, max_length=40)
    drawn = serializers.ListField(child=BoxField(), required=False, max_length=200)
    boxes = serializers.ListField(child=BoxField(), required=False, max_length=200)
    pending = BoxField(required=False)
    explanation = TextField(required=False, allow_blank=True, max_length=2000)


class ControlItemsWanted(CallFields):
    """Control items that you made by hand, all or none."""

    items = serializers.ListField(child=WrittenItem(), min_length=1, max_length=_MOST_ITEMS)


@serves(
    ApiRoute(
        route="campaign_controls",
        method=POST,
        path="campaigns/<slug:campaign>/control-items",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        body=ControlItemsWanted,
        answers=ControlItemsAdded,
        refuses=(controls.BadItem, controls.BadItems),
        example={
            "items": [
                {
                    "kind": q.QUESTIONS[0],
                    "purpose": "control",
                    "image": "scene-1",
                    "mentions": ["0:0-2", "1:0-2"],
                    "answer": "yes",
                }
            ]
        },
    )
)
def control_items_add_call(call: ApiCall, campaign: Campaign) -> dict[str, Any]:
    """Add control items that were made by hand."""
    done = _added_by_hand(call, campaign)
    return {"added": done.added, "there": done.there, "passed_over": len(done.passed_over)}


def _added_by_hand(call: ApiCall, campaign: Campaign) -> controls.Added:
    """Add the items that the call wrote out. Raises BadItem, which names each that cannot be."""
    if campaign.kinds != q.QUESTIONS:
        raise controls.BadItem(_("Control items of this campaign cannot be added by hand."))
    items: list[tuple[int, controls.ControlItem]] = []
    problems: list[tuple[int, str]] = []
    for number, given in enumerate(call.data["items"], 1):
        try:
            items.append((number, _written(given)))
        except ValueError as error:
            problems.append((number, str(error)))
    try:
        return controls.add_control_items(
            campaign=campaign, items=items, source="api", actor=call.account, problems=problems
        )
    except controls.BadItems as error:
        told = (_("item %(n)d: %(problem)s") % {"n": n, "problem": what} for n, what in error.problems)
        raise controls.BadItem("\n".join(told)) from error


def _written(given: Mapping[str, Any]) -> controls.ControlItem:
    """An item as it was written out. Raises ValueError on what is no box."""
    kind = given["kind"]
    drawn, pending = _boxes(given.get("drawn", ())), given.get("pending")
    return controls.ControlItem(
        kind=kind,
        purpose=given["purpose"],
        image=given["image"],
        mentions=tuple(given["mentions"]),
        known=drawn if draws(kind) else given.get("answer", ""),
        boxes=_boxes(given.get("boxes", ())),
        pending=Box(*pending) if pending else None,
        explanation=given.get("explanation", ""),
    )


def _boxes(given: Any) -> tuple[Box, ...]:
    return tuple(Box(*corners) for corners in given)
