"""An answer comes in: judgment, refold, standing, pay, and the next task, in one transaction.

The only writer of judgments and flags. Whatever becomes of an answer, it is stored and paid:

- in time, it takes the place its lease held; the image is folded anew;
- late (the lease ran out or was returned), it takes a place that is left, is moot where the
  question is closed, and surplus where others hold every place; of a platform's visitor no more
  such answers are taken than their study wants;
- a second time under the same token, nothing happens and the same is said again;
- on a control item, it is graded where that still measures the worker, and stays outside every fold.

Of somebody who was erased nothing is stored any more.

Locks: image, task, assignment, the worker (shared, so that nobody erases them meanwhile), then the standings
concerned, by id.
"""

from __future__ import annotations

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
from annotation.protocol.controls import double_checked
from annotation.protocol.kinds import is_page, kind_of, machine_kinds
from annotation.protocol.questions import Answer, BadJudgment, Judgment, judgment_name
from annotation.protocol.trust import BoxJudged, ControlGraded, trust_after_or_same
from annotation.quality import controls, qualification, worker_trust
from annotation.queue import answer_rows, image_state, lease_terms, leases, machine_turns, visits
from annotation.queue.answer_rows import LEASED_ASSIGNMENT_COLUMNS, AnswerContent, LeasedAssignment
from annotation.queue.dispatch import WorkerState
from annotation.queue.lease_terms import CarriedSettings, Terms
from annotation.queue.leases import Lease, NoTask

__all__ = ["Answer", "BadJudgment", "Conflict", "NotYours", "Receipt", "submit"]

_log = logging.getLogger(__name__)

_LONGEST_TOKEN = 64


class NotYours(LookupError):
    """There is no such assignment of this worker."""


class Conflict(ValueError):
    """The assignment was answered before, under another token; or the token was used for another one."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer is stored. `repeated`: it was before. `counted`: False where it is moot or surplus now."""

    assignment: int
    repeated: bool
    counted: bool
    next: Lease | NoTask | None


class _TaskNow(NamedTuple):
    """The task that an assignment is of, as it stands now."""

    id: int
    state: str
    role: str
    barred: int | None


#: The columns of `_TaskNow`, of a table called `t`.
_TASK = "t.id, t.state, t.role, t.barred_id"


class _KnownItem(NamedTuple):
    """The control item that an assignment is of; `known` is text."""

    known: str
    active: bool
    stratum: str


#: The columns of `_KnownItem`, of a table called `k`.
_CONTROL = "k.known, k.active, k.stratum"


class _OfTask(NamedTuple):
    """An assignment of a task: `now` are the campaign's terms, `terms` those that the lease carries."""

    held: LeasedAssignment
    task: _TaskNow
    image: image_state.OpenImageRow
    now: Terms
    terms: Terms


class _OfControl(NamedTuple):
    """An assignment of a known item: `now` and `terms` as in `_OfTask`."""

    held: LeasedAssignment
    item: _KnownItem
    now: Terms
    terms: Terms


class _Sent(NamedTuple):
    """What a worker sent, as `submit` takes it, and when it came."""

    answer: Answer
    token: str
    seconds: float | None
    schema: int
    at: datetime


