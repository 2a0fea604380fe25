"""Processes and the database are killed while a crowd works: every acknowledged answer is stored exactly
once.

PHRASEBOX_CHAOS multiplies the number of images (default 1). The slow run uses 64 processes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests import launcher, services
from tests.conftest import need
from tests.house.product import environment, migrated

IMAGES = int(40 * float(os.environ.get("PHRASEBOX_CHAOS", "1")))
PATIENCE = 300.0

LOOK = """
import json
from annotation.models import Assignment, Campaign, Judgment, OpenImage, Task
from annotation.simulation_driver.soundness import violations
campaign = Campaign.objects.get(name="chaos")
print(json.dumps({
    "violations": violations(campaign),
    "open": Task.objects.filter(state="open").count(),
    "leased": Assignment.objects.filter(state="leased", task__isnull=False).count(),
    "unfinished": OpenImage.objects.filter(complete=False).count(),
    "given": [[a, t] for a, t in Judgment.objects.values_list("assignment", "assignment__token")],
}))
"""


class Crowd:
    """The processes of `tests.rehearsal.chaos work`, and their journals."""

    def __init__(self, folder: Path, processes: int, **provided: str) -> None:
        self.folder = folder / "journals"
        self.folder.mkdir()
        self.environment = environment(folder, provided)
        self.process: launcher.Process | subprocess.Popen[str] | None = None
        self.processes = processes

    def run(self, *arguments: str) -> str:
        """Run another process and return its output; fail if it fails."""
        done = launcher.run([sys.executable, *arguments], env=self.environment, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def prepare(self, images: int) -> None:
        self.run("-m", "tests.rehearsal.chaos", "prepare", "--images", str(images))

    @contextmanager
    def working(self) -> Iterator[None]:
        command = [sys.executable, "-m", "tests.rehearsal.chaos", "work", "--folder", str(self.folder)]
        command += ["--processes", str(self.processes)]
        self.process = launcher.start(command, env=self.environment)
        try:
            yield
        finally:
            if self.process.poll() is None:
                self.process.kill()  # its workers notice that their parent is gone, and exit
                self.process.wait()

    @property
    def pids(self) -> list[int]:
        self.until(lambda: (self.folder / "pids").exists(), "the workers have started")
        return [int(pid) for pid in (self.folder / "pids").read_text().split()]

    def lines(self, first: str) -> list[list[str]]:
        """Return the lines of the journals that start with `first`, split at spaces."""
        return [
            line.split(maxsplit=2)[1:]
            for journal in self.folder.glob("*.log")
            for line in journal.read_text().splitlines()
            if line.startswith(f"{first} ")
        ]

    def until(self, what: Callable[[], Any], words: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {words}"
            assert self.process is None or self.process.poll() in (None, 0), "the crowd has died"
            time.sleep(0.05)

    def acknowledged(self, answers: int) -> None:
        """Wait until `answers` answers are acknowledged."""
        self.until(lambda: len(self.lines("ack")) >= answers, f"{answers} answers")

    def kill(self, workers: list[int]) -> None:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        assert self.process is not None
        self.process.wait(PATIENCE)
        assert self.process.returncode == 0

    def report(self) -> dict[str, Any]:
        """Return the final content of the database."""
        reported = self.run("manage.py", "shell", "--no-imports", "-c", LOOK)
        report: dict[str, Any] = json.loads(reported.splitlines()[-1])
        return report


def check(crowd: Crowd) -> None:
    """Check that nothing is over-assigned, lost, stored twice or left open."""
    result = crowd.report()
    assert crowd.lines("error") == [] and crowd.lines("amiss") == []
    assert {what: count for what, count in result["violations"].items() if count} == {}
    assert (result["open"], result["leased"], result["unfinished"]) == (0, 0, 0)
    stored = [tuple(pair) for pair in result["given"]]
    acknowledged = {(int(assignment), token) for assignment, token in crowd.lines("ack")}
    assert len(stored) == len(set(stored)) == len({assignment for assignment, _ in stored})
    assert acknowledged <= set(stored)


def kill_family(process: subprocess.Popen[bytes]) -> None:
    """Kill a server (kill -9) and every process that it started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in [process.pid, *map(int, children)]:
        os.kill(pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_64_processes_half_of_them_killed_and_the_database_once(tmp_path: Path) -> None:
    shot_at(tmp_path, processes=64, images=IMAGES)


@pytest.mark.slow  # the default run has the same on SQLite, and lost databases in `jobs/test_outage`
def test_8_processes_half_of_them_killed_and_the_database_once(tmp_path: Path) -> None:
    shot_at(tmp_path, processes=8, images=IMAGES // 4)


def shot_at(folder: Path, *, processes: int, images: int) -> None:
    """Kill half of the processes, then PostgreSQL, which stores durably what it acknowledged."""
    with ExitStack() as stack:
        server = stack.enter_context(services.cluster(need("postgresql"), durable=True, connections=100))
        running = server.running()
        database = running.__enter__()
        crowd = Crowd(folder, processes, DATABASE_URL=server.url)
        crowd.run("manage.py", "migrate", "--verbosity", "0")
        crowd.prepare(images)
        with crowd.working():
            crowd.acknowledged(images * 3)
            crowd.kill(crowd.pids[::2])
            crowd.acknowledged(images * 6)
            kill_family(database)
            with pytest.raises(psycopg2.OperationalError):
                psycopg2.connect(server.url)
            running.__exit__(None, None, None)
            stack.enter_context(server.running())
            crowd.end()
        check(crowd)


def test_sqlite_with_8_processes_half_of_them_killed_shows_nobody_a_lock(tmp_path: Path) -> None:
    images = IMAGES // 4
    crowd = Crowd(tmp_path, 8)
    migrated(tmp_path)
    crowd.prepare(images)
    with crowd.working():
        crowd.acknowledged(images * 2)
        crowd.kill(crowd.pids[::2])
        crowd.end()
    check(crowd)
