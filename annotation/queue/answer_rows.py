"""Incoming answers: checking them against the question, and building the rows that store them.

Nothing here writes: `submission` sends the statements, in one transaction with all consequences.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotation.common import database
from annotation.protocol import questions as q
from annotation.protocol.contents import corners
from annotation.protocol.grading import is_right
from annotation.protocol.kinds import BadContent, is_page, kind_of
from annotation.protocol.questions import Answer, BadJudgment, Judgment
from annotation.protocol.trust import ControlGraded, TaskAnswered
from annotation.quality import qualification
from annotation.queue import relevance_pages
from annotation.queue.lease_terms import Terms


class LeasedAssignment(NamedTuple):
    """An assignment at submission, with the values that are graded or folded."""

    id: int
    worker: int
    state: str
    role: str
    kind: str
    attempt: int
    leased_at: Any
    token: str
    key: str
    image_key: str
    width: int
    height: int


#: The columns of LeasedAssignment, of an assignment `a` and its image `im`; the key is that of `{of}`.
LEASED_ASSIGNMENT_COLUMNS = (
    "a.id, a.worker_id, a.state, a.role, a.kind, a.attempt, a.leased_at, a.token, {of}.key, "
    "im.key, im.width, im.height"
)


def check_answer(held: LeasedAssignment, answer: Answer) -> None:
    """Raise BadJudgment unless the question accepts this answer."""
    q.check_judgment(Judgment("", held.key, "", answer.answer, answer.box, answer.flag))
    boxes = [corners(answer.box)] if answer.box else []
    boxes += [region["box"] for region in (answer.content or {}).get("regions", ())]
    for xmin, ymin, xmax, ymax in boxes:
        if held.width and held.height and (xmax > held.width or ymax > held.height):
            raise BadJudgment(
                f"box {[xmin, ymin, xmax, ymax]} extends beyond the picture, which has {held.width} x "
                f"{held.height} "
                "pixels"
            )
    if answer.answer in kind_of(held.kind).with_content and not answer.content:
        raise BadJudgment(
            f"answer {answer.answer!r} to {held.kind} has no content; expected what it is about"
        )
    # A sentence is written for a task, but the test asks whether a sentence is well written.
    tested = kind_of(held.kind).test_answers
    if (
        tested
        and answer.answer
        and (answer.answer in tested) != (held.role == qualification.QUALIFICATION_ROLE)
    ):
        raise BadJudgment(f"answer {answer.answer!r} is not an answer to this question of {held.kind}")


def check_model_answer(held: LeasedAssignment, answer: Answer) -> None:
    """Raise BadJudgment unless it is an answer that a model annotator may give."""
    may = kind_of(held.kind).model_answers
    if answer.flag or answer.answer not in may:
        raise BadJudgment(
            f"answer {answer.flag or answer.answer!r} to {held.kind} is not one that a model annotator "
            f"gives; expected {' or '.join(map(repr, may)) or 'none: people answer it'}"
        )


class AnswerContent(NamedTuple):
    """What an answer's judgment stores besides its word, the results on control images, and their rows."""

    stored: dict[str, Any] | None
    events: list[Any]
    graded: list[database.Statement]


def answer_content(held: LeasedAssignment, terms: Terms, answer: Answer) -> AnswerContent:
    """Return an answer's content as it is stored. Raises BadJudgment if it does not match the question."""
    if is_page(held.kind):
        return _ticked(held, terms, answer)
    if answer.flag or answer.content is None:
        return AnswerContent(None, [TaskAnswered()], [])
    try:
        kind_of(held.kind).check(answer.content, terms.settings.answers.number)
    except BadContent as error:
        raise BadJudgment(_(error.text) % error.params, error.field) from error
    return AnswerContent(dict(answer.content), [TaskAnswered()], [])


def _ticked(held: LeasedAssignment, terms: Terms, answer: Answer) -> AnswerContent:
    """Return a page's ticks; each of its active control images is graded, and each other image becomes an
    item."""
    page = relevance_pages.blocks(held.id, seed=terms.seed, settings=terms.settings)
    ticks = None if answer.flag else relevance_pages.page_ticks(page, answer.content)
    events: list[Any] = []
    graded: list[database.Statement] = []
    for index, block in enumerate(page if held.role != qualification.QUALIFICATION_ROLE else ()):
        if block.control is None or not block.active:
            events.append(TaskAnswered())
            continue
        right = ticks is not None and is_right(held.kind, ticks[index], block.known, terms.settings.trust)
        events.append(ControlGraded(right))
        graded.append(
            (
                'UPDATE annotation_pagecontrol SET "right" = %s WHERE assignment_id = %s AND control_id = %s',
                [right, held.id, block.control],
            )
        )
    return AnswerContent(relevance_pages.page_answer(page, ticks), events, graded)


def insert_judgment(
    held: LeasedAssignment,
    terms: Terms,
    judgment: Judgment,
    way: str,
    content: Mapping[str, Any] | None,
    image: int | None,
    schema: int,
    at: datetime,
) -> list[database.Statement]:
    """Return the statement that inserts the judgment."""
    box = corners(judgment.box) if judgment.box else [None] * 4
    values = [
        terms.id,
        image,
        held.id,
        held.worker,
        held.kind,
        held.key,
        judgment.id,
        judgment.role,
        judgment.answer,
        *box,
        way,
        None if content is None else json.dumps(content),
        judgment.flag,
        judgment.withdrawn,
        schema,
        terms.id,
        held.kind,
        database.sql_time(at),
    ]
    return [
        (
            """INSERT INTO annotation_judgment
                   (campaign_id, image_id, assignment_id, source, worker_id, kind, key, name, role, answer,
                    x_min, y_min, x_max, y_max, way, content, flag, withdrawn, schema, instructions,
                    created_at)
               VALUES (%s, %s, %s, '', %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
                   COALESCE((SELECT max(version) FROM annotation_instructions
                             WHERE campaign_id = %s AND kind = %s), 0), %s)""",
            values,
        )
    ]


def insert_flag(held: LeasedAssignment, answer: Answer) -> list[database.Statement]:
    """Return the statement that stores a worker's report with its judgment."""
    return [
        (
            """INSERT INTO annotation_flag (judgment_id, comment, resolved_at, resolved_by_id)
               SELECT id, %s, NULL, NULL FROM annotation_judgment WHERE assignment_id = %s""",
            [answer.comment, held.id],
        )
    ]


def end_assignment(
    held: LeasedAssignment,
    terms: Terms,
    token: str,
    seconds: float | None,
    at: datetime,
    *,
    right: bool | None = None,
    unpaid: bool = False,
) -> database.Statement:
    """Return the statement that ends the assignment, with its time and pay."""
    pay = terms.settings.pay
    elapsed = max(0.0, (at - database.time_from_sql(held.leased_at)).total_seconds())
    worked = 0.0 if unpaid else min(elapsed, pay.idle_after if seconds is None else max(0.0, seconds))
    free = unpaid or held.role == qualification.QUALIFICATION_ROLE
    earned = 0 if free else pay.amount(held.kind, worked)
    return (
        """UPDATE annotation_assignment SET state = 'submitted', ended_at = %s, token = %s, seconds = %s,
               pay = %s, "right" = %s WHERE id = %s""",
        [database.sql_time(at), token, worked, earned, right, held.id],
    )
