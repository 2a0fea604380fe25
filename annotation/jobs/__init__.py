"""Jobs: work that takes longer than a page request may, done in the background.

A job is a row (`models.Job`), and the row is its only state. A delivery only passes ids: Celery's workers if
there is a broker (`celery_tasks`), else the embedded worker, which polls for queued rows (`embedded_worker`).
Both call `run_queued_job`.

    job = enqueue(kind="export_dataset", arguments={"corpus": "sample", "format": "entities"}, actor=account)
    cancel_job(job_id=job.pk, actor=account)
    resume_job(job_id=job.pk, actor=account)

The code of a kind of job is one module in an app's package `jobs.kinds`.
"""

from annotation.common.outages import DATABASE_LOST, mend_connection
from annotation.jobs.progress import JobProgress
from annotation.jobs.registry import job_kind
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
