"""Storing an answer: judgment, refold, trust state, pay, and the next task, in one transaction.

This is the only writer of judgments and flags. Every answer is stored and paid:

- in time, it takes the place its lease held; the image is computed again;
- late (the lease ran out or was returned), it takes a place that is left, is superseded where the
  question is closed, and extra where others hold every place; of a platform's visitor no more
  such answers are taken than their study wants;
- a second time under the same token, nothing happens and the same is said again;
- on a control item, it is graded where that still measures the worker, and stays outside every fold.

Nothing is stored for a worker who was erased.

`submission_rows` reads the required rows and takes the locks.
"""

import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import IntegrityError, connection
from django.utils.translation import gettext as _

from annotation.common import database
from annotation.models import Assignment, Campaign, Task
from annotation.protocol import questions as q
from annotation.protocol.kinds import is_page, kind_of, model_kinds
from annotation.protocol.questions import Answer, BadJudgment, Judgment, judgment_name
from annotation.protocol.trust import BoxJudged, ControlGraded, trust_after_or_same
from annotation.quality import controls, qualification, worker_trust
from annotation.queue import (
    answer_rows,
    image_state,
    lease_terms,
    leases,
    model_answers,
    submission_rows,
    visits,
)
from annotation.queue.answer_rows import AnswerContent, LeasedAssignment
from annotation.queue.dispatch import WorkerState
from annotation.queue.lease_terms import Terms
from annotation.queue.leases import Lease, NoTask
from annotation.queue.submission_rows import ControlRow, TaskNow, TaskRow

_log = logging.getLogger(__name__)

_LONGEST_TOKEN = 64


class NotYours(LookupError):
    """This worker has no such assignment."""


class Conflict(ValueError):
    """The assignment was answered before with another token, or the token was used for another assignment."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer is stored. `repeated`: it was stored before. `counted`: False if it is superseded or
    extra."""

    assignment: int
    repeated: bool
    counted: bool
    next: Lease | NoTask | None


class _Request(NamedTuple):
    """A worker's submission, with the arguments of `submit`, and its time."""

    answer: Answer
    token: str
    seconds: float | None
    schema: int
    at: datetime


class _Answered(NamedTuple):
    """The result of an answer: the statements that store it, still to be sent, and what comes next.

    `terms` are the campaign's current ones, for the next task; the answer itself is accepted, graded and paid
    under those of its lease. `wakes`: the open image in which a model annotator may now have something to
    answer.
    """

    terms: Terms
    holder: WorkerState
    counted: bool
    statements: list[database.Statement]
    wakes: int | None = None


def submit(
    *,
    worker: int,
    assignment: int,
    answer: Answer,
    token: str,
    seconds: float | None = None,
    holding: Collection[int] = (),
    then: bool = True,
    schema: int = 1,
) -> Receipt:
    """Store a worker's answer to an assignment, and take the next of the kind unless `then` is False.

    `token` is the idempotency key, 1 to 64 characters: repeating it stores nothing twice. `seconds` is the
    active time on the page; `holding` as in `take_lease`; `schema` the version of the answer's form. Raises
    NotYours, Conflict, and BadJudgment if the question does not accept the answer; then nothing is stored.
    """
    if not 0 < len(token) <= _LONGEST_TOKEN:
        raise BadJudgment(f"the token has {len(token)} characters: expected 1 to {_LONGEST_TOKEN}")
    try:
        with database.writing(), connection.cursor() as cursor:
            row = submission_rows.locked_row(cursor, assignment)
            # After locking: an answer whose lease expired while it waited for the locks is late.
            at = database.now()
            if row is None or row.held.worker != worker:
                raise NotYours(_("No such task is assigned to you: open your list of tasks."))
            held = row.held
            if held.state == Assignment.PLANNED:
                raise NotYours(_("This item comes later: open your list of tasks."))
            if held.state == Assignment.SUBMITTED:
                if held.token != token:
                    raise Conflict(
                        _(
                            "You have already answered this task, perhaps in another tab: continue with the "
                            "next."
                        )
                    )
                stored = _Answered(*_terms(cursor, held), True, [])
            else:
                answer_rows.check_answer(held, answer)
                request = _Request(answer, token, seconds, schema, at)
                if isinstance(row, TaskRow):
                    stored = _to_task(cursor, row, request)
                else:
                    stored = _to_control(cursor, row, request)
            following: Lease | NoTask | None = None
            # What was taken under an older consent text may be answered; nothing new is leased under that.
            if then and stored.holder.unagreed:
                following = lease_terms.no_task_without_consent()
            if then and following is None:
                following = leases.take_next_lease(
                    cursor, stored.terms, stored.holder, held.kind, holding, at, after=stored.statements
                )
            else:
                database.send_statements(cursor, stored.statements)
    except IntegrityError as error:
        if "one_token_is_one_answer" in str(error) or "assignment.token" in str(error):
            raise Conflict(
                _("This answer's token was used for another task: load the task again.")
            ) from error
        raise
    if stored.wakes is not None:
        _let_model_answer(stored.wakes)
    return Receipt(assignment, held.state == Assignment.SUBMITTED, stored.counted, following)


