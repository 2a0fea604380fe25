"""A clock that steps, for the product's processes only: a preloaded library. The machine's clock is
unchanged.

libfaketime would be the obvious tool, but with its release 0.9.10 every `time.sleep` of Python 3.11 fails (it
interprets absolute deadlines of the monotonic clock as times of day). So clock.c, sixty lines, is compiled
with the machine's C compiler; without a compiler the clock does not step, and the table says so. Only
functions that read the time of day see a step; waiting uses the monotonic clock, as with a real step.
PostgreSQL and Redis use the machine's clock: the product stores and compares none of their times.
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
    """Return the library, compiled into `folder`; None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    created = folder / "clock.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(created), str(SOURCE), "-ldl", "-pthread"]
    done = subprocess.run(command, capture_output=True)
    return created if done.returncode == 0 else None


class Clock:
    """The product's clock: its offset now, and its earlier offsets."""

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
        """Return the variables that make a process use this clock."""
        if self.preload is None:
            return {}
        return {"LD_PRELOAD": str(self.preload), "SOAK_CLOCK": str(self.file)}

    def set(self, offset: int) -> None:
        """Step to an offset of `offset` seconds, 0 for the correct time."""
        now = time.time()
        if self.offset:
            self.steps.append(Step(self._since, now, self.offset))
        self.offset, self._since = offset, now
        # In place: processes have the file mapped.
        with self.file.open("r+b", buffering=0) as file:
            file.write(struct.pack("q", offset))
