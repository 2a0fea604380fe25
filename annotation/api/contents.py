"""What the API says, as plain data: a task in hand, the reason why there is none, an offer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest

from annotation import qualification
from annotation.hand_out import Nothing
from annotation.leases import Lease
from annotation.offers import Offer, Today
from annotation.protocol.work import MICROS
from annotation.tasktypes import TASK_TYPES, shown_image
from annotation.web.addresses import picture_address


def moment(at: datetime | None) -> str | None:
    """A time as RFC 3339 has it, in UTC."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None


def task_or_nothing(request: HttpRequest, found: Lease | Nothing) -> dict[str, Any]:
    """What a worker got."""
    if isinstance(found, Nothing):
        return {"nothing": found.code, "text": found.text, "again_at": moment(found.again_at)}
    image = shown_image(found.image)
    return {
        "id": found.id,
        "kind": found.kind,
        "expires_at": moment(found.expires_at),
        "test": found.role == qualification.ROLE,
        "image": {
            "key": image.key,
            "width": image.width,
            "height": image.height,
            "picture": picture_address(request, image.picture) if image.picture else None,
        },
        "captions": [{"text": text, "tokens": words} for text, words in image.captions],
        "mentions": [_mention(name) for name in found.content.get("mentions", ())],
        "boxes": found.content.get("boxes", []),
        "pending": found.content.get("pending"),
        **TASK_TYPES.get(found.kind).told(found.content),
    }


def _mention(name: str) -> dict[str, Any]:
    """The place that a mention's name tells."""
    caption, _colon, span = name.partition(":")
    start, _dash, end = span.partition("-")
    return {"id": name, "caption": int(caption), "start": int(start), "end": int(end)}


def done_today(done: Today) -> dict[str, Any]:
    """What a worker has done today; `pay` in the campaign's currency."""
    return {"answers": done.answers, "seconds": done.seconds, "pay": done.pay / MICROS}


def offer(each: Offer) -> dict[str, Any]:
    """One line of the list of tasks."""
    pay = each.settings.pay
    return {
        "campaign": each.campaign.name,
        "kind": each.kind,
        "title": str(TASK_TYPES.get(each.kind).title),
        "standing": each.reads,
        "items": each.standing.items,
        "test": {"asked": each.test.asked, "answered": each.test.answered} if each.test else None,
        "waiting": each.waiting,
        "more_waiting": each.more,
        "in_hand": each.in_hand,
        "pay": {
            "basis": pay.basis,
            "currency": pay.currency,
            "per_item": pay.per_item.get(each.kind, 0.0),
            "hourly": pay.hourly,
        },
        "today": done_today(each.today),
        "nothing": each.nothing.code if each.nothing else None,
        "text": each.nothing.text if each.nothing else "",
        "again_at": moment(each.nothing.again_at) if each.nothing else None,
    }
