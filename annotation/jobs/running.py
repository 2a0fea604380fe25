"""One run of a job: claim the row, do the work, write how it ended."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections, transaction
from django.db.models import F

from annotation import sql
from annotation.jobs.delivery import deliver
from annotation.jobs.kinds import Kind, kind_named
from annotation.jobs.progress import Cancelled, Progress, Stopping, Superseded, never
from annotation.jobs.rows import ATTEMPTS, BEAT, given_up
from annotation.models import Job
from annotation.registry import UnknownName

log = logging.getLogger(__name__)

#: What the driver raises where the database went away, or was too busy.
DATABASE_LOST = (OperationalError, InterfaceError)
#: Longest wait, in seconds, before a job that lost its database is tried again.
LONGEST_WAIT = 60.0
ERROR_LENGTH = 500


def run(
    job_id: int, *, stopping: Callable[[], bool] = never, limits: tuple[type[Exception], ...] = ()
) -> str | None:
    """Run the job `job_id` if it is queued; returns its state afterwards, or None where it is not ours.

    A second delivery of the same id finds it claimed and does nothing. `stopping` tells that this
    worker must end, `limits` are what the delivery raises into work that takes too long for it;
    in both cases, and where the database is lost, the job is queued again. Whatever else the
    work raises ends the job as failed: its row keeps one line, the log the traceback. Raises
    DATABASE_LOST where even that cannot be written; the sweep finds the job later.
    """
    job = _claim(job_id)
    if job is None:
        return None
    progress = Progress(job, stopping=stopping)
    try:
        kind = kind_named(job.kind)
    except UnknownName as error:
        return _end(progress, Job.FAILED, error=_line(str(error)))
    try:
        with _beating(progress):
            result = kind.work(progress, **job.arguments)
        return _end(progress, Job.DONE, result=dict(result or {}), share=1.0)
    except Superseded as reason:
        log.warning("%s", reason)
        return None
    except Cancelled:
        return _end(progress, Job.CANCELLED)
    except Stopping:
        return _hand_back(job, progress, forgiven=True)
    except limits:
        # One that gets nowhere in the time it is given would be begun for ever.
        return _hand_back(job, progress, forgiven=progress.share > job.share_before)
    except DATABASE_LOST as error:
        log.warning("job %d (%s) lost its database: %s", job.pk, job.kind, _line(str(error)))
        mend_connection()
        return _hand_back(job, progress, wait=min(LONGEST_WAIT, 2.0**job.attempts))
    except Exception as error:
        return _fail(kind, job, progress, error)


def mend_connection() -> None:
    """Drop this thread's connection where it is of no use any more; the next statement opens another."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()


def _claim(job_id: int) -> Job | None:
    """The job, now running by us; None where it is not queued any more."""
    at = sql.now()
    with sql.writing():
        queued = Job.objects.filter(pk=job_id, state=Job.QUEUED)
        if not queued.update(
            state=Job.RUNNING,
            started_at=at,
            heartbeat_at=at,
            finished_at=None,
            attempts=F("attempts") + 1,
            share_before=F("share"),
            error="",
        ):
            return None
        return Job.objects.select_related("campaign", "created_by").get(pk=job_id)


@contextlib.contextmanager
def _beating(progress: Progress) -> Iterator[None]:
    """Give a sign of life every BEAT seconds, however long the work takes between two steps."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            try:
                with sql.writing():
                    progress.row().update(heartbeat_at=sql.now())
            except DatabaseError as error:
                log.warning("no sign of life of job %d: %s", progress.job_id, _line(str(error)))
                connections.close_all()
        connections.close_all()

    thread = threading.Thread(target=beat, name=f"job {progress.job_id} lives", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(BEAT)


def _end(progress: Progress, state: str, **values: Any) -> str | None:
    """Write how the job ended, if it is still ours."""
    with sql.writing():
        ours = progress.row().update(state=state, finished_at=sql.now(), **values)
    return state if ours else None


def _fail(kind: Kind, job: Job, progress: Progress, error: Exception) -> str | None:
    if isinstance(error, kind.refusals):
        line = _line(str(error))
        log.warning("job %d (%s) is refused: %s", job.pk, job.kind, line)
    else:
        line = _line(f"{type(error).__name__}: {error}")
        log.error("job %d (%s) failed", job.pk, job.kind, exc_info=error)
    return _end(progress, Job.FAILED, error=line)


def _hand_back(job: Job, progress: Progress, *, forgiven: bool = False, wait: float = 0.0) -> str | None:
    """Queue the job again, to be run in `wait` seconds; `forgiven`, this run does not count as an attempt."""
    if not forgiven and job.attempts >= ATTEMPTS:
        return _end(progress, Job.FAILED, error=given_up(job))
    with sql.writing():
        row = progress.row()
        if not row.filter(cancel=False).update(
            state=Job.QUEUED,
            attempts=F("attempts") - (1 if forgiven else 0),
            heartbeat_at=sql.now() + timedelta(seconds=wait),
        ):
            return _end(progress, Job.CANCELLED)
        transaction.on_commit(partial(deliver, job.pk, wait=wait))
    return Job.QUEUED


def _line(text: str) -> str:
    """The first line of `text`, no longer than a row should hold."""
    return (text.strip().splitlines() or ["no message"])[0][:ERROR_LENGTH]
