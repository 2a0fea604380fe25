"""The tests' Celery application with little time: `celery -A tests.jobs.celery_in_haste worker`."""

from tests.jobs.celery_app import app

#: Seconds that a job has. A worker's own option does not count: the settings give every task its limits.
app.conf.task_soft_time_limit = 1

__all__ = ["app"]
