"""Small file systems that can be filled up: mounts in memory that only this process and its children see.

The process uses its own mount namespace (`private`), so that no mount remains in any case. If mounting is not
allowed, a limit simulates a full disk: processes cannot write files beyond a size, which fails like a full
disk, but with another error (EFBIG).
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
    """Make the mounts of this process and its children private; return False if that is not allowed."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        return False
    return subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode == 0


class Disk:
    """A folder on its own file system of a size in megabytes, or one whose writers can be limited."""

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
            # Large pieces first, then smaller ones.
            for piece in (1 << 24, 1 << 20, 1 << 12):
                block = bytes(piece)
                try:
                    while True:
                        os.write(file.fileno(), block)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def top_up(self) -> None:
        """Fill space that was freed in the meantime; limit new processes too."""
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
        """Remove the file system and its content."""
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], capture_output=True)

    def _limit(self, size: int) -> None:
        """Prevent the processes that write here from writing files larger than `size`."""
        for pid in self._writers():
            try:
                _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
            except (ProcessLookupError, PermissionError):
                continue
