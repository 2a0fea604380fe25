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
