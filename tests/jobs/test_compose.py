"""The workers of docker-compose.yml, started in the same way."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest
import redis

from annotation import jobs
from annotation.models import Job
from config.celery import app
from tests.house.product import REPOSITORY
from tests.jobs.workers import PATIENCE, started, wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def service(name: str) -> tuple[list[str], str]:
    """Return a service's command, and the worker of its health check."""
    text = (REPOSITORY / "docker-compose.yml").read_text()
    section = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.M)
    assert section
    command = re.search(r"command: (\[.*\])", section[1])
    match = re.search(r"inspect ping --destination (\S+)\"", section[1])
    assert command and match
    return json.loads(command[1]), match[1].replace("$$HOSTNAME", socket.gethostname())


def test_worker_and_clock_share_the_work_and_answer_their_health_checks(
    tmp_path: Path, broker: redis.Redis, redis_url: str
):
    queues = {}
    with contextlib.ExitStack() as stack:
        for name in ("worker", "beat"):
            command, request = service(name)
            assert command.pop(0) == "celery"
            command = [part.replace("/data", str(tmp_path)) for part in command]
            stack.enter_context(
                started([sys.executable, "-m", "celery", *command], tmp_path / name, REDIS_URL=redis_url)
            )
            queues[request] = "jobs" if name == "worker" else "periodic"
        wait_until(lambda: len(app.control.ping(timeout=5, limit=2)) == 2, "both to answer")
        result = app.control.inspect(timeout=60, limit=2).active_queues()
        assert {name: [queue["name"] for queue in of] for name, of in result.items()} == {
            name: [queue] for name, queue in queues.items()
        }
        job = jobs.enqueue(kind="export_dataset", arguments={"corpus": "none", "format": "entities"})
        assert wait_for(job, Job.FAILED).error == "unknown corpus 'none'"


def open_files(process: int) -> set[str]:
    """Return the open files of a process."""
    names = set()
    for link in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            names.add(os.readlink(link))
    return names


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_the_clock_ends_where_its_beat_was_killed_so_that_both_are_started_again(
    tmp_path: Path, broker: redis.Redis, redis_url: str
):
    command = [part.replace("/data", str(tmp_path)) for part in service("beat")[0]]
    with started([sys.executable, "-m", *command], tmp_path / "beat", REDIS_URL=redis_url) as clock:
        wait_until(lambda: "ready." in clock.log.read_text(), "the clock to be ready")
        master = clock.process.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        # Beat closes inherited files; a pool's process keeps the lock of DATA_DIR.
        data = str(tmp_path / "beat" / "data")
        (beat,) = (int(id) for id in children if data not in open_files(int(id)))
        os.kill(beat, signal.SIGKILL)
        assert clock.process.wait(PATIENCE) == 1
        assert "beat stopped, so the clock stops too" in clock.log.read_text()
