"""Withdrawn pictures, for example because a person in them objected: a list beside the database.

`withdrawn.txt` in DATA_DIR contains names of stored pictures (the SHA-256 of their bytes) and times, and
nothing else. A backup that is older than a withdrawal contains the picture; with the list it is deleted
again. A picture on the list is never stored again, in any corpus.
"""

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from django.conf import settings

WITHDRAWN = "withdrawn.txt"
_LINE = re.compile(r"([0-9a-f]{64}\.(?:jpg|png|webp|gif)) (\S+)")


def withdrawn_file() -> Path:
    """Return the path of the list of withdrawn pictures, in DATA_DIR."""
    return Path(settings.DATA_DIR) / WITHDRAWN


def withdrawn_pictures() -> frozenset[str]:
    """Return the names of all withdrawn pictures."""
    try:
        known = withdrawn_file().stat()
    except FileNotFoundError:
        return frozenset()
    return _read(str(withdrawn_file()), known.st_mtime_ns, known.st_size)


def note_withdrawn(name: str) -> None:
    """Add a picture to the list, for good, before anything else is done about it."""
    merge_withdrawn(f"{name} {datetime.now(UTC).isoformat(timespec='seconds')}\n")


def merge_withdrawn(listed: str) -> None:
    """Add the names of another list's text, atomically; the first time counts."""
    path = withdrawn_file()
    with _alone(path):
        stored = path.read_text(encoding="utf-8") if path.exists() else ""
        times: dict[str, str] = {}
        for line in (*stored.splitlines(), *listed.splitlines()):
            if match := _LINE.fullmatch(line.strip()):
                times[match[1]] = min(times.get(match[1], match[2]), match[2])
        if times:
            lines = [f"{name} {at}\n" for name, at in sorted(times.items(), key=lambda entry: entry[1])]
            _replace(path, "".join(lines))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock the list within the context, by a lock file that stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_name(f".{path.stem}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    """Write a file atomically, readable only by its owner."""
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


@lru_cache(maxsize=4)
def _read(path: str, changed: int, size: int) -> frozenset[str]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return frozenset(match[1] for line in lines if (match := _LINE.fullmatch(line.strip())))
