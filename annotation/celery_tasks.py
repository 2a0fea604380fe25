"""Celery tasks: run jobs by id, and the periodic work by name.

Celery delivers; the rows determine whether there is anything to do, so that every task may come twice, late,
or never.
"""

import multiprocessing
from datetime import datetime
from typing import Any

from celery import current_app, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_shutting_down

from annotation import jobs
from annotation.common.outages import LONGEST_WAIT
from annotation.jobs import schedule
from annotation.jobs.rows import RUN_JOB

#: Maximum seconds of one run of the periodic work.
RUN_LIMIT = 600

# Shared with the processes of the pool, which are forked from this one; without a lock, since a killed
# process would never release it.
_stopping = multiprocessing.RawValue("b", 0)


@worker_shutting_down.connect
def _stop(**kwargs: Any) -> None:
    _stopping.value = 1


@shared_task(name=RUN_JOB, bind=True, max_retries=30)
def run_job(self: Any, job_id: int, claimed: str | None = None) -> None:
    """Run a job, if it is queued. Retried at growing intervals while the database cannot be reached.

    The next try takes over a job that an earlier one `claimed` (ISO 8601), and could not end in its row.
    """
    try:
        jobs.run_queued_job(
            job_id,
            claimed=datetime.fromisoformat(claimed) if claimed else None,
            stopping=lambda: bool(_stopping.value),
            limits=(SoftTimeLimitExceeded,),
        )
    except jobs.LeftRunning as left:
        wait = min(LONGEST_WAIT, 2.0 ** (self.request.retries + 1))
        raise self.retry(args=[job_id, left.claimed.isoformat()], exc=left, countdown=wait) from left


@shared_task(name="annotation.periodic", soft_time_limit=RUN_LIMIT, time_limit=RUN_LIMIT + 60)
def do_periodic(name: str) -> None:
    """Run the periodic work `name` once."""
    schedule.do(name)


for _entry in schedule.PERIODIC.values():
    # A missed run is not repeated: the next one follows.
    current_app.add_periodic_task(
        _entry.every,
        do_periodic.s(_entry.name),
        name=_entry.name,
        expires=_entry.every,
    )
