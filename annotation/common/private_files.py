"""DATA_DIR belongs to the server's user alone: it holds the database with its sessions, and people's answers.

What we write has the umask 077 (config/settings.py). A folder that was made otherwise is closed, with all in
it, when a process begins to work with it. What we cannot close is named when the server starts.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import connection

#: What others than its owner may do with a file: the bits of its group, and of everybody.
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def close_to_others() -> None:
    """Take DATA_DIR, all in it and SQLite's files from everybody but their owner; links are not followed."""
    folder = Path(settings.DATA_DIR)
    if _is_open(folder):
        for path, folders, files in os.walk(folder):
            for name in (*folders, *files):
                _close(Path(path, name))
        _close(folder)  # last: where this is cut short, the next start does it again
    for file in _database_files():
        _close(file)


def open_to_others() -> Iterator[Path]:
    """What other users of this machine may read or change of DATA_DIR and of the database, by links too."""
    folder = Path(settings.DATA_DIR)
    if _is_open(folder):
        yield folder
    linked = [entry for entry in sorted(folder.iterdir()) if entry.is_symlink()] if folder.is_dir() else []
    for path in (*linked, *_database_files()):
        if _is_open(path) and not _shut_in(path.resolve()):
            yield path


def _database_files() -> list[Path]:
    """SQLite's file and those beside it, which need not lie in DATA_DIR; of another database none."""
    if connection.vendor != "sqlite":
        return []
    file = str(connection.settings_dict["NAME"])
    return [path for end in ("", "-wal", "-shm", ".lock") if (path := Path(f"{file}{end}")).is_file()]


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & OTHERS)
    except FileNotFoundError:
        return False


def _shut_in(path: Path) -> bool:
    """Whether a folder that `path` lies in lets nobody else through."""
    return any(not parent.stat().st_mode & OTHERS for parent in path.parents)


def _close(path: Path) -> None:
    with suppress(OSError):  # another's, or gone: `open_to_others` names it
        mode = path.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
