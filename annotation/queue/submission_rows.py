"""The rows that storing an answer needs, with their locks: the assignment with its task or control item, the
worker, the drawer of the judged box, and the votes on the image.

Lock order: image, task, assignment, the worker (shared, against erasure meanwhile), then the trust states by
id.
"""

from typing import Any, NamedTuple

from annotation.common import database
from annotation.protocol.kinds import kind_of
from annotation.queue import image_state, lease_terms
from annotation.queue.answer_rows import LEASED_ASSIGNMENT_COLUMNS, LeasedAssignment
from annotation.queue.dispatch import WorkerState
from annotation.queue.lease_terms import CarriedSettings, Terms


class TaskNow(NamedTuple):
    """The current task of an assignment."""

    id: int
    state: str
    role: str
    barred: int | None


#: The columns of `TaskNow`, of a table called `t`.
_TASK = "t.id, t.state, t.role, t.barred_id"


class ControlNow(NamedTuple):
    """The control item of an assignment; `known` is text."""

    known: str
    active: bool
    stratum: str


#: The columns of `ControlNow`, of a table called `k`.
_CONTROL = "k.known, k.active, k.stratum"


class TaskRow(NamedTuple):
    """An assignment of a task: `now` are the campaign's terms, `terms` those of the lease."""

    held: LeasedAssignment
    task: TaskNow
    image: image_state.OpenImageRow
    now: Terms
    terms: Terms


class ControlRow(NamedTuple):
    """An assignment of a control item: `now` and `terms` as in `TaskRow`."""

    held: LeasedAssignment
    item: ControlNow
    now: Terms
    terms: Terms


def locked_row(cursor: Any, assignment: int) -> TaskRow | ControlRow | None:
    """Return an assignment with its task or control item, locked; None for none, or one of an erased
    worker."""
    return _task_row(cursor, assignment) or _control_row(cursor, assignment)


def _task_row(cursor: Any, assignment: int) -> TaskRow | None:
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
        row, LeasedAssignment, TaskNow, image_state.OpenImageRow, Terms, CarriedSettings
    )
    now = lease_terms.terms_from(terms)
    return TaskRow(held, task, image_state.row_from(image), now, lease_terms.terms_of_lease(now, carried))


def _control_row(cursor: Any, assignment: int) -> ControlRow | None:
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
    held, item, terms, carried = database.split_row(row, LeasedAssignment, ControlNow, Terms, CarriedSettings)
    now = lease_terms.terms_from(terms)
    return ControlRow(held, item, now, lease_terms.terms_of_lease(now, carried))


class Holders(NamedTuple):
    """The worker, the drawer of the judged box, if any, and the votes on the image."""

    answering: WorkerState
    drawer: WorkerState | None
    votes: list[image_state.Vote]


def holders_of(
    cursor: Any, held: LeasedAssignment, terms: Terms, drawer: int | None = None, image: int | None = None
) -> Holders:
    """Return the worker's trust state for the kind, and the drawer's for drawing, locked in the order of
    their ids, and the votes on `image`, whose lock is held, in one query."""
    also = " OR (s.worker_id = %s AND s.kind = %s)" if drawer is not None else ""
    along = image is not None and database.in_one_trip()
    database.execute(
        cursor,
        f"""SELECT {image_state.VOTES_AS_JSON if along else "NULL"}, {lease_terms.WORKER_STATE_COLUMNS}
            FROM annotation_truststate s JOIN annotation_worker w ON w.id = s.worker_id
            WHERE s.campaign_id = %s AND ((s.worker_id = %s AND s.kind = %s){also}) ORDER BY s.id"""
        + database.locking("s"),
        [
            *([image] if along else []),
            *[terms.id, held.worker, held.kind],
            *([drawer, kind_of(held.kind).judges] if drawer is not None else []),
        ],
    )
    rows = cursor.fetchall()
    holders = [lease_terms.worker_state_from(columns) for _votes, *columns in rows]
    holder = next(h for h in holders if h.worker == held.worker and h.trust.kind == held.kind)
    votes: list[image_state.Vote] = []
    if image is not None:
        stored, *_columns = rows[0]  # each row has all the votes
        votes = image_state.votes_from(stored) if along else image_state.votes_of(cursor, image)
    return Holders(holder, next((h for h in holders if h is not holder), None), votes)


def drawn_since(cursor: Any, drawer: WorkerState, image: int, key: str) -> bool:
    """Whether a model annotator drew the box of the question `key` after its trust state was reset: what it
    drew before retraining does not measure what it knows now. As in `replay`."""
    cursor.execute(
        """SELECT 1 FROM annotation_judgment j JOIN annotation_truststate s ON s.id = %s
           WHERE j.image_id = %s AND j.name = %s AND j.worker_id = s.worker_id AND j.id > s.since""",
        [drawer.id, image, key.split("|")[1]],
    )
    return cursor.fetchone() is not None
