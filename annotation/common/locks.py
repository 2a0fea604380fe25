"""Locks between processes, and working folders that are removed at the end.

The lock is the kernel's and ends with its holder, so the next holder knows that nobody uses what an earlier
holder left behind.

DATA_DIR itself has a lock too: a process that works with it holds a shared lock (`at_work`), and a restore,
which replaces its content, an exclusive one (`nobody_at_work`).
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from annotation.common.private_files import close_to_others
from phrasebox.errors import PhraseboxError

#: Seconds until a refused lock is tried once more: `is_held` takes it for a moment.
_ASKING = 0.05
#: The folder of a running restore, in DATA_DIR, and in it the previous content. While it exists, DATA_DIR is
#: neither in the old nor in the new state.
RESTORING, BEFORE = "restoring", "before"


class Busy(PhraseboxError):
    """Another process does the same work."""


@contextlib.contextmanager
def at_work() -> Iterator[None]:
    """Context in which nothing is restored; any number of processes may be at work.

    Raises Busy while a backup is being restored, and if a restore was interrupted.
    """
    handle = _locked_data_dir(
        fcntl.LOCK_SH, f"a backup is being restored into {settings.DATA_DIR}; wait for its end"
    )
    try:
        if (Path(settings.DATA_DIR) / RESTORING / BEFORE).exists():
            raise Busy(
                f"a restore into {settings.DATA_DIR} was cut short; restore the backup again, and let it "
                "replace what is there"
            )
        close_to_others()
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def nobody_at_work(*, busy: str) -> Iterator[None]:
    """Context in which no other process is at work; raises Busy with the text `busy` if one is."""
    handle = _locked_data_dir(fcntl.LOCK_EX, busy)
    try:
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked_folder(name: str, *, busy: str) -> Iterator[Path]:
    """Context with an empty, exclusive folder `name` in `work` of DATA_DIR, which is removed at the end.

    Raises Busy with the text `busy` if another process, or another block of this one, holds it. The lock
    is between processes that share DATA_DIR. The block counts as `at_work`.
    """
    folder = Path(settings.DATA_DIR) / "work" / name
    with at_work():
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


def is_held(name: str) -> bool:
    """Whether a process holds the folder `name` in `work` of DATA_DIR (`locked_folder`)."""
    try:
        handle = os.open(Path(settings.DATA_DIR) / "work" / name, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextlib.contextmanager
def held_lock(folder: Path) -> Iterator[None]:
    """Context with an exclusive lock on this folder, for which threads and processes wait.

    For short work; the folder is created if missing, and must not be removed by anybody.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _locked_data_dir(how: int, busy: str) -> int:
    """Return a handle on DATA_DIR that holds its lock: shared, or exclusive."""
    folder = Path(settings.DATA_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise Busy(busy) from None
    return handle


def _locked(folder: Path, busy: str) -> int:
    """Return a handle on `folder` that holds its lock."""
    attempts = 0
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
            attempts += 1
            if attempts > 1:
                os.close(handle)
                raise Busy(busy) from None
            time.sleep(_ASKING)
        except FileNotFoundError:
            pass
        os.close(handle)
