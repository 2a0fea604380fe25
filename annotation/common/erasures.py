"""The list of erased workers, `erasures.txt` in DATA_DIR, beside the database.

It contains only pseudonyms and times, so that people whom a restored backup brings back are erased again.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

ERASURES = "erasures.txt"
#: The last word of a line if the worker's own texts were erased too, or reasons of staff.
_TEXTS, _REASONS = "texts", "reasons"


class Erasure(NamedTuple):
    """A line of the list of erasures: the worker, and whether their texts and staff's texts about them were
    deleted too."""

    pseudonym: str
    texts: bool
    reasons: bool


def all_erasures() -> Iterator[Erasure]:
    """Yield the list of erasures, oldest first."""
    path = erasures_file()
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if words := line.split():
                yield Erasure(words[0], _TEXTS in words[1:], _REASONS in words[1:])


def merge_erasures(listed: str) -> None:
    """Add the entries of another list of erasures, atomically."""
    path = erasures_file()
    existing = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = {line for text in (existing, listed) for line in text.splitlines() if line.strip()}
    if not lines:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        # By time, their second word.
        file.writelines(f"{line}\n" for line in sorted(lines, key=lambda line: (line.split()[1:2], line)))
        file.flush()
        os.fsync(handle)
    os.replace(partial, path)


def erasures_file() -> Path:
    """Return the path of the list of erasures, in DATA_DIR."""
    return Path(settings.DATA_DIR) / ERASURES


def note_erasure(erasure: Erasure, erased_at: datetime | None) -> None:
    """Append a worker to the list of erasures, and flush it to the disk."""
    path = erasures_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    when = erased_at.isoformat(timespec="seconds") if erased_at else ""
    also = [word for word, too in ((_TEXTS, erasure.texts), (_REASONS, erasure.reasons)) if too]
    line = " ".join([erasure.pseudonym, when, *also]) + "\n"
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line.encode())
        os.fsync(handle)
    finally:
        os.close(handle)
