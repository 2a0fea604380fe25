"""A real worker on a real broker."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.beat import ScheduleEntry
from django.conf import settings

from config.beat import Scheduler
from config.celery import app
from tests import launcher
from tests.house.product import PATIENCE, environment

WORKER = [
    sys.executable,
    "-m",
    "celery",
    "-A",
    "config.celery",
    "worker",
    "--concurrency",
    "1",
    "--without-mingle",
]

Running = launcher.Process | subprocess.Popen[str]


@pytest.fixture
def worker(tmp_path: Path, redis_url: str) -> Iterator[Running]:
    with (tmp_path / "log").open("wb") as log:
        # Nothing is preloaded here: the test covers what `celery worker` does by itself.
        process = launcher.start(
            [*WORKER, "--hostname", "answering@here"],
            env=environment(tmp_path, {"REDIS_URL": redis_url}),
            stdout=log,
            stderr=log,
            fresh=True,
        )
    yield process
    process.terminate()
    process.wait(timeout=PATIENCE)


@pytest.mark.slow  # the default run has the worker of Compose, in `jobs/test_compose`
def test_a_worker_answers_a_ping(worker: Running, redis_url: str, tmp_path: Path) -> None:
    caller = Celery(broker=redis_url, set_as_current=False)
    deadline = time.monotonic() + PATIENCE
    answers: list[object] = []
    while not answers and time.monotonic() < deadline and worker.poll() is None:
        answers = caller.control.ping(timeout=5, limit=1)
    caller.close()
    assert answers == [{"answering@here": {"ok": "pong"}}], (tmp_path / "log").read_text()


def test_a_worker_without_a_broker_says_so_at_once(tmp_path: Path) -> None:
    done = launcher.run(WORKER, env=environment(tmp_path, {}), timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stderr == "REDIS_URL is not set: a worker needs the Redis of the web processes\n"


def test_a_task_is_given_back_when_its_worker_dies_and_never_runs_twice_at_once() -> None:
    assert app.conf.task_acks_late and app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.accept_content == ["json"] and app.conf.task_serializer == "json"
    redelivery = settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]
    assert app.conf.task_soft_time_limit < app.conf.task_time_limit < redelivery


def test_periodic_work_goes_on_at_its_pace_after_the_clock_was_set_back(tmp_path: Path) -> None:
    """Celery's own scheduler would be silent until the time of before has come again."""
    assert app.conf.beat_scheduler == "config.beat:Scheduler"
    beat = Scheduler(app=app, schedule_filename=str(tmp_path / "beat"), lazy=True)
    beat.setup_schedule()
    now = app.now()
    beat.schedule.clear()
    for name, ahead in (("often", 3600), ("seldom", 3000)):
        last = now + timedelta(seconds=ahead)
        entry = ScheduleEntry(
            name=name, task="none", last_run_at=last, schedule=timedelta(seconds=15), app=app
        )
        beat.schedule[name] = entry
    assert 10 < beat.tick() <= 15
    assert all(entry.last_run_at <= app.now() for entry in beat.schedule.values())
    # The next due entry comes first, by the current clock.
    heap: Any = beat._heap
    assert len(heap) == 2 and all(event.time < time.time() + 30 for event in heap)
    beat.close()
