"""Renewing leases, and ending them without an answer: returned or expired."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from annotation.common import database
from annotation.models import Assignment
from annotation.queue import lease_terms


def renew_lease(*, worker: int, assignment: int) -> datetime | None:
    """Renew a lease after a sign of life; return its new end, or None if it is no longer this worker's."""
    with database.writing(), connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {lease_terms.TERMS_COLUMNS}, {lease_terms.CARRIED_SETTINGS_COLUMNS}
            FROM annotation_assignment a
               JOIN annotation_campaign c ON c.id = a.campaign_id
               WHERE a.id = %s AND a.worker_id = %s AND a.state = 'leased'""",
            [assignment, worker],
        )
        row = cursor.fetchone()
        if row is None:
            return None
        now, carried = database.split_row(row, lease_terms.Terms, lease_terms.CarriedSettings)
        terms = lease_terms.terms_of_lease(lease_terms.terms_from(now), carried)
        expires = database.now() + timedelta(minutes=terms.settings.lease.minutes)
        cursor.execute(
            "UPDATE annotation_assignment SET expires_at = %s WHERE id = %s AND state = 'leased'",
            [database.sql_time(expires), assignment],
        )
        return expires if cursor.rowcount else None


def return_lease(*, worker: int, assignment: int) -> bool:
    """Return a task unanswered: its place becomes free for others. False if the worker does not hold
    it."""
    with database.writing():
        return bool(
            _end(
                Assignment.RETURNED,
                "a.id = %s AND a.worker_id = %s",
                [assignment, worker],
                limit=1,
                skip=False,
            )
        )


def end_expired_leases(*, limit: int = 1000) -> int:
    """End expired leases, at most `limit`; return their number.

    Those being submitted at the moment are skipped.
    """
    with database.writing():
        return _end(
            Assignment.EXPIRED,
            "a.expires_at < %s",
            [database.sql_time(database.now())],
            limit=limit,
            skip=True,
        )


def return_leases_of(*, image: int, keys: Sequence[str] | None = None) -> int:
    """Return every lease on the tasks of an open image, or on those with these keys, unanswered; return their
    number.

    Call inside `database.writing()`.
    """
    which = "o.id = %s" if keys is None else f"o.id = %s AND t.key IN ({', '.join(['%s'] * len(keys))})"
    with connection.cursor() as cursor:
        ids = _free_places(cursor, which, [image, *(keys or ())], " ORDER BY a.id")
    return _ended(Assignment.RETURNED, ids)


def return_leases_of_controls(controls: Iterable[int]) -> int:
    """Return every lease on these control items unanswered; return their number. Inside
    `database.writing()`."""
    held = Assignment.objects.filter(control__in=list(controls), state=Assignment.LEASED)
    return _ended(Assignment.RETURNED, list(held.values_list("pk", flat=True)))


def _end(state: str, which: str, values: Sequence[Any], *, limit: int, skip: bool) -> int:
    """End leases, freeing the places of those on tasks."""
    order = f" ORDER BY a.expires_at LIMIT {limit}"
    with connection.cursor() as cursor:
        ids = _free_places(cursor, which, values, order, skip=skip)
        cursor.execute(
            f"""SELECT a.id FROM annotation_assignment a
                WHERE a.task_id IS NULL AND a.state = 'leased' AND {which}{order}"""
            + database.locking("a", skip=skip),
            values,
        )
        ids += [assignment for (assignment,) in cursor.fetchall()]
    return _ended(state, ids)


def _free_places(
    cursor: Any, which: str, values: Sequence[Any], order: str, *, skip: bool = False
) -> list[int]:
    """Free the places of leases on tasks; return the ids of these leases."""
    # Image, then task, then assignment: the order in which an answer locks them.
    cursor.execute(
        f"""SELECT a.id, t.id FROM annotation_openimage o, annotation_task t, annotation_assignment a
            WHERE t.id = a.task_id AND o.id = t.image_id AND a.state = 'leased' AND {which}{order}"""
        + database.locking("o", "t", "a", skip=skip),
        values,
    )
    ended = cursor.fetchall()
    # A worker has a task at most once, but several workers may hold it.
    for task in sorted({task for _, task in ended}):
        places = sum(ended_task == task for _, ended_task in ended)
        cursor.execute("UPDATE annotation_task SET live = live - %s WHERE id = %s", [places, task])
    return [assignment for assignment, _ in ended]


def _ended(state: str, ids: Sequence[int]) -> int:
    return Assignment.objects.filter(pk__in=ids).update(state=state, ended_at=database.now()) if ids else 0
