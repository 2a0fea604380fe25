"""Real recovery: the clock is not changed, and only the workers sweep."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import redis

from annotation import jobs
from annotation.jobs.rows import LOST
from annotation.jobs.schedule import PERIODIC
from annotation.models import Job
from tests.jobs import workers
from tests.jobs.test_deliveries import counted, under_way
from tests.jobs.workers import started, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

#: Maximum seconds from a worker's death until its job resumes: silence, the next sweep, a worker's start.
LONGEST = LOST + PERIODIC["sweep_jobs"].every + 15


def goes_on(job: Job) -> float:
    """Return the seconds until the job is done; fail if it takes too long."""
    began = time.monotonic()
    workers.PATIENCE, before = LONGEST + 30, workers.PATIENCE
    try:
        wait_until(lambda: Job.objects.get(pk=job.pk).state == Job.DONE, "the job to be done")
    finally:
        workers.PATIENCE = before
    return time.monotonic() - began


def test_an_embedded_worker_finds_what_the_killed_one_left(tmp_path: Path):
    job = jobs.enqueue(kind="count", arguments={"upto": 40, "pause": 0.05})
    with started(workers.EMBEDDED, tmp_path) as worker:
        under_way(job, 0.1)
        worker.kill()
    with started(workers.EMBEDDED, tmp_path):
        assert goes_on(job) < LONGEST
    assert counted() == list(range(40))


def test_celery_finds_what_a_killed_worker_left_and_an_emptied_broker_forgot(
    tmp_path: Path, broker: redis.Redis, redis_url: str
):
    jobs_only = [*workers.CELERY, "--queues", "jobs", "--hostname", "jobs@here"]
    clock = [*workers.CELERY, "--beat", "--schedule", str(tmp_path / "beat"), "--hostname", "clock@here"]
    clock += ["--queues", "periodic"]
    job = jobs.enqueue(kind="count", arguments={"upto": 40, "pause": 0.05})
    with started(clock, tmp_path / "clock", REDIS_URL=redis_url):
        with started(jobs_only, tmp_path / "jobs", REDIS_URL=redis_url) as worker:
            under_way(job, 0.1)
            worker.kill()
        broker.flushall()
        with started(jobs_only, tmp_path / "jobs", REDIS_URL=redis_url):
            assert goes_on(job) < LONGEST
    assert counted() == list(range(40))
