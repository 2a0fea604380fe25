"""How unusual a control item would look among the tasks that a worker sees.

What can be seen of an item is measured: its picture's size, its captions, the phrases marked in them, its
boxes; and how often its picture was seen before, and how long ago, in all kinds and in its own. A worker's
control items should have these numbers as often as their tasks have. To take the item most like one task
would not do that: ordinary items are like most tasks, and would come again and again. So an item is the less
unusual the nearer it is to the worker's tasks, including the one that it replaces, and the further from their
earlier control items: chosen one after another, control items approach the distribution of tasks in each
number (their energy distance; Székely and Rizzo 2013, Journal of Statistical Planning and Inference 143).

Control items have all answers equally often, and questions do not; without the looks, the mixture would
reveal them. An image of the worker's own test is not one of the campaign's: items about it come last.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log1p
from statistics import fmean
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from annotation.common import database
from annotation.models import Assignment, Control
from annotation.protocol.kinds import is_page
from annotation.protocol.terms import Box
from annotation.task_types.base import TASK_TYPES, Page
from annotation.task_types.displayed import DisplayedImage, displayed_images

#: Number of a worker's last assignments that are considered; and of those of the kind whose looks are.
LOOK_BACK, LOOKED_AT_OF_KIND = 300, 60
#: More unusual than anything else: an image of the worker's own test.
OF_A_TEST = 1000.0
#: Weights against having seen an image: a standard deviation of the looks; one word more in each caption.
LOOKS_WEIGHT, WORDS_WEIGHT = 0.15, 0.1
#: Weight of the difference from the image in whose place a control image of a page comes.
ONE_BY_ONE = 10.0
#: Words are counted in this number of groups.
WORD_GROUPS = 16

Numbers = tuple[float, ...]
_Table = NDArray[np.float64]


class Seen(NamedTuple):
    """An item that a worker saw: its kind, its image and its role; and its content, if it is of the kind in
    question."""

    kind: str
    image: int
    role: str
    content: Mapping[str, Any] | None = None


class _Pool(NamedTuple):
    """The control items of a kind, each by its id: its row, its image, and its looks, weighted; and the
    weights."""

    rows: Mapping[str, int]
    images: Sequence[int]
    looks: _Table
    weights: _Table


class Resemblance:
    """What a worker has seen in a campaign, in numbers, to compare control items of a kind with it."""

    def __init__(self, *, worker: int, campaign: int, kind: str, revision: int, but: int = 0) -> None:
        """Read what the worker has seen lately: of all kinds; on pages, of pages. The assignment `but` is
        skipped: the page that control images are to be put on."""
        past = _on_pages(worker, campaign, kind, but) if is_page(kind) else _alone(worker, campaign, kind)
        self._kind, self._pool = kind, _pool(campaign, kind, revision)
        looked_at = [(item.image, item.content) for item in past if item.content is not None]
        self._shown = displayed_images({owner for item in looked_at for owner in _owners(*item)})
        self._tested = {item.image for item in past if item.role == Control.QUALIFICATION}
        self._everywhere, self._in_kind = _Recurrence(), _Recurrence()
        self._tasks: list[_Table] = []
        self._controls: list[_Table] = []
        for item in reversed(past):
            if item.role == Control.QUALIFICATION:
                continue
            if item.content is not None:
                side = self._controls if item.role == Control.CONTROL else self._tasks
                side.append(self._numbers(item.image, self._looks(item.image, item.content)))
            self._see(item.image, item.kind == kind)

    def strangeness(self, *, image: int, content: Mapping[str, Any]) -> Callable[[str], float]:
        """Return a function from a control item's id to how unusual it would look to the worker, who expects
        a task about `image` with `content`."""
        self._shown |= displayed_images(set(_owners(image, content)) - self._shown.keys())
        expected = self._numbers(image, self._looks(image, content))
        if not self._pool.rows:
            return lambda control: OF_A_TEST
        recurrences = {image: self._recurrence(image) for image in set(self._pool.images)}
        seen = np.array([recurrences[image] for image in self._pool.images]).reshape(-1, 4)
        unusual = unusual_among(np.hstack([seen, self._pool.looks]), [*self._tasks, expected], self._controls)
        if is_page(self._kind):
            # One by one, so that the images of a page differ from each other as those of tasks do.
            unusual = unusual + ONE_BY_ONE * np.abs(self._pool.looks - expected[4:]).sum(axis=1)

        def strange(control: str) -> float:
            row = self._pool.rows.get(control)
            if row is None or self._pool.images[row] in self._tested:  # retired a moment ago, or of a test
                return OF_A_TEST
            return float(unusual[row])

        return strange

    def add(self, control: str) -> None:
        """Add a control item that the worker will see before the next."""
        row = self._pool.rows[control]
        image = self._pool.images[row]
        self._controls.append(self._numbers(image, self._pool.looks[row]))
        self._see(image, True)

    def _see(self, image: int, of_kind: bool) -> None:
        self._everywhere.add(image)
        if of_kind:
            self._in_kind.add(image)

    def _looks(self, image: int, content: Mapping[str, Any]) -> _Table:
        return np.array(looks(self._kind, image, content, self._shown)) * self._pool.weights

    def _numbers(self, image: int, looks: _Table) -> _Table:
        return np.concatenate([self._recurrence(image), looks])

    def _recurrence(self, image: int) -> Numbers:
        return (*self._everywhere.of(image), *self._in_kind.of(image))


def unusual_among(items: _Table, tasks: Sequence[_Table], controls: Sequence[_Table]) -> _Table:
    """Return for each of `items` how far its numbers are from those of `tasks`, less how far from those of
    earlier `controls`: how much it would increase the energy distance between the two."""
    near, far = np.array(tasks), np.array(controls).reshape(len(controls), items.shape[1])
    result = np.zeros(len(items))
    for number, column in enumerate(items.T):
        result += _distances(column, near[:, number]) / len(tasks)
        result -= _distances(column, far[:, number]) / (len(controls) + 1)
    return result


def _distances(values: _Table, others: _Table) -> _Table:
    """Return for each of `values` the sum of its differences from `others`."""
    others = np.sort(others)
    sums = np.concatenate([[0.0], np.cumsum(others)])
    below = np.searchsorted(others, values, side="right")
    return (2 * below - len(others)) * values + sums[-1] - 2 * sums[below]


def looks(kind: str, image: int, content: Mapping[str, Any], shown: Mapping[int, DisplayedImage]) -> Numbers:
    """Return what can be measured of an item without knowing its meaning; `shown` are the images of its
    picture and its captions."""
    picture = (shown[image].width, shown[image].height)
    if is_page(kind):  # its captions are as many as those beside it, and drawn when it was made
        return picture
    page = Page() if "caption" in content else TASK_TYPES.get(kind).page(content, shown[image])
    ids = [content["caption"]] if "caption" in content else [(image, number) for number in page.captions]
    captions = [shown[owner].captions[number] for owner, number in ids]
    first, last = captions[0], captions[-1]
    lengths = [len(caption.text) for caption in captions]
    words = [word for caption in captions for word in caption.words] or [""]
    in_groups = Counter(crc32(word.lower().encode()) % WORD_GROUPS for word in words)
    marked = [pointed.mention for pointed in (*page.pointed[:1], *page.pointed[-1:])]
    return (
        *picture,
        *(len(captions), page.captions[0] if page.captions else 0, len(first.words), len(last.words)),
        *(lengths[0], lengths[-1], min(lengths), max(lengths), fmean(lengths), len(words[0])),
        *(max(map(len, words)), fmean(map(len, words)), len(set(words)) / len(words)),
        *(value for m in marked for value in (m.start, m.end - m.start, len(m.text), len(m.tokens[0]))),
        len(page.boxes),
        *_edges(page.boxes),
        *_edges([page.pending] if page.pending else []),
        *(in_groups[group] / len(captions) for group in range(WORD_GROUPS)),
    )


def _owners(image: int, content: Mapping[str, Any]) -> list[int]:
    """Return the images that are read to measure an item's looks."""
    return [image, content["caption"][0]] if "caption" in content else [image]


