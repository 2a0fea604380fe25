"""What the API says, as plain data: a task in hand, the reason why there is none, an offer."""

from datetime import datetime
from functools import partial
from typing import cast

from django.http import HttpRequest

from annotation.api.worker_shapes import TaskMention, WorkerNothing, WorkerOffer, WorkerTask, WorkerToday
from annotation.protocol.contents import corners
from annotation.protocol.terms import Mention
from annotation.protocol.work import MICROS
from annotation.quality import qualification
from annotation.queue.available_tasks import AvailableTask, Today
from annotation.queue.dispatch import NoTask
from annotation.queue.leases import Lease
from annotation.task_types.base import TASK_TYPES, TaskImage
from annotation.task_types.shown import ShownImage, shown_image
from annotation.workers.picture_addresses import signed_picture_address


def json_second(at: datetime | None) -> str | None:
    """A time as RFC 3339 has it, in UTC, to the second: parts of one differ between questions and control
    items, since these take other work to find and to grade."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z") if at else None


def nothing_told(found: NoTask) -> WorkerNothing:
    """Why there is no task."""
    return {"nothing": found.code, "text": found.text, "again_at": json_second(found.again_at)}


def task_or_nothing(request: HttpRequest, found: Lease | NoTask) -> WorkerTask | WorkerNothing:
    """What a worker got: of a task what its page shows, and no more.

    Whatever else was told of an image or a campaign could tell a control item from the others.
    """
    if isinstance(found, NoTask):
        return nothing_told(found)
    image, type = shown_image(found.image), TASK_TYPES.get(found.kind)
    page = type.page(found.content, image)
    task: WorkerTask = {
        "id": found.id,
        "kind": found.kind,
        "expires_at": json_second(found.expires_at),
        "test": found.role == qualification.QUALIFICATION_ROLE,
        "image": _image(request, image),
        "captions": [
            {
                "number": number,
                "text": image.captions[number].text,
                "tokens": list(image.captions[number].words),
            }
            for number in page.captions
        ],
        "mentions": [_mention(each.mention) for each in page.pointed],
        "boxes": [corners(box) for box in page.boxes],
        "pending": corners(page.pending) if page.pending else None,
    }
    return cast(WorkerTask, {**task, **type.told(found.content, partial(_image, request))})


def _image(request: HttpRequest, image: ShownImage) -> TaskImage:
    return {
        "name": image.name,
        "width": image.width,
        "height": image.height,
        "picture": signed_picture_address(request, image.picture) if image.picture else None,
    }


def _mention(mention: Mention) -> TaskMention:
    """A mention's place, under its name."""
    return {"id": mention.id, "caption": mention.caption, "start": mention.start, "end": mention.end}


def done_today(done: Today) -> WorkerToday:
    """What a worker has done today; `pay` in the campaign's currency."""
    return {"answers": done.answers, "seconds": done.seconds, "pay": done.pay / MICROS}


def offer(each: AvailableTask) -> WorkerOffer:
    """One line of the list of tasks."""
    pay = each.settings.pay
    return {
        "campaign": each.campaign.name,
        "kind": each.kind,
        "title": str(TASK_TYPES.get(each.kind).title),
        "trust": each.reads,
        "items": each.trust.items,
        "test": {"asked": each.test.asked, "answered": each.test.answered} if each.test else None,
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
        "again_at": json_second(each.nothing.again_at) if each.nothing else None,
    }
