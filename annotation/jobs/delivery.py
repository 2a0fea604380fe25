"""How a queued job's id gets to a worker."""

import logging

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

_log = logging.getLogger(__name__)

#: The task of `celery_tasks` that runs a job.
RUN_JOB = "annotation.run_job"


def by_broker() -> bool:
    """Whether ids are sent; else the embedded worker finds the rows."""
    return bool(settings.REDIS_URL)


def deliver(job_id: int, *, wait: float = 0.0) -> bool:
    """Send a job's id to the workers, to be run in `wait` seconds; whether the broker took it.

    Call when the row is committed. Nothing is lost where the broker cannot be reached: the
    sweep sends what is still queued.
    """
    if not by_broker():
        return False
    try:
        current_app.send_task(RUN_JOB, args=[job_id], countdown=wait or None)
    except OperationalError as error:
        _log.warning("job %d waits for the sweep: the broker cannot be reached (%s)", job_id, error)
        return False
    return True