class _Answered(NamedTuple):
    """What becomes of an answer: the statements that store it, still to be sent, and what comes next.

    `terms` are the campaign's as of now, for the next task; the answer itself is taken, graded and paid under
    those that its lease carries. `wakes`: the open image in which a machine may have something to answer now.
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
    """Store a worker's answer to what they hold, and take the next of the kind unless `then` is False.

    `token` is the idempotency key, 1 to 64 characters: the same one again stores nothing twice.
    `seconds` is the time the page saw activity; `holding` as in `leases.take`; `schema` the version
    of the answer's form. Raises NotYours, Conflict, and BadJudgment where the question does not
    take the answer; then nothing is stored.
    """
    if not 0 < len(token) <= _LONGEST_TOKEN:
        raise BadJudgment(f"the token has {len(token)} characters: expected 1 to {_LONGEST_TOKEN}")
    try:
        with database.writing(), connection.cursor() as cursor:
            row = _task_row(cursor, assignment) or _control_row(cursor, assignment)
            # Once the locks are held: an answer whose lease ran out while it waited for them came after that.
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
                sent = _Sent(answer, token, seconds, schema, at)
                if isinstance(row, _OfTask):
                    stored = _to_task(cursor, row, sent)
                else:
                    stored = _to_control(cursor, row, sent)
            following: Lease | NoTask | None = None
            # What was taken under an older consent text may be answered; no more is handed out under that.
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
            raise Conflict(_("This answer's token was used for another task: reload the page.")) from error
        raise
    if stored.wakes is not None:
        _let_machine_answer(stored.wakes)
    return Receipt(assignment, held.state == Assignment.SUBMITTED, stored.counted, following)


def _let_machine_answer(image: int) -> None:
    """Give a machine its turn at an image, once the answer is stored. Not on commit: SQLite's turn to write
    is still held then. Whatever goes wrong with it is no fault of the answer."""
    try:
        machine_turns.take_turn(image, submit)
    except Exception:
        _log.exception("the machine's turn at open image %d", image)


def _task_row(cursor: Any, assignment: int) -> _OfTask | None:
    database.execute(
        cursor,
        f"""SELECT {LEASED_ASSIGNMENT_COLUMNS.format(of="t")}, {_TASK},
                {image_state.OPEN_IMAGE_COLUMNS},
                {lease_terms.TERMS_COLUMNS}, {lease_terms.CARRIED_SETTINGS_COLUMNS}
            FROM annotation_assignment a JOIN annotation_task t ON t.id = a.task_id
            JOIN annotation_openimage o ON o.id = t.image_id
            JOIN annotation_image im ON im.id = o.image_id
            JOIN annotation_campaign c ON c.id = a.campaign_id
            JOIN annotation_worker w ON w.id = a.worker_id
            WHERE a.id = %s AND w.erased_at IS NULL"""
        + database.locking("o", "t", "a", shared="w"),
        [assignment],
    )
    row = cursor.fetchone()
    if row is None:
        return None
    held, task, image, terms, carried = database.split_row(
        row, LeasedAssignment, _TaskNow, image_state.OpenImageRow, Terms, CarriedSettings
    )
    now = lease_terms.terms_from(terms)
    return _OfTask(held, task, image_state.row_from(image), now, lease_terms.terms_of_lease(now, carried))


def _control_row(cursor: Any, assignment: int) -> _OfControl | None:
    cursor.execute(
        f"""SELECT {LEASED_ASSIGNMENT_COLUMNS.format(of="k")}, {_CONTROL},
                {lease_terms.TERMS_COLUMNS}, {lease_terms.CARRIED_SETTINGS_COLUMNS}
            FROM annotation_assignment a JOIN annotation_control k ON k.id = a.control_id
            JOIN annotation_image im ON im.id = k.image_id
            JOIN annotation_campaign c ON c.id = a.campaign_id
            JOIN annotation_worker w ON w.id = a.worker_id
            WHERE a.id = %s AND w.erased_at IS NULL"""
        + database.locking("a", shared="w"),
        [assignment],
    )
    row = cursor.fetchone()
    if row is None:
        return None
    held, item, terms, carried = database.split_row(row, LeasedAssignment, _KnownItem, Terms, CarriedSettings)
    now = lease_terms.terms_from(terms)
    return _OfControl(held, item, now, lease_terms.terms_of_lease(now, carried))


def _to_task(cursor: Any, row: _OfTask, sent: _Sent) -> _Answered:
    """An answer on a task: stored, folded, paid."""
    held, task, image, now, terms = row
    answer, at = sent.answer, sent.at
    drawer = task.barred if kind_of(held.kind).judges else None
    holder, drawn, votes = _holders(cursor, held, terms, drawer, image.id)
    _check_visit(cursor, held, terms, holder)
    if holder.machine:
        answer_rows.check_machine_answer(held, answer)
    content = answer_rows.answer_content(held, terms, answer)
    if holder.withdrawn:
        return _withdrawn(cursor, row, holder, content, sent)
    role, placed = held.role, True
    if held.state != Assignment.LEASED:
        role, placed = _late(cursor, task)
    if role == q.DOUBLE_CHECK and held.key in image.state["open"]:
        role = q.VOTE  # Asked again since the lease was given: the lease holds one of its places.
    name = _name_of(held, holder)
    judgment = Judgment(
        name,
        held.key,
        holder.pseudonym,
        answer.answer,
        answer.box,
        answer.flag,
        role,
        machine=holder.machine,
    )
    votes.append(image_state.Vote(held.worker, judgment))
    twice = (
        role == q.VOTE
        and not holder.machine  # Agreement is told of people, and people look at all that it says.
        and not answer.flag
        and image_state.image_settled_by_one_answer(image, held.kind)
        and double_checked(
            lease_terms.terms_trust_rules(terms, held.kind),
            seed=terms.seed,
            key=f"{held.image_key} {held.key}",
        )
    )
    found = image_state.image_difference(
        image,
        votes,
        at=at,
        placed=held.key if role == q.VOTE and placed else "",
        check=held.key if twice else "",
        checked=held.key if role == q.DOUBLE_CHECK and held.key in image.state["checks"] else "",
    )
    counted = role == q.DOUBLE_CHECK or (role == q.VOTE and name not in found.state.moot)
    changed = [worker_trust.trust_update(holder.id, after := _after(holder, content.events, terms), at)]
    # The first vote on a key is the verdict, whether or not the chain still waits for it, as in `replay`.
    first = role == q.VOTE and not any(
        v.judgment.key == held.key and v.judgment.role == q.VOTE and not v.judgment.flag for v in votes[:-1]
    )
    asked_at = database.time_from_sql(held.leased_at)
    if (
        drawn is not None
        and first
        and not answer.flag
        and (
            _drawn_since(cursor, drawn, image.id, held.key)
            if drawn.machine
            else controls.tells_of_drawer(terms.id, drawn.standing.kind, terms.revision, asked_at)
        )
    ):
        judged = BoxJudged(answer.answer == "good")
        changed.append(worker_trust.trust_update(drawn.id, _after(drawn, [judged], terms), at))
    wakes = bool(now.settings.machine.share) and not holder.machine and bool(machine_kinds(found.opened))
    statements = [
        *answer_rows.insert_judgment(
            held, terms, judgment, answer.way, content.kept, image.id, sent.schema, at
        ),
        *(answer_rows.insert_flag(held, answer) if answer.flag else ()),
        answer_rows.end_assignment(held, terms, sent.token, sent.seconds, at, unpaid=holder.machine),
        *content.graded,
        *found.statements,
        *changed,
    ]
    return _Answered(
        now, holder._replace(standing=after), counted, statements, wakes=image.id if wakes else None
    )


def _withdrawn(
    cursor: Any, row: _OfTask, holder: WorkerState, content: AnswerContent, sent: _Sent
) -> _Answered:
    """An answer of somebody whose judgments are withdrawn: stored void, and paid but for a machine's; its
    place is free again."""
    held, terms, answer, at = row.held, row.terms, sent.answer, sent.at
    if held.state == Assignment.LEASED:
        cursor.execute("UPDATE annotation_task SET live = live - 1 WHERE id = %s", [row.task.id])
    name = _name_of(held, holder)
    judgment = Judgment(
        name, held.key, holder.pseudonym, answer.answer, answer.box, answer.flag, held.role, void=True
    )
    after = _after(holder, content.events, terms)
    statements = [
        *answer_rows.insert_judgment(
            held, terms, judgment, answer.way, content.kept, row.image.id, sent.schema, at
        ),
        *(answer_rows.insert_flag(held, answer) if answer.flag else ()),
        answer_rows.end_assignment(held, terms, sent.token, sent.seconds, at, unpaid=holder.machine),
        *content.graded,
        worker_trust.trust_update(holder.id, after, at),
    ]
    return _Answered(row.now, holder._replace(standing=after), False, statements)


def _name_of(held: LeasedAssignment, holder: WorkerState) -> str:
    """The name of an answer to a task. Only a machine answers one more than once."""
    attempt = held.attempt if holder.machine else 0
    return judgment_name(held.image_key, holder.pseudonym, held.key, attempt)


def _check_visit(cursor: Any, held: LeasedAssignment, terms: Terms, holder: WorkerState) -> None:
    """Raise NotYours where a late answer is one more than the studies wanted that its worker came by: else
    whoever takes tasks and returns them would be owed for all of them."""
    if not holder.visitor or held.state == Assignment.LEASED:
        return
    if held.role != qualification.QUALIFICATION_ROLE and not visits.takes_late_answer(
        cursor, worker=held.worker, campaign=terms.id
    ):
        raise NotYours(visits.no_task_beyond_visit().text)


def _late(cursor: Any, task: _TaskNow) -> tuple[str, bool]:
    """The role of an answer whose lease is over, and whether it got a place."""
    cursor.execute(
        "UPDATE annotation_task SET live = live + 1 WHERE id = %s AND state = 'open' AND live < wanted",
        [task.id],
    )
    if cursor.rowcount:
        return task.role, True
    return (q.SURPLUS if task.state == Task.OPEN else q.VOTE), False


def _to_control(cursor: Any, row: _OfControl, sent: _Sent) -> _Answered:
    """An answer on a control item: graded, and paid unless it is of a test.

    One that was retired meanwhile measures nobody, and a late answer only where it unbalances nothing; either
    counts as any other. A test is fixed once it has begun.
    """
    held, item, now, terms = row
    answer, at = sent.answer, sent.at
    holder = _holders(cursor, held, terms).own
    _check_visit(cursor, held, terms, holder)
    content = answer_rows.answer_content(held, terms, answer)
    right: bool | None = None
    alone = not is_page(held.kind)
    if held.role == qualification.QUALIFICATION_ROLE or (
        alone and item.active and _measures(held, now, item.stratum)
    ):
        right = controls.grade_control(
            kind=held.kind, known=json.loads(item.known), given=answer, settings=terms.settings.trust
        )
    name = judgment_name(held.image_key, holder.pseudonym, held.key)
    judgment = Judgment(name, held.key, holder.pseudonym, answer.answer, answer.box, answer.flag, held.role)
    statements = [
        *answer_rows.insert_judgment(held, terms, judgment, answer.way, content.kept, None, sent.schema, at),
        *(answer_rows.insert_flag(held, answer) if answer.flag else ()),
        answer_rows.end_assignment(held, terms, sent.token, sent.seconds, at, right=right),
        *content.graded,
    ]
    if held.role != qualification.QUALIFICATION_ROLE:
        events = content.events if right is None else [ControlGraded(right)]
        after = _after(holder, events, terms)
        statements.append(worker_trust.trust_update(holder.id, after, at))
        return _Answered(now, holder._replace(standing=after), True, statements)
    database.send_statements(cursor, statements)
    campaign = Campaign.objects.get(pk=terms.id)
    assert right is not None
    qualification.record_test_answer(
        assignment=held.id, campaign=campaign, settings=terms.settings, right=right
    )
    return _Answered(now, _holders(cursor, held, terms).own, True, [])


def _measures(held: LeasedAssignment, terms: Terms, stratum: str) -> bool:
    return held.state == Assignment.LEASED or controls.measures_late(
        worker=held.worker,
        campaign=terms.id,
        kind=held.kind,
        revision=terms.revision,
        stratum=stratum,
    )


def _terms(cursor: Any, held: LeasedAssignment) -> tuple[Terms, WorkerState]:
    """What the next task needs, where nothing was stored."""
    cursor.execute("SELECT campaign_id FROM annotation_assignment WHERE id = %s", [held.id])
    (campaign,) = cursor.fetchone()
    terms = lease_terms.terms_of(cursor, campaign)
    return terms, _holders(cursor, held, terms).own


class _Holders(NamedTuple):
    """Who answers, who drew what they judge, if anybody, and the votes on the image."""

    own: WorkerState
    drawer: WorkerState | None
    votes: list[image_state.Vote]


def _holders(
    cursor: Any, held: LeasedAssignment, terms: Terms, drawer: int | None = None, image: int | None = None
) -> _Holders:
    """The worker's standing for the kind, and the drawer's for drawing, locked in the order of their ids;
    the votes on `image`, whose lock is held, in the same trip."""
    also = " OR (s.worker_id = %s AND s.kind = %s)" if drawer is not None else ""
    along = image is not None and database.in_one_trip()
    database.execute(
        cursor,
        f"""SELECT {image_state.VOTES_AS_JSON if along else "NULL"}, {lease_terms.WORKER_STATE_COLUMNS}
            FROM annotation_standing s JOIN annotation_worker w ON w.id = s.worker_id
            WHERE s.campaign_id = %s AND ((s.worker_id = %s AND s.kind = %s){also}) ORDER BY s.id"""
        + database.locking("s"),
        [
            *([image] if along else []),
            *[terms.id, held.worker, held.kind],
            *([drawer, kind_of(held.kind).judges] if drawer is not None else []),
        ],
    )
    rows = cursor.fetchall()
    found = [lease_terms.worker_state_from(columns) for _votes, *columns in rows]
    own = next(h for h in found if h.worker == held.worker and h.standing.kind == held.kind)
    votes: list[image_state.Vote] = []
    if image is not None:
        stored, *_columns = rows[0]  # Each row has all the votes.
        votes = image_state.votes_from(stored) if along else image_state.votes_of(cursor, image)
    return _Holders(own, next((h for h in found if h is not own), None), votes)


def _drawn_since(cursor: Any, drawer: WorkerState, image: int, key: str) -> bool:
    """Whether a machine drew the box that a question `key` is about since its standing was given: what it
    drew before it learnt again says nothing of what it knows now. As in `replay`."""
    cursor.execute(
        """SELECT 1 FROM annotation_judgment j JOIN annotation_standing s ON s.id = %s
           WHERE j.image_id = %s AND j.name = %s AND j.worker_id = s.worker_id AND j.id > s.since""",
        [drawer.id, image, key.split("|")[1]],
    )
    return cursor.fetchone() is not None


def _after(holder: WorkerState, events: Sequence[Any], terms: Terms) -> Any:
    standing = holder.standing
    rules = lease_terms.terms_trust_rules(terms, standing.kind, machine=holder.machine)
    for event in events:
        standing = trust_after_or_same(standing, event, rules)
    return standing
