"""How unusual a control item would look to a worker, compared with the task that it replaces.

Tasks of one image are close together, so that a worker sees an image repeatedly; an image from nowhere would
reveal a control item. A control item is less unusual the more its image has been seen like that of the
replaced task, as often and as long ago, and the more it looks like that task: as many boxes, phrases at the
same positions of their captions. Control items have all answers equally often, and questions do not; without
the looks, the mixture would reveal them. An image of the worker's own test is not one of the campaign's:
items about it come last.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import log1p
from typing import Any, NamedTuple

from django.db import connection

from annotation.common import database
from annotation.models import Assignment, Control
from annotation.protocol.kinds import is_page

#: Number of a worker's last assignments that are considered.
LOOK_BACK = 300
#: More unusual than anything else: an image of the worker's own test.
OF_A_TEST = 1000.0


class Met(NamedTuple):
    """How often a worker has seen an image, and how many items ago the last time."""

    times: int = 0
    ago: int = LOOK_BACK


NEVER_MET = Met()
#: Numbers that describe the looks of a question; and their weight against what was seen.
Looks = tuple[float, ...]
WEIGHT = 0.5
#: What a worker has seen: by image; and the images of their tests.
History = tuple[Mapping[int, Met], frozenset[int]]


def history(*, worker: int, campaign: int, kind: str, but: int = 0) -> History:
    """Return what a worker has seen lately of each image of a campaign, of all kinds; on pages, of pages.

    The assignment `but` is skipped: the page that a control image is to be put on.
    """
    rows = _on_pages(worker, campaign, but) if is_page(kind) else _alone(worker, campaign)
    met: dict[int, Met] = {}
    for ago, (image, role) in enumerate(rows):
        if role != Control.QUALIFICATION:
            met[image] = Met(met[image].times + 1, met[image].ago) if image in met else Met(1, ago)
    return met, frozenset(image for image, role in rows if role == Control.QUALIFICATION)


def strangeness(
    past: History,
    *,
    image: int,
    content: Mapping[str, Any],
    campaign: int,
    kind: str,
    revision: int,
) -> Callable[[str], float]:
    """Return a function from a control item's id to how unusual it would look to a worker who expects a task
    about `image` with `content`."""
    met, tested = past
    expected, subject_looks = met.get(image, NEVER_MET), looks(content)
    known = _known(campaign, kind, revision)

    def strange(control: str) -> float:
        if control not in known or known[control][0] in tested:  # retired a moment ago, or of a test
            return OF_A_TEST
        control_image, seen = known[control]
        return _apart(met.get(control_image, NEVER_MET), expected) + WEIGHT * _unlike(seen, subject_looks)

    return strange


def looks(content: Mapping[str, Any]) -> Looks:
    """Return what can be measured of a question's content without knowing its meaning; 1 is a difference that
    anybody would notice."""
    spans = [
        [int(edge) for edge in name.partition(":")[2].split("-")] for name in content.get("mentions", ())
    ]
    starts = sum(start for start, _ in spans) / max(1, len(spans))
    words = sum(end - start for start, end in spans) / max(1, len(spans))
    edges = [edge / 150 for edge in content.get("pending") or ()]
    return (float(len(spans)), starts / 4, words / 2, float(len(content.get("boxes", ()))), *edges)


@lru_cache(maxsize=256)
def _known(campaign: int, kind: str, revision: int) -> Mapping[str, tuple[int, Looks]]:
    """Return the image and the looks of each control item of a kind, by the item's id; cached like
    `pools.control_pool`."""
    rows = Control.objects.filter(campaign=campaign, kind=kind, purpose=Control.CONTROL, active=True)
    return {
        str(control): (image, looks(content))
        for control, image, content in rows.values_list("id", "image", "content")
    }


def _unlike(looks: Looks, other_looks: Looks) -> float:
    return sum(abs(a - b) for a, b in zip(looks, other_looks, strict=False))


def _apart(a: Met, b: Met) -> float:
    return abs(log1p(a.times) - log1p(b.times)) + abs(log1p(a.ago) - log1p(b.ago)) / 2


def _alone(worker: int, campaign: int) -> list[tuple[int, str]]:
    """Return the image and the role of a worker's last assignments, the newest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT COALESCE(k.image_id, o.image_id), l.role FROM (
                    SELECT a.id, a.role, a.task_id, a.control_id FROM annotation_assignment a
                    WHERE a.campaign_id = %s AND a.worker_id = %s AND a.state <> '{Assignment.PLANNED}'
                    ORDER BY a.id DESC LIMIT %s) l
                LEFT JOIN annotation_control k ON k.id = l.control_id
                LEFT JOIN annotation_task t ON t.id = l.task_id
                LEFT JOIN annotation_openimage o ON o.id = t.image_id ORDER BY l.id DESC""",
            [campaign, worker, LOOK_BACK],
        )
        return list(cursor.fetchall())


def _on_pages(worker: int, campaign: int, but: int) -> list[tuple[int, str]]:
    """Return the images on a worker's last pages, the newest page first, each with the page's role."""
    of_task: dict[int, list[int]] = defaultdict(list)
    put_on: dict[int, list[int]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT a.id, a.role, a.task_id, k.image_id FROM annotation_assignment a
                LEFT JOIN annotation_control k ON k.id = a.control_id
                WHERE a.campaign_id = %s AND a.worker_id = %s AND a.state <> '{Assignment.PLANNED}'
                    AND a.id <> %s ORDER BY a.id DESC LIMIT %s""",
            [campaign, worker, but, LOOK_BACK],
        )
        pages = cursor.fetchall()
        if tasks := [task for _, _, task, _ in pages if task]:
            cursor.execute(
                f"""SELECT i.task_id, i.content FROM annotation_item i
                    WHERE i.task_id IN ({database.parameters(tasks)})""",
                tasks,
            )
            for task, content in cursor.fetchall():
                of_task[task].append(json.loads(content)["image"])
        if pages:
            cursor.execute(
                f"""SELECT p.assignment_id, k.image_id FROM annotation_pagecontrol p
                    JOIN annotation_control k ON k.id = p.control_id
                    WHERE p.assignment_id IN ({database.parameters(pages)})""",
                [page for page, *_ in pages],
            )
            for page, image in cursor.fetchall():
                put_on[page].append(image)
    images: list[tuple[int, str]] = []
    for page, role, task, image in pages:
        images_of_task = [*of_task.get(task or 0, ()), *put_on[page]]
        images += [
            (displayed_image, role) for displayed_image in images_of_task or ([image] if image else [])
        ]
    return images[:LOOK_BACK]
