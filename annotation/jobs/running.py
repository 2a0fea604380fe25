"""One run of a job: claim the row, do the work, write how it ended."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import DataError, Error, connections, transaction
from django.db.models import F, Q

from annotation.common import database
from annotation.common.locks import Busy
from annotation.common.outages import DATABASE_LOST, LONGEST_WAIT, insist, mend_connection, never, one_line
from annotation.jobs.progress import Cancelled, JobProgress, Stopping, Superseded
from annotation.jobs.registry import job_kind_named
from annotation.jobs.rows import (
    BEAT,
    JOB_ATTEMPTS,
    Stopped,
    announce_end,
    deliver,
    give_up_reason,
    stopped_by_limit,
)
from annotation.models import Job
from models_core.memory import memory_errors
from phrasebox.registry import UnknownName

_log = logging.getLogger(__name__)

#: Writes how a job ended; returns its state afterwards, None where the row belongs to another run by now.
Closing = Callable[[], str | None]


class LeftRunning(Exception):
    """A run could not write its start or end, since the database stayed unavailable: its row may still say
    that it runs.

    A caller that passes `claimed` to the job's next `run_queued_job` takes the row over; otherwise the sweep
    finds it. `why` is the database's message.
    """

    def __init__(self, job_id: int, claimed: datetime, why: str) -> None:
        super().__init__(job_id, claimed, why)
        self.job_id, self.claimed, self.why = job_id, claimed, why

    def __str__(self) -> str:
        return f"job {self.job_id} waits for the database: {self.why}"


def run_queued_job(
    job_id: int,
    *,
    claimed: datetime | None = None,
    stopping: Callable[[], bool] = never,
    limits: tuple[type[Exception], ...] = (),
) -> str | None:
    """Run the job `job_id` if it is queued; return its state afterwards, or None if it belongs to another
    run.

    A second delivery of the same id finds it claimed and does nothing. `stopping` returns whether this worker
    must end, `limits` are the exceptions that the delivery raises in work that takes too long; in both cases,
    and where the work loses the database, the job is queued again. Any other exception of the work ends the
    job as failed: its row stores one line, the log the traceback. The end is retried until the database
    accepts it. Raises LeftRunning if that takes too long; its `claimed` lets the next run take over the
    row.
    """
    at = database.now()
    try:
        job = _claim(job_id, at, claimed)
    except DATABASE_LOST as error:
        # Committed or not: unknown. The time of an earlier claim is the better guess.
        mend_connection()
        raise LeftRunning(job_id, claimed or at, one_line(error)) from error
    if job is None:
        return None
    progress = JobProgress(job, stopping=stopping)
    written = partial(insist, what=f"the end of job {job.pk} ({job.kind})", stopping=stopping)
    with _beating(progress):
        closing = _worked(job, progress, limits)
        try:
            try:
                return written(closing)
            except limits:  # while the end was being written, which takes a moment
                return written(closing)
            except (TypeError, ValueError, DataError) as error:  # a result that no row can hold
                return written(_failed(job, progress, error))
        except DATABASE_LOST as error:
            raise LeftRunning(job.pk, job.started_at or at, one_line(error)) from error


def _worked(job: Job, progress: JobProgress, limits: tuple[type[Exception], ...]) -> Closing:
    """Do the job's work; return the function that writes its end."""
    try:
        kind = job_kind_named(job.kind)
    except UnknownName as error:
        return partial(_end, progress, Job.FAILED, error=one_line(error))
    try:
        with memory_errors(f"a job {job.kind!r}"):
            result = kind.work(progress, **job.arguments)
        return partial(_end, progress, Job.DONE, result=dict(result or {}), share=1.0)
    except Superseded as reason:
        _log.warning("%s", reason)
        return lambda: None
    except Cancelled:
        return partial(_end, progress, Job.CANCELLED)
    except Stopping:
        return partial(_hand_back, job, progress, forgiven=True)
    except limits:
        lived = (database.now() - (job.started_at or database.now())).total_seconds()
        _log.warning("job %d (%s) was stopped by its time limit after %.0f s", job.pk, job.kind, lived)
        # A job that makes no progress within its limit would be restarted forever.
        forgiven = progress.share > job.share_before
        return partial(_hand_back, job, progress, stopped_by_limit("stopped", lived), forgiven=forgiven)
    except DATABASE_LOST as error:
        _log.warning("job %d (%s) lost its database: %s", job.pk, job.kind, one_line(error))
        mend_connection()
        wait = min(LONGEST_WAIT, 2.0**job.attempts)
        # The driver's message names hosts and users, which readers of the row need not know.
        stopped = Stopped("the last time it lost its database", "see in the worker's log why")
        return partial(_hand_back, job, progress, stopped, wait=wait)
    except Busy as error:
        if job.attempts == 1:
            return partial(_end, progress, Job.FAILED, error=one_line(error))
        # Possibly an earlier run of this job that counted as lost: it stops at its next step.
        _log.warning("job %d (%s) waits: %s", job.pk, job.kind, one_line(error))
        stopped = Stopped(f"the last time it met this: {one_line(error)}", "wait until that is over")
        return partial(_hand_back, job, progress, stopped, wait=LONGEST_WAIT)
    except kind.expected_errors as error:
        message = one_line(error)
        _log.warning("job %d (%s) is refused: %s", job.pk, job.kind, message)
        return partial(_end, progress, Job.FAILED, error=message)
    except Exception as error:
        return _failed(job, progress, error)