def _let_model_answer(image: int) -> None:
    """Let a model annotator answer about an image, after the answer is stored. Not in on_commit: SQLite's
    write lock is still held then. Its errors do not affect the answer."""
    try:
        model_answers.answer_open_image(image, submit)
    except Exception:
        _log.exception("the model annotator's turn at open image %d", image)


def _to_task(cursor: Any, row: TaskRow, request: _Request) -> _Answered:
    """Store an answer to a task: fold it and pay for it."""
    held, task, image, now, terms = row
    answer, at = request.answer, request.at
    drawer = task.barred if kind_of(held.kind).judges else None
    holder, drawn, votes = submission_rows.holders_of(cursor, held, terms, drawer, image.id)
    _check_visit(cursor, held, terms, holder)
    if holder.is_model:
        answer_rows.check_model_answer(held, answer)
    content = answer_rows.answer_content(held, terms, answer)
    if holder.withdrawn:
        return _withdrawn(cursor, row, holder, content, request)
    role, placed = held.role, True
    if held.state != Assignment.LEASED:
        role, placed = _late(cursor, task)
    if role == q.DOUBLE_CHECK and held.key in image.state["open"]:
        role = q.VOTE  # Reopened since the lease was given: the lease holds one of its places.
    name = _name_of(held, holder)
    judgment = Judgment(
        name,
        held.key,
        holder.pseudonym,
        answer.answer,
        answer.box,
        answer.flag,
        role,
        by_model=holder.is_model,
    )
    votes.append(image_state.Vote(held.worker, judgment))
    # The first vote on a key is the verdict, whether or not the chain still waits for it, as in `replay`.
    first = role == q.VOTE and not any(
        v.judgment.key == held.key and v.judgment.role == q.VOTE and not v.judgment.flag for v in votes[:-1]
    )
    difference = image_state.image_difference(
        image,
        votes,
        lease_terms.double_checks(now, held.image_key),
        at=at,
        placed=held.key if role == q.VOTE and placed else "",
    )
    counted = role == q.DOUBLE_CHECK or (role == q.VOTE and name not in difference.state.superseded)
    changed = [worker_trust.trust_update(holder.id, after := _after(holder, content.events, terms), at)]
    asked_at = database.time_from_sql(held.leased_at)
    if (
        drawn is not None
        and first
        and not answer.flag
        and (
            submission_rows.drawn_since(cursor, drawn, image.id, held.key)
            if drawn.is_model
            else controls.tells_of_drawer(terms.id, drawn.trust.kind, terms.revision, asked_at)
        )
    ):
        judged = BoxJudged(answer.answer == "good")
        changed.append(worker_trust.trust_update(drawn.id, _after(drawn, [judged], terms), at))
    wakes = (
        bool(now.settings.model_annotator.share)
        and not holder.is_model
        and bool(model_kinds(difference.opened))
    )
    statements = [
        *answer_rows.insert_judgment(
            held, terms, judgment, answer.way, content.stored, image.id, request.schema, at
        ),
        *(answer_rows.insert_flag(held, answer) if answer.flag else ()),
        answer_rows.end_assignment(held, terms, request.token, request.seconds, at, unpaid=holder.is_model),
        *content.graded,
        *difference.statements,
        *changed,
    ]
    return _Answered(
        now, holder._replace(trust=after), counted, statements, wakes=image.id if wakes else None
    )


def _withdrawn(
    cursor: Any, row: TaskRow, holder: WorkerState, content: AnswerContent, request: _Request
) -> _Answered:
    """Store an answer of a worker whose judgments are withdrawn: as withdrawn, and paid except for a model
    annotator; its place becomes free again."""
    held, terms, answer, at = row.held, row.terms, request.answer, request.at
    if held.state == Assignment.LEASED:
        cursor.execute("UPDATE annotation_task SET live = live - 1 WHERE id = %s", [row.task.id])
    name = _name_of(held, holder)
    judgment = Judgment(
        name, held.key, holder.pseudonym, answer.answer, answer.box, answer.flag, held.role, withdrawn=True
    )
    after = _after(holder, content.events, terms)
    statements = [
        *answer_rows.insert_judgment(
            held, terms, judgment, answer.way, content.stored, row.image.id, request.schema, at
        ),
        *(answer_rows.insert_flag(held, answer) if answer.flag else ()),
        answer_rows.end_assignment(held, terms, request.token, request.seconds, at, unpaid=holder.is_model),
        *content.graded,
        worker_trust.trust_update(holder.id, after, at),
    ]
    return _Answered(row.now, holder._replace(trust=after), False, statements)


