"""Jobs during an outage of the database: a separate PostgreSQL, which is stopped and started.

Each worker is a process, and nothing sweeps: that takes longer than these tests.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.db import connection, connections
from django.test import Client

from annotation import jobs
from annotation.common import database as sql
from annotation.common import outages
from annotation.jobs import embedded_worker
from annotation.jobs.rows import LOST
from annotation.models import Job
from tests import emptying, services
from tests.api.conftest import annotator
from tests.conftest import need
from tests.house.product import serving
from tests.jobs import kinds, workers
from tests.jobs.conftest import Delivery, delivered
from tests.jobs.workers import wait_for, wait_until
from tests.sizes import by_default

pytestmark = [pytest.mark.only_on("postgresql"), pytest.mark.django_db(transaction=True)]


class Database:
    """A server with our tables that can be stopped."""

    def __init__(self, server: services.Postgres) -> None:
        self.server = server
        self._running: AbstractContextManager[Any] | None = None
        self._since = 0.0

    def start(self) -> None:
        self._running = self.server.running()
        self._running.__enter__()
        self._since = time.monotonic()

    def seconds_back(self) -> float:
        """Return for how many seconds it has been running again."""
        return time.monotonic() - self._since

    def stop(self) -> None:
        """Stop like an operator: connections are closed, later ones refused."""
        if self._running is not None:
            running, self._running = self._running, None
            running.__exit__(None, None, None)
        with pytest.raises(psycopg2.OperationalError):
            psycopg2.connect(self.server.url)


@pytest.fixture(scope="module")
def tables() -> Iterator[Database]:
    """A database with the same tables as the tests'."""
    binaries = need("postgresql")
    with services.cluster(binaries) as server:
        database = Database(server)
        database.start()
        yield database
        database.stop()


@pytest.fixture
def database(tables: Database) -> Iterator[Database]:
    """The database of the tests and the workers, which can be stopped; it is emptied in the end."""
    binaries, ours = need("postgresql"), workers.database_url()
    with psycopg2.connect(tables.server.url) as link, link.cursor() as cursor:
        cursor.execute("SELECT to_regclass('annotation_job')")
        (item,) = cursor.fetchone() or (None,)
    link.close()
    if not item:
        dump = subprocess.run(
            [str(binaries / "pg_dump"), "--schema-only", "--no-owner", ours], capture_output=True, check=True
        )
        load = [str(binaries / "psql"), "--quiet", "--set", "ON_ERROR_STOP=1", tables.server.url]
        subprocess.run(load, input=dump.stdout, check=True, stdout=subprocess.DEVNULL)
    message = connection.settings_dict
    before = {name: message[name] for name in ("NAME", "HOST", "PORT", "USER", "PASSWORD")}
    parts = psycopg2.extensions.parse_dsn(tables.server.url)
    there = {"NAME": "dbname", "HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password"}
    connections.close_all()
    message.update({name: parts[key] for name, key in there.items()})
    try:
        yield tables
        emptying.empty()
    finally:
        connections.close_all()
        message.update(before)


@pytest.fixture(params=by_default(1, ["celery", "embedded"]))
def either(request: pytest.FixtureRequest, tmp_path: Path, database: Database) -> Delivery:
    return delivered(request.param, request, tmp_path)


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A file: while it exists, a job that gets its path computes."""
    return tmp_path / "held"


def computing(held: Path, then: str = "") -> Job:
    """A job that has begun, and waits for the file."""
    held.touch()
    before = times_begun(held)
    job = jobs.enqueue(kind="computes", arguments={"held": str(held), "then": then})
    wait_until(lambda: times_begun(held) > before, "the job to be begun")
    return job


def times_begun(held: Path) -> int:
    file = kinds.begun(held)
    return len(file.read_text().splitlines()) if file.exists() else 0


def says(worker: workers.Worker, words: str) -> None:
    """Wait until the worker's log contains this text."""
    wait_until(lambda: words in worker.log.read_text(), f"the worker to say: {words}")


