"""The same jobs with both deliveries, with workers that are processes and may be killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.db import connection

from annotation import jobs
from annotation.common import database
from annotation.jobs.embedded_worker import GRACE
from annotation.jobs.rows import FORGOTTEN, LOST, deliver
from annotation.models import AuditEntry, Job
from tests.jobs import kinds, workers
from tests.jobs.conftest import CROSSWISE, EMBEDDED_FIRST, Delivery, sending_to
from tests.jobs.workers import wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def counted() -> list[int]:
    """Return the numbers that jobs wrote, in order; each occurs once if nothing is done twice."""
    return [entry.about["number"] for entry in AuditEntry.objects.filter(act=kinds.STEP).order_by("pk")]


def under_way(job: Job, share: float = 0.5) -> Job:
    """Wait until the job has reached `share`; return its row."""
    wait_until(lambda: Job.objects.get(pk=job.pk).share >= share, f"{job} to come to {share:.0%}")
    return Job.objects.get(pk=job.pk)


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A file: while it exists, a job that gets its path waits halfway."""
    file = tmp_path / "held"
    file.touch()
    return file


def counting(held: Path) -> Job:
    """A job of 40 steps that is held halfway."""
    return jobs.enqueue(kind="count", arguments={"upto": 40, "held": str(held)})


def pass_time(**seconds: float) -> None:
    """Move every job's last sign of life into the past."""
    for job in Job.objects.exclude(heartbeat_at=None):
        assert job.heartbeat_at is not None
        Job.objects.filter(pk=job.pk).update(heartbeat_at=job.heartbeat_at - timedelta(**seconds))


@pytest.mark.parametrize("delivery", [*EMBEDDED_FIRST, *CROSSWISE], indirect=True)
def test_its_progress_is_seen_while_it_runs(delivery: Delivery, held: Path):
    job = counting(held)
    with delivery.worker():
        seen = under_way(job)
        assert (seen.state, seen.phase) == (Job.RUNNING, "counting")
        assert 0 < (jobs.remaining(seen) or 0) < 60
        held.unlink()
        assert wait_for(job, Job.DONE).result == {"counted": 40}
    assert counted() == list(range(40))


@pytest.mark.parametrize("delivery", [*EMBEDDED_FIRST, *CROSSWISE], indirect=True)
def test_it_is_cancelled_mid_way_and_goes_on_where_it_was(delivery: Delivery, held: Path):
    job = counting(held)
    with delivery.worker():
        under_way(job)
        jobs.cancel_job(job_id=job.pk)
        stopped = wait_for(job, Job.CANCELLED)
        assert counted() == list(range(stopped.checkpoint["next"])) and 0 < len(counted()) < 40
        held.unlink()
        jobs.resume_job(job_id=job.pk)
        assert wait_for(job, Job.DONE).result == {"counted": 40 - stopped.checkpoint["next"]}
    assert counted() == list(range(40))


def test_a_killed_workers_job_goes_on_from_its_checkpoint_and_nothing_is_done_twice(
    delivery: Delivery, held: Path
):
    job = counting(held)
    with delivery.worker() as worker:
        under_way(job)
        worker.kill()
    left = Job.objects.get(pk=job.pk)
    assert left.state == Job.RUNNING and left.checkpoint["next"] < 40
    assert jobs.sweep_jobs() == jobs.SweptJobs()
    pass_time(seconds=LOST + 1)
    assert jobs.sweep_jobs() == jobs.SweptJobs(again=1)
    held.unlink()
    with delivery.worker():
        done = wait_for(job, Job.DONE)
    assert done.attempts == 2 and done.result == {"counted": 40 - left.checkpoint["next"]}
    assert counted() == list(range(40))


@pytest.mark.parametrize("delivery", [*EMBEDDED_FIRST, *CROSSWISE], indirect=True)
def test_a_worker_that_is_told_to_stop_leaves_its_job_to_the_next(delivery: Delivery, held: Path):
    job = counting(held)
    with delivery.worker() as worker:
        under_way(job)
        assert worker.terminate() == 0
    left = Job.objects.get(pk=job.pk)
    assert (left.state, left.attempts) == (Job.QUEUED, 0) and left.checkpoint["next"] < 40
    held.unlink()
    with delivery.worker():
        wait_for(job, Job.DONE)
    assert counted() == list(range(40))


def test_an_id_that_comes_often_is_run_once(delivery: Delivery):
    job = jobs.enqueue(kind="count", arguments={"upto": 30, "pause": 0.02})
    for _ in range(5):
        deliver(job.pk)
    with delivery.worker():
        wait_for(job, Job.DONE)
        deliver(job.pk)
        last = jobs.enqueue(kind="count", arguments={"upto": 1})
        wait_for(last, Job.DONE)
    assert counted() == [*range(30), 0]
    assert Job.objects.get(pk=job.pk).attempts == 1


