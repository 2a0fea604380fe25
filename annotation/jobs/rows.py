"""Jobs as rows: queueing, delivery to a worker, cancelling, resuming, and recovering lost ones.

`heartbeat_at` of a running job is its last sign of life; of a queued one, when its id was last passed to a
delivery, or the earliest time at which it may run.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import celery
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from kombu.exceptions import OperationalError

from annotation import audit
from annotation.common import database
from annotation.common.operations import Operation, OperationContext, request_to_dict
from annotation.jobs.registry import job_kind_named
from annotation.models import Account, Campaign, Corpus, Job
from annotation.notifications.events import announce
from annotation.notifications.hooks import JOB_ENDED
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName

_log = logging.getLogger(__name__)

#: The Celery task of `celery_tasks` that runs a job.
RUN_JOB = "annotation.run_job"


def by_broker() -> bool:
    """Whether ids are sent to a broker; else the embedded worker finds the rows."""
    return bool(settings.REDIS_URL)


def deliver(job_id: int, *, wait: float = 0.0) -> bool:
    """Send a job's id to the workers, to be run in `wait` seconds; return whether the broker accepted it.

    Call it after the row is committed. Nothing is lost where the broker cannot be reached: the sweep sends
    what is still queued.
    """
    if not by_broker():
        return False
    try:
        celery.current_app.send_task(RUN_JOB, args=[job_id], countdown=wait or None)
    except OperationalError as error:
        _log.warning("job %d waits for the sweep: the broker cannot be reached (%s)", job_id, error)
        return False
    return True


#: Seconds without a sign of life after which a running job counts as lost; a job gives one every BEAT.
LOST = 40.0
BEAT = 5.0
#: How often a job may be started, apart from orderly stops, before it fails.
JOB_ATTEMPTS = 5
#: Seconds after which a queued job's id is sent again: half its age, between these bounds.
FORGOTTEN = (60.0, 600.0)
#: Seconds in the future beyond which a row's time must come from a clock that has been set back since. The
#: longest legitimate wait is a minute.
AHEAD = 120.0
#: Number of rows that one sweep reads.
_PAGE = 1000


class JobError(PhraseboxError):
    """A job that cannot be created, cancelled or resumed; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class SweptJobs:
    """The results of a sweep: lost jobs that were queued again, failed, or cancelled, and ids that were sent
    again."""

    again: int = 0
    failed: int = 0
    cancelled: int = 0
    resent: int = 0


