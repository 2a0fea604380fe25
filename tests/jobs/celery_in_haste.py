"""The tests' Celery application with a short time limit: `celery -A tests.jobs.celery_in_haste worker`."""

from tests.jobs.celery_app import app

#: Time limit of a job in seconds. A worker's option has no effect: the settings define every task's limits.
app.conf.task_soft_time_limit = 1

__all__ = ["app"]
