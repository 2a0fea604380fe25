"""The rows of tasks and items that a fold writes: opened, reopened, asked of a second person, ended.

`refold_image` decides what is asked; this module writes it concurrently with claims, which count a task's
places without waiting for its image's lock. Call everything except `rank_of` inside `database.writing()`
while holding that lock.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from annotation.common import database
from annotation.models import Assignment, Judgment, Task
from annotation.protocol.contents import question_content
from annotation.protocol.questions import DOUBLE_CHECK, VOTE, Question

#: The rank of the first image with the highest priority.
_PRIORITIES = 2**15
_PLACES = 2**32


def rank_of(*, priority: int, position: int) -> int:
    """Return the rank; tasks are leased by increasing rank: higher priority first, then the image's
    position."""
    return (_PRIORITIES - 1 - priority) * _PLACES + position


#: The number of leases of a reopened task. Only for tasks that were closed: nobody can claim them, so the
#: count is valid although claims do not wait for the image's lock.
_LEASED = """(SELECT count(*) FROM annotation_assignment a
              WHERE a.task_id = annotation_task.id AND a.state = 'leased')"""


def update_needed(image: int, key: str, total: int, more: int) -> database.Statement:
    """Return the statement by which an open task needs `total` answers, or as many as are given and leased if
    that is more.

    `more` votes hold a place that the task did not count. Computed from the row's own counter, which claims
    increase meanwhile.
    """
    return (
        """UPDATE annotation_task SET live = live + %s,
               needed = CASE WHEN live + %s > %s THEN live + %s ELSE %s END
           WHERE image_id = %s AND key = %s""",
        [more, more, total, more, total, image, key],
    )


def ask_second_person(image: int, key: str, answers: int) -> list[database.Statement]:
    """Return the statements by which a second person is asked; the task has `answers` votes. A worker who
    holds it already is that person."""
    # Closed first, so that a worker who claims it now is counted among the leases.
    return [
        end_task(image, key, Task.SETTLED),
        (
            f"""UPDATE annotation_task SET state = 'open', role = 'double_check', live = %s + {_LEASED},
                   needed = %s + CASE WHEN {_LEASED} > 1 THEN {_LEASED} ELSE 1 END
               WHERE image_id = %s AND key = %s""",
            [answers, answers, image, key],
        ),
    ]


def end_task(image: int, key: str, state: str) -> database.Statement:
    """Return the statement that ends a task; `state` says how."""
    return "UPDATE annotation_task SET state = %s WHERE image_id = %s AND key = %s", [state, image, key]


def open_tasks(
    questions: Sequence[Question],
    answers: Mapping[str, int],
    drawers: Mapping[str, int],
    shares: Mapping[str, float],
    *,
    campaign: int,
    image: int,
    rank: int,
    at: datetime,
) -> list[database.Statement]:
    """Return statements that open tasks for `questions`, or reopen earlier ones, with their contents.

    `answers` are votes by key, `drawers` the worker who may not judge, by key; `shares` those of drawn
    questions, by key. Send them after the submitted lease has ended, since leases are counted.
    """
    created = database.sql_time(at)
    values: list[Any] = []
    parameters: list[Any] = []
    for question in questions:
        parameters += [image, question.key, json.dumps(question_content(question))]
        values += [
            campaign,
            image,
            question.kind,
            question.key,
            answers[question.key] + question.needed,
            answers[question.key],
            rank,
            drawers.get(question.key),
            shares.get(question.key),
            created,
        ]
    places = ", ".join(["(%s, %s, %s, %s, 'open', 'vote', %s, %s, %s, %s, %s, %s)"] * len(questions))
    # A reopened task has its item already.
    items = ", ".join(
        ["((SELECT t.id FROM annotation_task t WHERE t.image_id = %s AND t.key = %s), 0, %s)"]
        * len(questions)
    )
    return [
        (
            f"""INSERT INTO annotation_task
                    (campaign_id, image_id, kind, key, state, role, needed, live, rank, barred_id,
                     drawn_share, created_at)
                VALUES {places}
                ON CONFLICT (image_id, key) DO UPDATE SET state = 'open', role = 'vote',
                    live = excluded.live + {_LEASED},
                    barred_id = COALESCE(excluded.barred_id, annotation_task.barred_id),
                    drawn_share = COALESCE(annotation_task.drawn_share, excluded.drawn_share),
                    needed = CASE WHEN excluded.live + {_LEASED} > excluded.needed
                                  THEN excluded.live + {_LEASED} ELSE excluded.needed END""",
            values,
        ),
        (
            f"""INSERT INTO annotation_item (task_id, position, content) VALUES {items}
                ON CONFLICT (task_id, position) DO NOTHING""",
            parameters,
        ),
    ]


def count_checks(images: Sequence[int]) -> None:
    """Recount the places of questions about these open images (ids) that wait for a double check.

    The fold ignores those: call it wherever votes are withdrawn or restored.
    """
    waiting = Task.objects.filter(image__in=images, state=Task.OPEN, role=DOUBLE_CHECK)
    for task in waiting.select_for_update(no_key=True).order_by("pk"):
        votes = Judgment.objects.filter(image=task.image_id, key=task.key, role=VOTE, withdrawn=False).count()
        live = votes + Assignment.objects.filter(task=task, state=Assignment.LEASED).count()
        if live != task.live:
            total = max(live, task.needed - task.live + live)
            Task.objects.filter(pk=task.pk).update(live=live, needed=total)
