"""Responses of the API as plain data: a leased task, the reason why there is none, an available task."""

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
from annotation.task_types.displayed import DisplayedImage, displayed_image
from annotation.workers.picture_addresses import signed_picture_address


def json_second(at: datetime | None) -> str | None:
    """Return a time in RFC 3339, in UTC, to the second: fractions differ between questions and control items,
    since these need different work to select and to grade."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z") if at else None


def no_task_answer(reason: NoTask) -> WorkerNothing:
    """Return why there is no task."""
    return {"nothing": reason.code, "text": reason.text, "again_at": json_second(reason.again_at)}


def task_or_nothing(request: HttpRequest, result: Lease | NoTask) -> WorkerTask | WorkerNothing:
    """Return a worker's task with what its page shows, and no more, or why there is none.

    Any other field of an image or a campaign could distinguish a control item from the others.
    """
    if isinstance(result, NoTask):
        return no_task_answer(result)
    image, type = displayed_image(result.image), TASK_TYPES.get(result.kind)
    page = type.page(result.content, image)
    task: WorkerTask = {
        "id": result.id,
        "kind": result.kind,
        "expires_at": json_second(result.expires_at),
        "test": result.role == qualification.QUALIFICATION_ROLE,
        "image": _image(request, image),
        "captions": [
            {
                "number": number,
                "text": image.captions[number].text,
                "tokens": list(image.captions[number].words),
            }
            for number in page.captions
        ],
        "mentions": [_mention(span.mention) for span in page.pointed],
        "boxes": [corners(box) for box in page.boxes],
        "pending": corners(page.pending) if page.pending else None,
    }
    return cast(WorkerTask, {**task, **type.api_content(result.content, partial(_image, request))})


def _image(request: HttpRequest, image: DisplayedImage) -> TaskImage:
    return {
        "name": image.name,
        "width": image.width,
        "height": image.height,
        "picture": signed_picture_address(request, image.picture) if image.picture else None,
    }


def _mention(mention: Mention) -> TaskMention:
    """Return a mention's position and its id."""
    return {"id": mention.id, "caption": mention.caption, "start": mention.start, "end": mention.end}


def done_today(done: Today) -> WorkerToday:
    """Return a worker's work today; `pay` in the campaign's currency."""
    return {"answers": done.answers, "seconds": done.seconds, "pay": done.pay / MICROS}


def offer(task: AvailableTask) -> WorkerOffer:
    """Return one line of the list of tasks."""
    pay = task.settings.pay
    return {
        "campaign": task.campaign.name,
        "kind": task.kind,
        "title": str(TASK_TYPES.get(task.kind).title),
        "trust": task.reads,
        "items": task.trust.items,
        "test": {"items": task.test.items, "answered": task.test.answered} if task.test else None,
        "in_hand": task.in_hand,
        "pay": {
            "basis": pay.basis,
            "currency": pay.currency,
            "per_item": pay.per_item.get(task.kind, 0.0),
            "hourly": pay.hourly,
        },
        "today": done_today(task.today),
        "nothing": task.nothing.code if task.nothing else None,
        "text": task.nothing.text if task.nothing else "",
        "again_at": json_second(task.nothing.again_at) if task.nothing else None,
    }
