"""The faults, drawn with a seed: kills, pauses, full disks, steps of the clock; each logged with its time.

A bag contains one kill of each kind of process, pauses, a full disk and a step of the clock; it is drawn
until empty and then refilled, so that every fault occurs. Two intervals of the run have faults (`STRETCHES`):
an early one, so that minute ten shows restarted processes; and one that ends a third of the run before its
end, so that the processes of the last minutes are at least as old as those of minute ten.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from random import Random

from tests.soak.product import SQLITE, Product

#: Minutes of a run of 45 with faults; scaled for other runs.
STRETCHES = ((1.0, 4.0), (12.0, 30.0))
#: Mean seconds between two faults, and the minimum as a share of it.
EVERY, LEAST = 18.0, 0.45
#: Seconds for which a process is stopped, a disk is full, the clock is off.
STOPPED, FULL, OFF = (3.0, 9.0), (8.0, 18.0), (20.0, 45.0)
OFFSETS = (3600, -3600, 600, -120, 120, -600)
KILLED = {
    SQLITE: ("web worker", "web master", "jobs process"),
    "postgresql": (
        *("web worker", "web master", "jobs master", "jobs child", "clock master", "clock child", "beat"),
        *("backend", "postmaster", "redis"),
    ),
}


class Faults:
    """The faults of one run. `tick` does what is due; call it often, in one thread."""

    def __init__(
        self, product: Product, *, minutes: float, every: float, seed: int, log: Callable[[str], None]
    ) -> None:
        self.product, self.log = product, log
        self.chance = Random(f"{seed} faults {product.database}")
        self.done: Counter[str] = Counter()
        self.killed: Counter[str] = Counter()
        self._bag: list[str] = []
        self._full = self._stepped = 0
        self._number = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._starts = self._drawn(minutes / 45, every)
        self._began = 0.0

    def _drawn(self, scale: float, every: float) -> list[float]:
        """Return the seconds at which faults begin."""
        result = []
        for begin, end in STRETCHES:
            at = begin * 60 * scale
            while at < end * 60 * scale:
                result.append(at)
                at += every * (LEAST + self.chance.expovariate(1 / (1 - LEAST)))
        return result

    def begin(self) -> None:
        self._began = time.monotonic()

    @property
    def over(self) -> bool:
        return not self._starts and not self._due

    def tick(self) -> None:
        now = time.monotonic() - self._began
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[2]()
        for disk in self.product.disks:
            disk.top_up()
        if self._starts and self._starts[0] <= now:
            self._starts.pop(0)
            self._next_fault()

    def end(self) -> None:
        """End all faults: resume stopped processes, free the disks, correct the clock."""
        self._starts.clear()
        while self._due:
            heapq.heappop(self._due)[2]()

    def _next_fault(self) -> None:
        if not self._bag:
            self._bag = [*KILLED[self.product.database], "pause", "pause", "disk", "clock"]
            if self.product.database == SQLITE:
                self._bag.remove("pause")
            self.chance.shuffle(self._bag)
        which = self._bag.pop()
        if which == "pause":
            self._pause()
        elif which == "disk":
            self._fill()
        elif which == "clock":
            self._step()
        else:
            self._kill(which)

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        at = time.monotonic() - self._began + seconds
        heapq.heappush(self._due, (at, next(self._number), act))

    def _kill(self, kind: str) -> None:
        processes = [process for process in self.product.processes() if process.kind == kind]
        if not processes:
            self.log(f"no {kind} to kill just now")
            self.done["nothing to kill"] += 1
            return
        process = self.chance.choice(processes)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
            self.killed[kind] += 1
            self.log(f"kill -9 {kind} {process.pid}, {process.age:.0f} s old")

    def _pause(self) -> None:
        processes = [
            process for process in self.product.processes() if process.kind in KILLED[self.product.database]
        ]
        if not processes:
            return
        process, seconds = self.chance.choice(processes), self.chance.uniform(*STOPPED)

        def go_on() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)

        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)
            self.done["pauses"] += 1
            self.log(f"stop {process.kind} {process.pid} for {seconds:.0f} s")
            self._later(seconds, go_on)

    def _fill(self) -> None:
        disk = self.product.disks[self._full % len(self.product.disks)]
        self._full += 1
        if disk.full:
            return
        seconds = self.chance.uniform(*FULL)

        def free() -> None:
            disk.free()
            self.log(f"disk of the {disk.name} has room again")

        disk.fill()
        self.done[f"disk full: {disk.name}"] += 1
        how = "full" if disk.mounted else "limited (no mount is allowed)"
        self.log(f"disk of the {disk.name} {how} for {seconds:.0f} s")
        self._later(seconds, free)

    def _step(self) -> None:
        clock = self.product.clock
        if not clock.can_step or clock.offset:
            return
        offset = OFFSETS[self._stepped % len(OFFSETS)]
        self._stepped += 1
        seconds = self.chance.uniform(*OFF)

        def back() -> None:
            clock.set(0)
            self.done["clock steps"] += 1
            self.log(f"clock steps back to the right time, from {offset:+d} s")

        clock.set(offset)
        self.done["clock steps"] += 1
        self.log(f"clock steps by {offset:+d} s for {seconds:.0f} s")
        self._later(seconds, back)
