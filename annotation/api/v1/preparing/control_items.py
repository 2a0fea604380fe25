"""Control items by API: counted, one by one, added from what is known or by hand, taken out of use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import missing
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.api.v1.addressed import CAMPAIGN_PATH, PREPARING_TAG, RUNS_CAMPAIGN
from annotation.api.v1.work import layer_is_open_to
from annotation.datasets.layers import MOST_IMAGES_UPDATED_FOR_PAGE, LayerBehind, layer_to_read
from annotation.models import Campaign, Control
from annotation.moderation import control_items, discarding
from annotation.protocol import questions as q
from annotation.protocol.kinds import draws
from annotation.protocol.terms import Box
from annotation.quality import controls
from annotation.selectors.controls import answered_controls, control_item_counts
from annotation.selectors.corpora import check_split

_ITEMS = f"{CAMPAIGN_PATH}/control-items"
#: Images that control items are drawn from at most, in one call, and items that one call adds by hand.
_MOST_IMAGES, _MOST_ITEMS = 500, 500
#: What control items are made of, of which a call says one.
_SOURCES = ("layer", "kind", "split", "items")


class BoxField(serializers.ListField):
    """A box in pixels: left, top, right, bottom; from 1, both edges included."""

    def __init__(self, **about: Any) -> None:
        corner = serializers.IntegerField(min_value=1, max_value=10**6)
        super().__init__(**{"child": corner, "min_length": 4, "max_length": 4, **about})


class ControlCountShown(serializers.Serializer[Any]):
    """Control items in use, of one kind, purpose and answer."""

    kind = serializers.CharField()
    purpose = serializers.ChoiceField(["control", "qualification"])
    answer = serializers.CharField()
    items = serializers.IntegerField()


class ControlItemShown(serializers.Serializer[Any]):
    """A control item: what it asks about which image, its gold answer, and how many of the answers given to
    it were right."""

    number = serializers.IntegerField()
    kind = serializers.CharField()
    purpose = serializers.ChoiceField(["control", "qualification"])
    image = serializers.CharField()
    mentions = serializers.ListField(child=serializers.CharField(), help_text="Ids: caption:start-end.")
    answer = serializers.CharField(help_text="Its word; of a drawing, drawn or none.")
    drawn = serializers.ListField(child=BoxField(), help_text="Of a drawing, the boxes still to be drawn.")
    source = serializers.CharField()  # type: ignore[assignment]
    in_use = serializers.BooleanField()
    right = serializers.IntegerField()
    answers = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class ControlItemsAdded(serializers.Serializer[Any]):
    """How many control items were added, were there before, and were passed over since something contradicts
    them."""

    added = serializers.IntegerField()
    there = serializers.IntegerField()
    passed_over = serializers.IntegerField()


class ControlItemRetired(serializers.Serializer[Any]):
    """How many workers' accuracy changed."""

    workers = serializers.IntegerField()


class ControlItemFilter(CallFields):
    """Which control items."""

    kind = NameField(required=False)
    purpose = serializers.ChoiceField(list(Control.PURPOSES), required=False)
    retired = serializers.BooleanField(
        required=False, help_text="true: those that were retired; without it, those in use."
    )


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
    """Control items to be made of a layer whose truth is known, of what at least so many workers agree on,
    of questions about pairs, of the captions of a split; or those that you made by hand, all or none. Say
    one of `layer`, `kind`, `split` and `items`."""

    layer = NameField(required=False)
    images = WholeField(required=False, min_value=1, max_value=_MOST_IMAGES)
    kind = NameField(required=False)
    at_least = WholeField(required=False, min_value=2, max_value=100)
    purpose = serializers.ChoiceField(list(Control.PURPOSES), required=False)
    split = TextField(required=False, max_length=40)
    items = serializers.ListField(child=WrittenItem(), required=False, min_length=1, max_length=_MOST_ITEMS)


class Retiring(CallFields):
    """Whether the item was wrong itself: then nobody's accuracy counts it any more."""

    wrong = serializers.BooleanField(required=False)


@serves(
    ApiRoute(
        route="campaign_controls",
        method=GET,
        path=_ITEMS,
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        asked=ControlItemFilter,
        answers=ControlItemShown,
        listed=True,
    )
)
def campaign_controls_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """List a campaign's control items, the newest first: those in use, or those that were retired."""
    found = Control.objects.filter(campaign=campaign, active=not call.asked.get("retired", False))
    found = found.filter(**{name: call.asked[name] for name in ("kind", "purpose") if name in call.asked})
    page = call.rows.of_rows(found.select_related("image"), "-pk", lambda row: row)
    told = answered_controls(row.pk for row in page.results)
    return page._replace(results=[_item_plain(row, *told.get(row.pk, (0, 0))) for row in page.results])


@serves(
    ApiRoute(
        route="campaign_control_counts",
        method=GET,
        path=f"{_ITEMS}/counts",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        answers=ControlCountShown,
        listed=True,
    )
)
def campaign_control_counts_list_call(call: ApiCall, campaign: Campaign) -> CursorPage:
    """Count a campaign's control items in use, by kind, purpose and answer."""
    counts = [
        {"kind": kind, "purpose": purpose, "answer": answer, "items": items}
        for (kind, purpose, answer), items in control_item_counts(campaign).items()
    ]
    return call.rows.of_values(counts, _counted_key, dict)


def _counted_key(line: dict[str, Any]) -> str:
    return f"{line['kind']} {line['purpose']} {line['answer']}"


@serves(
    ApiRoute(
        route="campaign_controls",
        method=POST,
        path=_ITEMS,
        tag=PREPARING_TAG,
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
    """Add control items: from a layer, from what workers agree on, from captions, or made by hand."""
    given, actor = call.data, call.account
    if len(set(_SOURCES) & set(given)) != 1:
        raise controls.BadItem(
            _("Say what the items are made of: one of “layer”, “kind”, “split” and “items”.")
        )
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
    elif "items" in given:
        done = _added_by_hand(call, campaign)
    else:
        check_split(campaign.corpus, given["split"])
        done = controls.from_split(campaign=campaign, split=given["split"], seed=campaign.seed, actor=actor)
    return {"added": done.added, "there": done.there, "passed_over": len(done.passed_over)}


@serves(
    ApiRoute(
        route="control_item_retire",
        method=POST,
        path=f"{_ITEMS}/<int:item>/retire",
        tag=PREPARING_TAG,
        opens=RUNS_CAMPAIGN,
        body=Retiring,
        answers=ControlItemRetired,
        example={"wrong": True},
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


def _item_plain(row: Control, right: int, answers: int) -> dict[str, Any]:
    drawing = draws(row.kind)
    return {
        "number": row.pk,
        "kind": row.kind,
        "purpose": row.purpose,
        "image": row.image.key,
        "mentions": row.content.get("mentions", []),
        "answer": ("drawn" if row.known else "none") if drawing else row.stratum,
        "drawn": row.known if drawing else [],
        "source": row.source,
        "in_use": row.active,
        "right": right,
        "answers": answers,
        "created_at": json_time(row.created_at),
    }
