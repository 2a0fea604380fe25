"""The product's processes: started, restarted when they end, and classified."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Seconds until an ended process is restarted; doubled after each failed start, up to the second number.
RESTART = 2.0, 8.0
#: Seconds that a process has to end after the signal.
GRACE = 45.0
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class RunningProcess:
    """A running process: its kind, its program, and its age in seconds."""

    pid: int
    kind: str
    age: float


@dataclass
class Program:
    """A program that is restarted when it ends. `names` returns the kind of a process from its position and
    command.

    `contained`: the remaining processes are killed when the first one ends, as in a container. Call
    everything in one thread, which must outlive the processes: the kernel ends them with it.
    """

    name: str
    command: Sequence[str]
    log: Path
    names: Callable[[int, bool, str, int], str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path("/")
    user: tuple[str, int] | None = None
    contained: bool = True
    stop_by: signal.Signals = signal.SIGTERM
    starts: int = 0
    _child: subprocess.Popen[bytes] | None = None
    _due: float = 0.0
    _begun: float = 0.0
    _vain: int = 0
    _sessions: set[int] = field(default_factory=set)

    def start(self) -> None:
        also: dict[str, Any] = {}
        if self.user:
            also = {"user": self.user[0], "group": self.user[1], "extra_groups": []}
        with self.log.open("ab") as out:
            self._child = subprocess.Popen(
                list(self.command),
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=_end_with_us,
                **also,
            )
        self.starts += 1
        self._begun = time.monotonic()
        self._sessions.add(self._child.pid)

    def restart(self) -> bool:
        """Restart the program if it ended a while ago; return whether it was restarted."""
        if self._child is not None:
            if self._child.poll() is None:
                return False
            if self.contained:
                self._kill_rest()
            self._vain = self._vain + 1 if time.monotonic() - self._begun < 10 else 0
            self._due = time.monotonic() + min(RESTART[1], RESTART[0] * 2**self._vain)
            self._child = None
        if time.monotonic() < self._due:
            return False
        self.start()
        return True

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def ask_to_end(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(self.stop_by)

    def end(self) -> None:
        """Wait for its end; kill the remaining processes."""
        if self._child is not None:
            self.ask_to_end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(GRACE)
        self._kill_rest()
        if self._child is not None:
            self._child.wait()
            self._child = None

    def _kill_rest(self) -> None:
        for pid in list(self._pids(_table())):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)

    def _pids(self, table: Mapping[int, _Stat]) -> Iterator[int]:
        """Yield its processes: the sessions that it started, and their descendants."""
        root = self._child.pid if self._child is not None else 0
        for pid, stat in table.items():
            if stat.state == "Z":
                continue
            above = pid
            for _ in range(8):
                if above == root or table[above].session in self._sessions:
                    yield pid
                    break
                above = table[above].parent
                if above not in table:
                    break

    def processes(self, table: Mapping[int, _Stat] | None = None) -> list[RunningProcess]:
        """Return all running processes, the oldest first."""
        table = _table() if table is None else table
        root = self._child.pid if self._child is not None else 0
        uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
        processes, places = [], 0
        for pid in sorted(self._pids(table), key=lambda pid: (table[pid].begun, pid)):
            with contextlib.suppress(OSError):
                command = (
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                first = pid == root
                kind = self.names(pid, first, command.strip(), places)
                places += not first
                if kind:
                    processes.append(RunningProcess(pid, kind, uptime - table[pid].begun / TICK))
        return processes


@dataclass(frozen=True)
class _Stat:
    """Fields of /proc/PID/stat: state, parent, session, start time (ticks since boot)."""

    state: str
    parent: int
    session: int
    begun: int


def _table() -> dict[int, _Stat]:
    result = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                result[int(entry.name)] = _Stat(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))
    return result


table = _table


def _end_with_us() -> None:
    """Let the kernel kill this process if its parent is killed."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG of <sys/prctl.h>


def tail(log: Path, size: int = 2000) -> str:
    return log.read_text(errors="replace")[-size:] if log.exists() else ""