def again(database: Database) -> None:
    """Start the database again, and reconnect the tests."""
    database.start()
    connections.close_all()


def test_a_result_outlives_an_outage(database: Database, either: Delivery, held: Path):
    with either.worker() as worker:
        job = computing(held)
        database.stop()
        again(database)
        held.unlink()
        assert wait_for(job, Job.DONE).attempts == 1, "its connection is dead, the database is not"

        job = computing(held, then="share")
        database.stop()
        held.unlink()
        says(worker, f"the end of job {job.pk} (computes) waits for the database")
        again(database)
        done = wait_for(job, Job.DONE)
        assert (done.attempts, done.result, done.share) == (1, {"computed": "share"}, 1.0)
        assert times_begun(held) == 2


def test_work_that_lost_its_database_is_begun_again_soon(database: Database, either: Delivery, held: Path):
    with either.worker() as worker:
        job = computing(held, then="statement")
        database.stop()
        held.unlink()
        says(worker, "lost its database")
        again(database)
        assert wait_for(job, Job.DONE).attempts == 2
        assert database.seconds_back() < LOST, "the sweep would have come later"


@pytest.mark.slow  # the default run stops workers in `test_deliveries`
def test_a_worker_told_to_stop_in_an_outage_leaves_its_row_to_the_retry(
    database: Database, request: pytest.FixtureRequest, tmp_path: Path, held: Path
):
    celery = delivered("celery", request, tmp_path)
    with celery.worker() as worker:
        job = computing(held, then="statement")
        database.stop()
        held.unlink()
        says(worker, "lost its database")
        assert worker.terminate() == 0
    again(database)
    assert Job.objects.get(pk=job.pk).state == Job.RUNNING
    with celery.worker():
        assert wait_for(job, Job.DONE).attempts == 2
        assert database.seconds_back() < LOST, "the sweep would have come later"


@pytest.fixture
def worker_here(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An embedded worker in a thread of this process, which polls more often than others."""
    monkeypatch.setattr(embedded_worker, "LOOK_AGAIN_SECONDS", 0.2)
    monkeypatch.setattr(sql, "ALIVE", 0.0)
    stop = threading.Event()
    worker = threading.Thread(target=embedded_worker._do_jobs, args=[stop])
    worker.start()
    yield
    stop.set()
    worker.join()


def test_the_embedded_worker_takes_over_what_it_could_not_end(
    database: Database,
    worker_here: None,
    held: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setattr(outages, "OUTAGE_PATIENCE", 0.0)
    job = computing(held, then="statement")
    database.stop()
    held.unlink()
    wait_until(lambda: "jobs wait, as the database cannot be used" in caplog.text, "it to give up")
    again(database)
    assert wait_for(job, Job.DONE).attempts == 2
    assert database.seconds_back() < LOST, "the sweep would have come later"


def test_work_writes_by_a_new_connection_and_keeps_its_checkpoint(
    database: Database, worker_here: None, held: Path, caplog: pytest.LogCaptureFixture
):
    job = computing(held, then="write")
    database.stop()
    again(database)
    held.unlink()
    assert wait_for(job, Job.DONE).attempts == 1

    job = computing(held, then="checkpoint")
    database.stop()
    held.unlink()
    wait_until(lambda: f"job {job.pk} waits for the database" in caplog.text, "it to wait")
    again(database)
    done = wait_for(job, Job.DONE)
    assert (done.attempts, done.checkpoint) == (1, {"next": 1})


def test_pages_and_calls_are_answered_again_when_it_is_back(database: Database, tmp_path: Path):
    client = Client()
    client.force_login(annotator("ann")[0])
    cookie = f"session={client.session.session_key}"
    with serving(tmp_path, DATABASE_URL=database.server.url, REDIS_URL="redis://127.0.0.1:1/0") as server:

        def answered() -> list[int]:
            return [server.get(path, Cookie=cookie).status for path in ("/api/tasks", "/tasks/")]

        assert answered() == [200, 200]
        database.stop()
        assert answered() == [503, 503]
        again(database)
        assert answered() == [200, 200]
