"""One process at a time, and a folder to work in that leaves no trace.

The lock is the kernel's and ends with its holder, so whoever gets it knows that anything left
by an earlier holder belongs to nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings


class Busy(ValueError):
    """Somebody else is at the same work."""


@contextlib.contextmanager
def exclusive_folder(name: str, *, busy: str) -> Iterator[Path]:
    """A folder `name` in `work` of DATA_DIR, empty and ours alone until the block ends; then it is removed.

    Raises Busy with the text `busy` where another process, or another block of this one, holds
    it. Processes exclude each other where they share DATA_DIR.
    """
    folder = Path(settings.DATA_DIR) / "work" / name
    handle = _locked(folder, busy)
    try:
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)
        with contextlib.suppress(OSError):
            folder.parent.rmdir()


def _locked(folder: Path, busy: str) -> int:
    """A handle on `folder` that holds its lock."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its last holder may have removed the folder between our opening and our locking it.
            if os.path.samestat(os.stat(folder), os.fstat(handle)):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise Busy(busy) from None
        except FileNotFoundError:
            pass
        os.close(handle)