def _edges(boxes: Sequence[Box]) -> Numbers:
    """Return the mean edges, width and height of boxes."""
    edges = [(box.xmin, box.ymin, box.xmax, box.ymax, box.width, box.height) for box in boxes]
    return tuple(map(fmean, zip(*edges or [(0,) * 6], strict=True)))


@lru_cache(maxsize=256)
def _pool(campaign: int, kind: str, revision: int) -> _Pool:
    """Return the control items of a kind; cached like `pools.control_pool`."""
    rows = Control.objects.filter(campaign=campaign, kind=kind, purpose=Control.CONTROL, active=True)
    items = list(rows.values_list("id", "image", "content"))
    if not items:  # all were retired a moment ago
        return _Pool({}, [], np.zeros((0, 1)), np.zeros(1))
    shown = displayed_images({owner for _, image, content in items for owner in _owners(image, content)})
    measured = np.array([looks(kind, image, content, shown) for _, image, content in items])
    spread = measured.std(axis=0)
    weights = LOOKS_WEIGHT / np.where(spread, spread, np.inf)
    if not is_page(kind):
        weights[-WORD_GROUPS:] = WORDS_WEIGHT
    return _Pool(
        {str(control): row for row, (control, *_) in enumerate(items)},
        [image for _, image, _ in items],
        measured * weights,
        weights,
    )