def _failed(job: Job, progress: JobProgress, error: Exception) -> Closing:
    _log.error("job %d (%s) failed", job.pk, job.kind, exc_info=error)
    return partial(_end, progress, Job.FAILED, error=one_line(f"{type(error).__name__}: {error}"))


def _claim(job_id: int, at: datetime, claimed: datetime | None) -> Job | None:
    """Claim the job for this run since `at`; None if it is not queued any more.

    A job that a finished run of ours `claimed` belongs to us too.
    """
    free = Q(state=Job.QUEUED)
    if claimed is not None:
        free |= Q(state=Job.RUNNING, started_at=claimed)
    with database.writing():
        if not Job.objects.filter(free, pk=job_id).update(
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
def _beating(progress: JobProgress) -> Iterator[None]:
    """Give a sign of life every BEAT seconds, however long the work takes between two steps."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            try:
                with database.writing():
                    progress.row().filter(state=Job.RUNNING).update(heartbeat_at=database.now())
            except Error as error:
                _log.warning("no sign of life of job %d: %s", progress.job_id, one_line(error))
                connections.close_all()
        connections.close_all()

    thread = threading.Thread(target=beat, name=f"job {progress.job_id} lives", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(BEAT)


def _end(progress: JobProgress, state: str, **values: Any) -> str | None:
    """Write how the job ended, if it still belongs to us."""
    with database.writing():
        ours = progress.row().update(state=state, finished_at=database.now(), **values)
        if ours:
            announce_end(Job.objects.select_related("campaign__corpus", "corpus").get(pk=progress.job_id))
    return state if ours else None


def _hand_back(
    job: Job,
    progress: JobProgress,
    stopped: Stopped | None = None,
    *,
    forgiven: bool = False,
    wait: float = 0.0,
) -> str | None:
    """Queue the job again, to be run in `wait` seconds, or end it where it was started too often.

    `stopped` says what interrupted it; if `forgiven`, this run does not count as an attempt.
    """
    if not forgiven and job.attempts >= JOB_ATTEMPTS:
        return _end(progress, Job.FAILED, error=give_up_reason(job, stopped))
    # The absolute number of attempts, not a decrement: this may be written twice.
    values = {
        "state": Job.QUEUED,
        "attempts": job.attempts - (1 if forgiven else 0),
        "heartbeat_at": database.now() + timedelta(seconds=wait),
    }
    with database.writing():
        if not progress.row().filter(cancel=False).update(**values):
            return _end(progress, Job.CANCELLED)
        transaction.on_commit(partial(deliver, job.pk, wait=wait))
    return Job.QUEUED