def _name_of(held: LeasedAssignment, holder: WorkerState) -> str:
    """Return the name of an answer to a task. Only a model annotator may answer one repeatedly."""
    attempt = held.attempt if holder.is_model else 0
    return judgment_name(held.image_key, holder.pseudonym, held.key, attempt)


def _check_visit(cursor: Any, held: LeasedAssignment, terms: Terms, holder: WorkerState) -> None:
    """Raise NotYours for a late answer beyond the limit of the worker's studies: otherwise a worker who takes
    tasks and returns them would have to be paid for all of them."""
    if not holder.visitor or held.state == Assignment.LEASED:
        return
    if held.role != qualification.QUALIFICATION_ROLE and not visits.takes_late_answer(
        cursor, worker=held.worker, campaign=terms.id
    ):
        raise NotYours(visits.no_task_beyond_visit().text)


def _late(cursor: Any, task: TaskNow) -> tuple[str, bool]:
    """Return the role of an answer whose lease has ended, and whether it got a place."""
    cursor.execute(
        "UPDATE annotation_task SET live = live + 1 WHERE id = %s AND state = 'open' AND live < needed",
        [task.id],
    )
    if cursor.rowcount:
        return task.role, True
    return (q.EXTRA if task.state == Task.OPEN else q.VOTE), False


def _to_control(cursor: Any, row: ControlRow, request: _Request) -> _Answered:
    """Store an answer to a control item: grade it, and pay for it unless it belongs to a test.

    An item that was retired meanwhile measures nobody, and a late answer counts only where it does not
    distort the balance; both are paid like others. A test is fixed once it has begun.
    """
    held, item, now, terms = row
    answer, at = request.answer, request.at
    holder = submission_rows.holders_of(cursor, held, terms).answering
    _check_visit(cursor, held, terms, holder)
    content = answer_rows.answer_content(held, terms, answer)
    right: bool | None = None
    alone = not is_page(held.kind)
    if held.role == qualification.QUALIFICATION_ROLE or (
        alone and item.active and _measures(held, now, item.stratum)
    ):
        right = controls.grade_control(
            kind=held.kind, known=json.loads(item.known), answer=answer, settings=terms.settings.trust
        )
    name = judgment_name(held.image_key, holder.pseudonym, held.key)
    judgment = Judgment(name, held.key, holder.pseudonym, answer.answer, answer.box, answer.flag, held.role)
    statements = [
        *answer_rows.insert_judgment(
            held, terms, judgment, answer.way, content.stored, None, request.schema, at
        ),
        *(answer_rows.insert_flag(held, answer) if answer.flag else ()),
        answer_rows.end_assignment(held, terms, request.token, request.seconds, at, right=right),
        *content.graded,
    ]
    if held.role != qualification.QUALIFICATION_ROLE:
        events = content.events if right is None else [ControlGraded(right)]
        after = _after(holder, events, terms)
        statements.append(worker_trust.trust_update(holder.id, after, at))
        return _Answered(now, holder._replace(trust=after), True, statements)
    database.send_statements(cursor, statements)
    campaign = Campaign.objects.get(pk=terms.id)
    assert right is not None
    qualification.record_test_answer(
        assignment=held.id, campaign=campaign, settings=terms.settings, right=right
    )
    return _Answered(now, submission_rows.holders_of(cursor, held, terms).answering, True, [])


def _measures(held: LeasedAssignment, terms: Terms, stratum: str) -> bool:
    return held.state == Assignment.LEASED or controls.measures_late(
        worker=held.worker,
        campaign=terms.id,
        kind=held.kind,
        revision=terms.revision,
        stratum=stratum,
    )


def _terms(cursor: Any, held: LeasedAssignment) -> tuple[Terms, WorkerState]:
    """Return what the next task needs, where nothing was stored."""
    cursor.execute("SELECT campaign_id FROM annotation_assignment WHERE id = %s", [held.id])
    (campaign,) = cursor.fetchone()
    terms = lease_terms.terms_of(cursor, campaign)
    return terms, submission_rows.holders_of(cursor, held, terms).answering


def _after(holder: WorkerState, events: Sequence[Any], terms: Terms) -> Any:
    trust = holder.trust
    rules = lease_terms.terms_trust_rules(terms, trust.kind, is_model=holder.is_model)
    for event in events:
        trust = trust_after_or_same(trust, event, rules)
    return trust
