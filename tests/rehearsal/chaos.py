"""A crowd of processes on one campaign, which tests kill: `python -m tests.rehearsal.chaos`.

    prepare --images N            a campaign with that many small images, opened
    work --processes N --folder F run N workers, each a process, until no task is open

`work` forks the workers from one process, and writes their ids to F/pids and their actions to F/N.log, one
per line: `ack ASSIGNMENT TOKEN` after an answer was acknowledged, `error TEXT` for an error that no worker
may see. They answer correctly and quickly. A worker who loses the database repeats the request, with the same
token.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import django

T = TypeVar("T")

NAME = "chaos"
#: Number of images of which control items are made.
KNOWN = 4
SETTINGS: dict[str, Any] = {
    "lease": {"minutes": 0.1},
    "trust": {"qualification": False, "double_check_share": 0.2},
}
#: Seconds for which requests to a lost database are repeated.
PATIENCE = 60.0


def prepare(images: int) -> None:
    """Open the campaign over `images` small images."""
    from annotation.models import OpenImage
    from annotation.moderation.control_items.from_layer import from_gold
    from tests.queue.world import World
    from tests.rehearsal.script import pictured

    records = [pictured(i) for i in range(images + KNOWN)]
    world = World(records, settings=SETTINGS, name=NAME, workers=0)
    # Images without questions: no worker gets a task about an image of a control item.
    known = [row.image.key for row in world.images()[images:]]
    OpenImage.objects.filter(campaign=world.campaign, image__key__in=known).delete()
    from_gold(campaign=world.campaign, layer=world.corpus.layers.get(name="import"), images=known)


def work(processes: int, folder: Path) -> None:
    """Fork the workers, end expired leases, and return when no task is open and nobody works."""
    from django.db import connection

    from annotation.models import Assignment, Task, Worker
    from annotation.queue import leases

    workers = [Worker.objects.get_or_create(pseudonym=f"{NAME}-{n}")[0].pk for n in range(processes)]
    connection.close()
    stop = folder / "stop"
    pids = []
    for number, worker in enumerate(workers):
        pid = os.fork()
        if pid == 0:
            _one_process(number, worker, folder, stop)
            os._exit(0)
        pids.append(pid)
    (folder / "pids.new").write_text(" ".join(map(str, pids)))
    os.rename(folder / "pids.new", folder / "pids")

    def left() -> bool:
        leases.end_expired_leases()
        held = Assignment.objects.filter(state=Assignment.LEASED, task__isnull=False)
        return Task.objects.filter(state=Task.OPEN).exists() or held.exists()

    while retried(left):
        time.sleep(0.5)
    stop.touch()
    for pid in pids:
        os.waitpid(pid, 0)


def _one_process(number: int, worker: int, folder: Path, stop: Path) -> None:
    """Run one worker's process."""
    from annotation.models import Campaign
    from annotation.simulation.visits import Conduct, SimulatedVisit
    from annotation.simulation.workers import PERFECT
    from annotation.simulation.workers import SimulatedWorker as Simulated
    from annotation.simulation_driver.task_pages import QueueTaskClient
    from annotation.simulation_driver.truths import Truths

    journal = os.open(folder / f"{number}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(line: str) -> None:
        os.write(journal, f"{line}\n".encode())

    parent = os.getppid()
    try:
        campaign = retried(lambda: Campaign.objects.get(name=NAME))
        truths = retried(lambda: Truths(campaign, campaign.corpus.layers.get(name="import"), seed=1))
        visit = SimulatedVisit(
            Simulated(f"w{number}", PERFECT, 1),
            _Insisting(QueueTaskClient(campaign, worker, truths), note),
            lambda key: retried(lambda: truths.of(key)),
            conduct=Conduct(clicked_twice=0.05, answered_twice=0.05, returned=0.02),
            clock=time.time,
        )
        while not stop.exists() and os.getppid() == parent:
            if not visit.step():
                time.sleep(0.1)
        for line in visit.tally.amiss:
            note(f"amiss {line}")
    except BaseException as error:
        note(f"error {type(error).__name__}: {error}".replace("\n", " "))
        os._exit(1)


class _Insisting:
    """A desk that repeats requests when the database is lost, and logs acknowledged answers."""

    def __init__(self, desk: Any, note: Callable[[str], None]) -> None:
        self._desk = desk
        self._note = note
        self.lost = 0

    def take(self, kind: str, holding: Sequence[int]) -> Any:
        return self._retried(lambda: self._desk.take(kind, holding))

    def submit(self, task: Any, reply: Any, *, token: str, **also: Any) -> Any:
        taken = self._retried(lambda: self._desk.submit(task, reply, token=token, **also))
        self._note(f"ack {task.id} {token}")
        return taken

    def counted(self, task: Any) -> bool:
        return bool(self._retried(lambda: self._desk.counted(task)))

    def give_back(self, task: Any) -> bool:
        return bool(self._retried(lambda: self._desk.give_back(task)))

    def begin_test(self, kind: str) -> bool:
        return False

    def _retried(self, ask: Callable[[], T]) -> T:
        return retried(ask, lost=self._count)

    def _count(self) -> None:
        self.lost += 1


def retried(ask: Callable[[], T], *, lost: Callable[[], None] = lambda: None) -> T:
    """Return the result of `ask`, repeated while PostgreSQL is down. On SQLite nothing may be lost."""
    from django.db import DatabaseError, InterfaceError, connection

    started = time.monotonic()
    while True:
        try:
            return ask()
        except (DatabaseError, InterfaceError):
            if connection.vendor != "postgresql" or time.monotonic() - started > PATIENCE:
                raise
            lost()
            connection.close()
            time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["prepare", "work"])
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if options.what == "prepare":
        prepare(options.images)
    else:
        work(options.processes, options.folder)


if __name__ == "__main__":
    main()
