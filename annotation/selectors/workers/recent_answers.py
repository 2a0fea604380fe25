"""What a worker answered last, of one kind of question: for their own eyes, and to be changed."""

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

#: Answers of a sitting that a worker may come back to, and for how long after each was given.
RECENT_ANSWERS, SITTING = 20, timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RecentAnswer:
    """One answer: its assignment, the corpus's image that it is about, what was shown of it (as
    `protocol.contents` has it; {} where that is no mention or box), what was said, and when."""

    assignment: int
    image: int
    content: Mapping[str, Any]
    answer: Answer
    at: datetime


def recent_assignments(*, worker: int, campaign: int, kind: str) -> QuerySet[Assignment]:
    """The last answers of the sitting, the newest first, without those of a test: they cannot change."""
    assignments = Assignment.objects.filter(
        campaign=campaign,
        worker=worker,
        kind=kind,
        state=Assignment.SUBMITTED,
        ended_at__gte=database.now() - SITTING,
    ).exclude(role=Control.QUALIFICATION)
    return assignments.order_by("-ended_at", "-id")[:RECENT_ANSWERS]


def recent_answers(*, worker: int, campaign: int, kind: str) -> list[RecentAnswer]:
    """`recent_assignments` with what was answered; three queries. Withdrawn ones are left out."""
    rows = recent_assignments(worker=worker, campaign=campaign, kind=kind).select_related(
        "task__image", "control"
    )
    held = {row.pk: row for row in rows}
    judgments = Judgment.objects.filter(assignment__in=list(held), withdrawn=False).select_related("report")
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
        if pk in judgment_of and row.ended_at is not None
    ]


def stored_answer(judgment: Judgment) -> Answer:
    """What a stored judgment says, its content as it is kept."""
    box = None
    if judgment.xmin is not None and judgment.ymin and judgment.xmax and judgment.ymax:
        box = Box(judgment.xmin, judgment.ymin, judgment.xmax, judgment.ymax)
    comment = judgment.report.comment if judgment.flag and hasattr(judgment, "report") else ""
    return Answer(judgment.answer, box, judgment.flag, comment, judgment.way, judgment.content)


def _content(row: Assignment, contents: Mapping[int, Any]) -> Mapping[str, Any]:
    """What a question of the chain shows; that of other kinds is not told by its item alone."""
    if is_counted(row.kind):
        return {}
    return contents[row.task_id] if row.task_id else row.control.content if row.control else {}


def _image(row: Assignment, judgment: Judgment) -> int:
    """The image that stands for an answer; of a page the first one shown, as while it was asked.

    A page's own image is one that is asked about, and so no control image.
    """
    if is_page(row.kind) and judgment.content:
        return int(judgment.content["blocks"][0]["image"])
    if row.task is not None:
        return row.task.image.image_id
    assert row.control is not None
    return row.control.image_id
