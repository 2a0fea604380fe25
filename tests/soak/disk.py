"""Small file systems that can be filled up: mounts in memory that only we and our children see.

The process leaves the machine's mounts behind (`private`), so that whatever becomes of it no mount is left.
Where mounting is not allowed, a full disk is put in place by a limit instead: processes may write no file
any larger, which fails as a full disk does, with another error (EFBIG).
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

_CLONE_NEWNS = 0x20000
FILLER = "filler"


def private() -> bool:
    """Make mounts of this process, and of its children, its own; False if that is not allowed."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        return False
    return subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode == 0


class Disk:
    """A folder on a file system of its own of so many megabytes, or one whose writers can be limited."""

    def __init__(
        self, name: str, folder: Path, megabytes: int, *, value: bool, writers: Callable[[], Iterable[int]]
    ) -> None:
        self.name, self.folder, self._writers = name, folder, writers
        folder.mkdir(parents=True, exist_ok=True)
        self.mounted = value and self._mount(megabytes)
        self.full = False

    def _mount(self, megabytes: int) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "soak", str(self.folder)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def fill(self) -> None:
        self.full = True
        if not self.mounted:
            self._limit(0)
            return
        with (self.folder / FILLER).open("wb") as file:
            # Large pieces first, then what is left.
            for piece in (1 << 24, 1 << 20, 1 << 12):
                block = bytes(piece)
                try:
                    while True:
                        os.write(file.fileno(), block)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def top_up(self) -> None:
        """What was freed meanwhile is filled again; new processes are limited too."""
        if self.full and not self.mounted:
            self._limit(0)
        elif self.full:
            try:
                with (self.folder / FILLER).open("ab", buffering=0) as file:
                    while True:
                        file.write(bytes(1 << 12))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self) -> None:
        self.full = False
        if not self.mounted:
            self._limit(resource.RLIM_INFINITY)
            return
        (self.folder / FILLER).unlink(missing_ok=True)

    def leave(self) -> None:
        """Take the file system away, with what is on it."""
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], capture_output=True)

    def _limit(self, size: int) -> None:
        """Let the processes that write here write no file beyond `size`."""
        for pid in self._writers():
            try:
                _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
            except (ProcessLookupError, PermissionError):
                continue
