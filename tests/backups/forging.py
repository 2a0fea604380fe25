"""Backups that `backup` would not write, and full disks."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import resource
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from annotation.backups import archive, keys
from annotation.backups.archive import ABOUT_MEMBER, SUMS
from annotation.backups.database import applied, database

Member = tuple[str | tarfile.TarInfo, bytes]


def about_member(**more: Any) -> dict[str, Any]:
    """Return the metadata of a backup of the current database, with `more` instead of its values."""
    about = {"format": archive.FORMAT, "version": archive.VERSION, "made_at": "2026-11-22T13:00:00+00:00"}
    return about | {
        "database": database().vendor,
        "migrations": applied(),
        "secret_key": keys.fingerprint(),
        **more,
    }


def forged(target: Path, about: Any, members: Sequence[Member] = ()) -> Path:
    """Write a tar with these members, and correct checksums of them."""
    sums = []
    with tarfile.open(target, "w") as tar:
        for member, content in [(ABOUT_MEMBER, json.dumps(about).encode()), *members]:
            entry = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            if entry.isreg():
                entry.size = len(content)
                digest = hashlib.sha256(content).hexdigest()
                sums.append(json.dumps({"name": entry.name, "size": entry.size, "sha256": digest}) + "\n")
            tar.addfile(entry, io.BytesIO(content))
        text = "".join(sums).encode()
        last = tarfile.TarInfo(SUMS)
        last.size = len(text)
        tar.addfile(last, io.BytesIO(text))
    return target


def special(name: str, type: bytes, leads: str = "") -> tarfile.TarInfo:
    """Return a member that is not a regular file."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = type, leads
    return entry


@contextlib.contextmanager
def room_for(size: int) -> Iterator[None]:
    """Limit the size of this process's files, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
