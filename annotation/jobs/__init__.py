"""Jobs: what takes longer than a page may, done beside the pages.

A job is a row (`models.Job`), and the row is the truth about it. A delivery only brings ids:
Celery's workers where there is a broker (`celery_tasks`), else the embedded worker, which looks
for queued rows (`embedded`). Both call `run`.

    job = enqueue(kind="export_dataset", arguments={"corpus": "sample", "format": "entities"}, actor=account)
    cancel(job_id=job.pk, actor=account)
    resume(job_id=job.pk, actor=account)

What a kind of job does is one file in an app's package `jobs.kinds`.
"""

from annotation.common.outages import DATABASE_LOST, mend_connection
from annotation.jobs.progress import Cancelled, Interrupted, JobProgress, Stopping, Superseded
from annotation.jobs.registry import JobKind, job_kind, job_kind_named, kinds_of_other_apps
from annotation.jobs.rows import (
    JobError,
    SweptJobs,
    cancel_job,
    due_job,
    enqueue,
    enqueue_operation,
    job_numbered,
    remaining,
    resume_job,
    sweep_jobs,
)
from annotation.jobs.running import LeftRunning, run_queued_job

__all__ = [
    "DATABASE_LOST",
    "Cancelled",
    "Interrupted",
    "JobError",
    "JobKind",
    "LeftRunning",
    "JobProgress",
    "Stopping",
    "Superseded",
    "SweptJobs",
    "cancel_job",
    "due_job",
    "enqueue",
    "enqueue_operation",
    "job_kind",
    "job_numbered",
    "job_kind_named",
    "kinds_of_other_apps",
    "mend_connection",
    "remaining",
    "resume_job",
    "run_queued_job",
    "sweep_jobs",
]