def enqueue(
    *,
    kind: str,
    arguments: Mapping[str, Any] | None = None,
    campaign: Campaign | None = None,
    corpus: Corpus | None = None,
    actor: Account | None = None,
) -> Job:
    """Create a queued job, which is delivered when the surrounding transaction is committed.

    `campaign` or `corpus` determines whose staff may see, cancel and resume it; without either: admins of the
    whole server, and the account that requested it; for another app's kinds also researchers of the whole
    server. If the same job (kind, campaign, arguments) is queued or running, that one is returned, so that a
    repeated request changes nothing. Raises UnknownName for an unknown kind, and JobError for arguments that
    the kind does not accept or JSON cannot hold.
    """
    try:
        json_arguments = json.loads(json.dumps(dict(arguments or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise JobError(f"arguments of a {kind!r} job must be JSON: {error}") from error
    if problem := job_kind_named(kind).invalid_arguments(json_arguments):
        raise JobError(f"arguments of a {kind!r} job: {problem}")
    return _queued(kind, json_arguments, campaign, corpus, actor)


def _queued(
    kind: str,
    arguments: Mapping[str, Any],
    campaign: Campaign | None,
    corpus: Corpus | None,
    actor: Account | None,
) -> Job:
    with database.writing():
        _one_at_a_time(kind)
        for job in Job.objects.filter(
            kind=kind, campaign=campaign, corpus=corpus, state__in=Job.LIVE, cancel=False
        ):
            if job.arguments == arguments:
                return job
        job = Job.objects.create(
            kind=kind,
            arguments=arguments,
            campaign=campaign,
            corpus=corpus,
            created_by=actor,
            heartbeat_at=database.now(),
        )
        transaction.on_commit(partial(deliver, job.pk))
    return job


def enqueue_operation(operation: Operation, request: Any, *, row: Any, actor: Account | None) -> Job:
    """Queue a job that runs an operation, for the corpus or campaign of the `row` to which its permission
    applies, else for the one that its request names; raises what the operation checks before its job
    begins."""
    if row is None and hasattr(request, "row"):
        row = request.row()
    if operation.before_job is not None:
        request = operation.before_job(request, OperationContext(actor))
    campaign = row if isinstance(row, Campaign) else None
    corpus = row if isinstance(row, Corpus) else getattr(row, "corpus", None)
    arguments = request_to_dict(request)
    return _queued(operation.name, arguments, campaign, None if campaign else corpus, actor)


def job_numbered(job_id: int) -> Job:
    """Return the job of that number; raises JobError if there is none."""
    job = Job.objects.filter(pk=job_id).first()
    if job is None:
        raise JobError(f"there is no job {job_id}")
    return job


def cancel_job(*, job_id: int, actor: Account | None = None) -> Job:
    """Cancel a job: at once if it is queued, at its next step if it runs. Its checkpoint is kept.

    Raises JobError if it has ended.
    """
    with database.writing():
        row = Job.objects.filter(pk=job_id)
        waiting = row.filter(state=Job.QUEUED)
        if not waiting.update(
            state=Job.CANCELLED, cancel=True, finished_at=database.now()
        ) and not row.filter(state=Job.RUNNING).update(cancel=True):
            job = job_numbered(job_id)
            raise JobError(f"job {job_id} is {job.state}; only queued and running ones can be cancelled")
        job = job_numbered(job_id)
        audit.record(actor=actor, act="cancel_job", campaign=job.campaign, job=job.pk, kind=job.kind)
        if job.state == Job.CANCELLED:
            announce_end(job)
    return job


def resume_job(*, job_id: int, actor: Account | None = None) -> Job:
    """Queue a failed or cancelled job again; it continues from its last checkpoint.

    Raises JobError for other states, and UnknownName if its kind no longer exists.
    """
    with database.writing():
        job_kind_named(job_numbered(job_id).kind)
        ended = Job.objects.filter(pk=job_id, state__in=(Job.FAILED, Job.CANCELLED))
        if not ended.update(
            state=Job.QUEUED,
            cancel=False,
            error="",
            attempts=0,
            finished_at=None,
            heartbeat_at=database.now(),
        ):
            job = job_numbered(job_id)
            raise JobError(f"job {job_id} is {job.state}; only failed and cancelled ones can be resumed")
        job = job_numbered(job_id)
        audit.record(actor=actor, act="resume_job", campaign=job.campaign, job=job.pk, kind=job.kind)
        transaction.on_commit(partial(deliver, job.pk))
    return job


def announce_end(job: Job) -> None:
    """Notify webhooks that a job ended; call it within the transaction that writes its end.

    The notification contains neither its result nor its error: reading the job by its number requires a role.
    """
    try:
        if job_kind_named(job.kind).quiet:
            return
    except UnknownName:
        pass  # written by another version, but it ended all the same
    announce(
        JOB_ENDED,
        campaign=job.campaign,
        corpus=job.corpus,
        data={"job": job.pk, "kind": job.kind, "state": job.state},
    )


def due_job() -> int | None:
    """Return the id of the queued job that has waited longest, for a worker that polls."""
    waiting = Job.objects.filter(state=Job.QUEUED, heartbeat_at__lte=database.now())
    return waiting.order_by("heartbeat_at", "pk").values_list("pk", flat=True).first()


def sweep_jobs() -> SweptJobs:
    """Queue jobs again that a dead worker left running, and send ids again that the broker lost.

    A job that was started `JOB_ATTEMPTS` times in vain fails with that message. Any number of processes may
    sweep at once: each row is changed by one of them.
    """
    _set_right()
    swept = SweptJobs()
    silent = Q(heartbeat_at=None) | Q(heartbeat_at__lt=database.now() - timedelta(seconds=LOST))
    for job in Job.objects.filter(silent, state=Job.RUNNING).order_by("pk")[:_PAGE]:
        did = _take_back(job)
        swept = replace(swept, **{name: getattr(swept, name) + 1 for name in did})
    return replace(swept, resent=_send_again())


def _set_right() -> None:
    """Replace times that are far in the future by now, or a job would wait until then."""
    at = database.now()
    ahead = Job.objects.filter(state__in=Job.LIVE, heartbeat_at__gt=at + timedelta(seconds=AHEAD))
    if ahead.exists():
        with database.writing():
            ahead.update(heartbeat_at=at)


def _take_back(job: Job) -> list[str]:
    """Queue a lost job again, or end it; return the fields of SweptJobs that count it, if it was still
    lost."""
    at = database.now()
    name = "again"
    values: dict[str, Any] = {"state": Job.QUEUED, "heartbeat_at": at}
    if job.cancel:
        name, values = "cancelled", {"state": Job.CANCELLED, "finished_at": at}
    elif job.attempts >= JOB_ATTEMPTS:
        name, values = "failed", {"state": Job.FAILED, "finished_at": at, "error": give_up_reason(job)}
    with database.writing():
        row = Job.objects.filter(pk=job.pk, state=Job.RUNNING, heartbeat_at=job.heartbeat_at)
        if not row.filter(cancel=job.cancel).update(**values):
            return []
        if name == "again":
            transaction.on_commit(partial(deliver, job.pk))
        else:
            announce_end(job_numbered(job.pk))
    return [name]


class Stopped(NamedTuple):
    """What interrupted a run of a job, and the remedy."""

    how: str
    look: str


def stopped_by_limit(did: str, seconds: float) -> Stopped:
    """Return the description of a run to which a time limit `did` something after that many seconds."""
    return Stopped(
        f"the last time its time limit {did} it after {seconds:.0f} s",
        "check in the worker's log what takes so long",
    )


def give_up_reason(job: Job, stopped: Stopped | None = None) -> str:
    """Return the error of a job that was started too often; `stopped` is how its last run ended, if known."""
    how, look = stopped or _killed_by_limit(job) or _ENDED
    return f"begun {job.attempts} times, and {how}; {look}, then resume it"


_ENDED = Stopped("each time its worker ended without finishing it", "check the worker's log")


def _killed_by_limit(job: Job) -> Stopped | None:
    """Return that Celery killed the job's worker, which had not ended at the soft limit; None if it did
    not."""
    if not by_broker() or job.started_at is None or job.heartbeat_at is None:
        return None
    lived = (job.heartbeat_at - job.started_at).total_seconds()
    limit: int = settings.CELERY_TASK_TIME_LIMIT
    # The last sign of life is a little older than the end.
    return stopped_by_limit("killed", limit) if lived > limit - 3 * BEAT else None


def _send_again() -> int:
    """Send the ids of queued jobs again that no worker took for long; return their number."""
    at = database.now()
    # Rows that other code wrote have no time yet; without one the embedded worker skips them.
    with database.writing():
        Job.objects.filter(state=Job.QUEUED, heartbeat_at=None).update(heartbeat_at=at)
    if not by_broker():
        return 0
    shortest, longest = FORGOTTEN
    waiting = Job.objects.filter(state=Job.QUEUED, heartbeat_at__lt=at - timedelta(seconds=shortest))
    again = 0
    for job in waiting.order_by("heartbeat_at")[:_PAGE]:
        assert job.heartbeat_at is not None
        # A long queue does not mean loss: the longer a job waits, the less often it is sent again.
        patience = min(longest, max(shortest, (job.heartbeat_at - job.created_at).total_seconds() / 2))
        if job.heartbeat_at > at - timedelta(seconds=patience):
            continue
        with database.writing():
            row = Job.objects.filter(pk=job.pk, state=Job.QUEUED, heartbeat_at=job.heartbeat_at)
            again += row.update(heartbeat_at=at)
        if not deliver(job.pk):
            break
    return again


def remaining(job: Job, *, at: datetime | None = None) -> float | None:
    """Return the remaining seconds of a running job, at the speed of this run; None if unknown."""
    if job.state != Job.RUNNING or job.started_at is None or job.share <= job.share_before:
        return None
    elapsed = ((at or database.now()) - job.started_at).total_seconds()
    return max(0.0, elapsed) * (1.0 - job.share) / (job.share - job.share_before)


def _one_at_a_time(kind: str) -> None:
    """Block other requests for jobs of `kind` until this transaction ends; on SQLite there are no other
    writers."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"job {kind}"])