class _Recurrence:
    """How often each image was seen so far, and how many items ago."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()
        self._last: dict[int, int] = {}
        self._items = 0

    def of(self, image: int) -> Numbers:
        ago = self._items - self._last[image] if image in self._last else LOOK_BACK
        return log1p(self._times[image]), log1p(ago) / 2

    def add(self, image: int) -> None:
        self._items += 1
        self._times[image] += 1
        self._last[image] = self._items


def _alone(worker: int, campaign: int, kind: str) -> list[Seen]:
    """Return a worker's last items, the newest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT l.kind, COALESCE(k.image_id, o.image_id), l.role, COALESCE(k.content, i.content) FROM (
                    SELECT a.id, a.kind, a.role, a.task_id, a.control_id FROM annotation_assignment a
                    WHERE a.campaign_id = %s AND a.worker_id = %s AND a.state <> '{Assignment.PLANNED}'
                    ORDER BY a.id DESC LIMIT %s) l
                LEFT JOIN annotation_control k ON k.id = l.control_id
                LEFT JOIN annotation_task t ON t.id = l.task_id
                LEFT JOIN annotation_openimage o ON o.id = t.image_id
                LEFT JOIN annotation_item i ON i.task_id = l.task_id AND i.position = 0 AND l.kind = %s
                ORDER BY l.id DESC""",
            [campaign, worker, LOOK_BACK, kind],
        )
        rows = cursor.fetchall()
    of_kind = 0
    seen = []
    for its_kind, image, role, content in rows:
        of_kind += its_kind == kind
        looked_at = its_kind == kind and of_kind <= LOOKED_AT_OF_KIND
        seen.append(Seen(its_kind, image, role, json.loads(content) if looked_at else None))
    return seen


def _on_pages(worker: int, campaign: int, kind: str, but: int) -> list[Seen]:
    """Return the images on a worker's last pages, the newest page first."""
    of_task: dict[int, list[Seen]] = defaultdict(list)
    put_on: dict[int, list[Seen]] = defaultdict(list)
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
            for task, text in cursor.fetchall():
                content = json.loads(text)
                of_task[task].append(Seen(kind, content["image"], "", content))
        if pages:
            cursor.execute(
                f"""SELECT p.assignment_id, k.image_id, k.content FROM annotation_pagecontrol p
                    JOIN annotation_control k ON k.id = p.control_id
                    WHERE p.assignment_id IN ({database.parameters(pages)})""",
                [page for page, *_ in pages],
            )
            for page, image, content in cursor.fetchall():
                put_on[page].append(Seen(kind, image, Control.CONTROL, json.loads(content)))
    seen: list[Seen] = []
    for page, role, task, image in pages:
        on_page = [*of_task.get(task or 0, ()), *put_on[page]]
        seen += on_page or ([Seen(kind, image, role)] if image else [])
    return [
        item if number < LOOKED_AT_OF_KIND else item._replace(content=None)
        for number, item in enumerate(seen[:LOOK_BACK])
    ]
