"""A clock that steps, for the product's processes alone: a library of ours, preloaded. The machine's stays.

libfaketime would be the tool, but its release 0.9.10 makes every `time.sleep` of Python 3.11 fail (it takes
absolute deadlines of the monotonic clock for times of day). So clock.c, sixty lines, is compiled by the
machine's C compiler; without one the clock does not step, and the table says so. Only what reads the time of
day sees a step; waiting goes on by the monotonic clock, as with a real step. PostgreSQL and Redis keep the
machine's clock: no time that the product stores or compares is theirs.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from pathlib import Path

from tests.soak.check import Step

SOURCE = Path(__file__).with_name("clock.c")


def library(folder: Path) -> Path | None:
    """The library, compiled into `folder`; None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    created = folder / "clock.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(created), str(SOURCE), "-ldl", "-pthread"]
    done = subprocess.run(command, capture_output=True)
    return created if done.returncode == 0 else None


class Clock:
    """The product's clock: how far it is off now, and when it was."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "clock"
        self.preload = library(folder)
        self.steps: list[Step] = []
        self.offset = 0
        self._since = 0.0
        self.file.write_bytes(struct.pack("q", 0))

    @property
    def can_step(self) -> bool:
        return self.preload is not None

    def environment(self) -> dict[str, str]:
        """What makes a process go by this clock."""
        if self.preload is None:
            return {}
        return {"LD_PRELOAD": str(self.preload), "SOAK_CLOCK": str(self.file)}

    def set(self, offset: int) -> None:
        """Step to so many seconds off, 0 for the right time."""
        now = time.time()
        if self.offset:
            self.steps.append(Step(self._since, now, self.offset))
        self.offset, self._since = offset, now
        # In place: processes have the file mapped.
        with self.file.open("r+b", buffering=0) as file:
            file.write(struct.pack("q", offset))
