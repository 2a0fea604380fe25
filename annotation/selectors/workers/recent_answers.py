"""A worker's latest answers to one kind of question: only for the worker, to be changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from annotation.common import database
from annotation.models import Assignment, Control, Item, Judgment
from annotation.protocol.kinds import is_counted, is_page
from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box

#: How long a worker may change an answer, and the number of later answers of the kind that end this sooner.
CHANGEABLE_FOR, LATER_ANSWERS = timedelta(minutes=10), 5


@dataclass(frozen=True, slots=True)
class RecentAnswer:
    """One answer: its assignment, the corpus's image that it is about, what was shown of it (as in
    `protocol.contents`; {} if there is no mention or box), the answer, and its time."""

    assignment: int
    image: int
    content: Mapping[str, Any]
    answer: Answer
    at: datetime


def recent_assignments(*, worker: int, campaign: int, kind: str) -> QuerySet[Assignment]:
    """Return the answers that a worker may change, the newest first; none of a test.

    They depend only on the worker's answers of the kind and the clock, not on the questions or on others'
    later answers, which could reveal control items.
    """
    assignments = Assignment.objects.filter(
        campaign=campaign,
        worker=worker,
        kind=kind,
        state=Assignment.SUBMITTED,
        ended_at__gte=database.now() - CHANGEABLE_FOR,
    ).exclude(role=Control.QUALIFICATION)
    return assignments.order_by("-ended_at", "-id")[:LATER_ANSWERS]


def recent_answers(*, worker: int, campaign: int, kind: str) -> list[RecentAnswer]:
    """Return `recent_assignments` with their answers; three queries."""
    rows = recent_assignments(worker=worker, campaign=campaign, kind=kind).select_related(
        "task__image", "control"
    )
    held = {row.pk: row for row in rows}
    judgments = Judgment.objects.filter(assignment__in=list(held)).select_related("report")
    judgment_of = {judgment.assignment_id: judgment for judgment in judgments}
    items = Item.objects.filter(task__in=[row.task_id for row in rows if row.task_id], position=0)
    contents = dict(items.values_list("task", "content"))
    return [
        RecentAnswer(
            pk,
            _image(row, judgment_of[pk]),
            _content(row, contents),
            stored_answer(judgment_of[pk]),
            row.ended_at,
        )
        for pk, row in held.items()
        if row.ended_at is not None
    ]


def stored_answer(judgment: Judgment) -> Answer:
    """Return the answer of a stored judgment, with its content as stored."""
    box = None
    if judgment.xmin is not None and judgment.ymin and judgment.xmax and judgment.ymax:
        box = Box(judgment.xmin, judgment.ymin, judgment.xmax, judgment.ymax)
    comment = judgment.report.comment if judgment.flag and hasattr(judgment, "report") else ""
    return Answer(judgment.answer, box, judgment.flag, comment, judgment.way, judgment.content)


def _content(row: Assignment, contents: Mapping[int, Any]) -> Mapping[str, Any]:
    """Return what a question of the chain shows; for other kinds the item alone is not enough."""
    if is_counted(row.kind):
        return {}
    return contents[row.task_id] if row.task_id else row.control.content if row.control else {}


def _image(row: Assignment, judgment: Judgment) -> int:
    """Return the image of an answer; of a page the first one shown, as while it was open.

    A page's own image is one of its questions, and so no control image.
    """
    if is_page(row.kind) and judgment.content:
        return int(judgment.content["blocks"][0]["image"])
    if row.task is not None:
        return row.task.image.image_id
    assert row.control is not None
    return row.control.image_id
