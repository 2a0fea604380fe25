"""DATA_DIR is private to the server's user: it contains the database with its sessions, and people's answers.

Our files are written with the umask 077 (config/settings.py). A folder with other permissions is closed, with
its content, when a process begins to work with it. What cannot be closed is listed when the server starts.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import connection

#: The permission bits of a file's group and of everybody.
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def close_to_others() -> None:
    """Remove all permissions of others on DATA_DIR, its content and SQLite's files; links are not
    followed."""
    folder = Path(settings.DATA_DIR)
    if _is_open(folder):
        for path, folders, files in os.walk(folder):
            for name in (*folders, *files):
                _close(Path(path, name))
        _close(folder)  # last: if this is interrupted, the next start repeats it
    for file in _database_files():
        _close(file)


def open_to_others() -> Iterator[Path]:
    """Yield what other users of this machine may read or change of DATA_DIR and of the database, including
    through links."""
    folder = Path(settings.DATA_DIR)
    if _is_open(folder):
        yield folder
    linked = [entry for entry in sorted(folder.iterdir()) if entry.is_symlink()] if folder.is_dir() else []
    for path in (*linked, *_database_files()):
        if _is_open(path) and not _shut_in(path.resolve()):
            yield path


def _database_files() -> list[Path]:
    """Return SQLite's file and those beside it, which may be outside of DATA_DIR; none for other
    databases."""
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
    """Whether a parent folder of `path` denies access to others."""
    return any(not parent.stat().st_mode & OTHERS for parent in path.parents)


def _close(path: Path) -> None:
    with suppress(OSError):  # another user's, or gone: `open_to_others` reports it
        mode = path.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