def disturb(noticed: Callable[[], bool]) -> None:
    """Remove the database from the workers until they have `noticed`."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        wait_until(noticed, "the loss to be noticed")
        return
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_job RENAME TO taken_away")
    try:
        wait_until(noticed, "the loss to be noticed")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE taken_away RENAME TO annotation_job")


def test_it_outlives_a_database_that_goes_away_for_a_moment(delivery: Delivery, held: Path):
    job = counting(held)
    with delivery.worker() as worker:
        under_way(job)
        disturb(lambda: "lost its database" in worker.log.read_text())
        held.unlink()
        assert wait_for(job, Job.DONE).attempts == 1, "a share that cannot be written stops no work"
        assert worker.process.poll() is None
    assert counted() == list(range(40))


@pytest.mark.slow  # the default run has one that goes away and comes back, above
def test_a_database_that_is_not_there_yet_is_waited_for(delivery: Delivery):
    job = jobs.enqueue(kind="count", arguments={"upto": 2})
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_job RENAME TO taken_away")
    try:
        with delivery.worker() as worker:
            wait_until(lambda: "annotation_job" in worker.log.read_text(), "the worker to say what it misses")
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE taken_away RENAME TO annotation_job")
            if delivery.name == "celery" and connection.vendor == "postgresql":
                # A missing table is not an outage of the database: the delivery ends.
                pass_time(seconds=FORGOTTEN[0] + 1)
                jobs.sweep_jobs()
            wait_for(job, Job.DONE)
            assert worker.process.poll() is None
    finally:
        if "taken_away" in connection.introspection.table_names():
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE taken_away RENAME TO annotation_job")
    assert counted() == [0, 1]


def test_what_a_lost_broker_forgot_is_sent_again_by_the_sweep(broker: redis.Redis, tmp_path):
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    assert broker.llen("jobs") == 1
    broker.flushall()
    assert jobs.sweep_jobs().resent == 0, "it may just be waiting its turn"
    pass_time(seconds=FORGOTTEN[0] + 1)
    assert jobs.sweep_jobs().resent == 1
    assert jobs.sweep_jobs().resent == 0
    assert broker.llen("jobs") == 1
    command = [*workers.CELERY, "--hostname", "counting@here"]
    with workers.started(command, tmp_path, REDIS_URL=broker_url(broker)):
        wait_for(job, Job.DONE)
    assert counted() == [0, 1, 2]


@pytest.mark.slow
def test_a_job_that_gets_nowhere_in_celerys_time_limit_says_so(
    broker: redis.Redis, tmp_path: Path, held: Path
):
    job = jobs.enqueue(kind="computes", arguments={"held": str(held)})
    command = [part.replace("celery_app", "celery_in_haste") for part in workers.CELERY]
    with workers.started([*command, "--hostname", "haste@here"], tmp_path, REDIS_URL=broker_url(broker)):
        says = wait_for(job, Job.FAILED).error
    assert says.startswith(
        "begun 5 times, and the last time its time limit stopped it after 1 s; check in the"
    )


def broker_url(broker: redis.Redis) -> str:
    message = broker.connection_pool.connection_kwargs
    return f"redis://{message['host']}:{message['port']}/{message['db']}"


def test_a_job_that_waits_long_is_sent_again_ever_more_seldom(broker: redis.Redis, monkeypatch):
    job = jobs.enqueue(kind="count", arguments={"upto": 3})
    at, messages = database.now(), []
    for minute in range(1, 121):
        monkeypatch.setattr(database, "now", lambda minute=minute: at + timedelta(minutes=minute, seconds=1))
        if jobs.sweep_jobs().resent:
            messages.append(minute)
    assert messages[0] == 1
    gaps = [after - before for before, after in zip(messages, messages[1:], strict=False)]
    assert gaps == sorted(gaps) and gaps[-1] <= 11
    assert broker.llen("jobs") == 1 + len(messages) < 20
    jobs.cancel_job(job_id=job.pk)


def test_a_broker_that_cannot_be_reached_keeps_nobody_from_asking(caplog):
    with sending_to("redis://127.0.0.1:1/0"):
        began = time.monotonic()
        job = jobs.enqueue(kind="count", arguments={"upto": 3})
        assert time.monotonic() - began < 30
    assert job.state == Job.QUEUED
    assert f"job {job.pk} waits for the sweep: the broker cannot be reached" in caplog.text


def test_one_embedded_worker_works_and_the_next_waits_for_its_end(tmp_path):
    with workers.started(workers.EMBEDDED, tmp_path) as first:
        wait_until(lambda: (tmp_path / "data" / "work" / "embedded").is_dir(), "the first to work")
        with workers.started(workers.EMBEDDED, tmp_path):
            for number in range(3):
                wait_for(jobs.enqueue(kind="count", arguments={"upto": number + 1}), Job.DONE)
            processes = {entry.about["process"] for entry in AuditEntry.objects.filter(act=kinds.STEP)}
            assert processes == {first.process.pid}
            first.kill()
            wait_for(jobs.enqueue(kind="count", arguments={"upto": 9}), Job.DONE)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_idle_embedded_worker_ends_at_once(tmp_path, how):
    with workers.started(workers.EMBEDDED, tmp_path) as worker:
        wait_until(lambda: (tmp_path / "data" / "work" / "embedded").is_dir(), "it to work")
        began = time.monotonic()
        worker.process.send_signal(how)
        assert worker.process.wait(60) == 0
        assert time.monotonic() - began < GRACE, "it waits for nothing"
        assert worker.log.read_text() == ""
