"""Workers as separate processes, on the database of the tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from annotation.models import Job
from tests import launcher
from tests.house.product import environment

#: Seconds to wait for a condition: on a busy machine a worker takes half a minute to start.
PATIENCE = 180.0

#: Cache folders of libraries: listing fonts takes half a minute, compiling kernels seconds.
CACHES = {name: os.environ[name] for name in ("MPLCONFIGDIR", "NUMBA_CACHE_DIR")}

EMBEDDED = [sys.executable, "-m", "tests.jobs.embedded_worker"]
CELERY = [
    *(sys.executable, "-m", "celery", "-A", "tests.jobs.celery_app"),
    *("worker", "--concurrency", "2", "--without-mingle", "--without-gossip", "--loglevel", "INFO"),
]


def database_url() -> str:
    """Return the address of the database that this test uses."""
    message = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{message['NAME']}"
    secret = quote(message["PASSWORD"], safe="")
    return f"postgresql://{message['USER']}:{secret}@{message['HOST']}:{message['PORT']}/{message['NAME']}"


@dataclass
class Worker:
    """A running worker: the leader of a session, so that it can be killed with all its processes."""

    process: launcher.Process | subprocess.Popen[str]
    log: Path

    def kill(self) -> None:
        """Kill as the kernel does when memory is short: no signal handler runs."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self, patience: float = PATIENCE) -> int:
        """Send SIGTERM to the leader only, as supervisors do; return its exit status."""
        self.process.terminate()
        return self.process.wait(patience)


@contextlib.contextmanager
def started(command: list[str], folder: Path, **value: str) -> Iterator[Worker]:
    """Run `command`; end it afterwards unless the test has done so."""
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    with log.open("ab") as out:
        process = launcher.start(
            command,
            env=environment(folder, {"DATABASE_URL": database_url(), **CACHES, **value}),
            stdout=out,
            stderr=out,
        )
    worker = Worker(process, log)
    try:
        yield worker
    except AssertionError:
        print(log.read_text())
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            worker.kill()


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"in {PATIENCE:.0f} s it did not come to this: {what}"
        time.sleep(0.05)


def wait_for(job: Job, state: str) -> Job:
    """Wait until the job has this state; return its row."""
    wait_until(lambda: Job.objects.get(pk=job.pk).state == state, f"{job} to be {state}")
    return Job.objects.get(pk=job.pk)
