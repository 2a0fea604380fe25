"""Downloads: one archive each under DATA_DIR/exports, for some days.

An archive's modification time is its creation time and determines its expiry: no row is needed, and no lost
row leaves a file behind.
"""

import contextlib
import hashlib
import os
import time
import zipfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from phrasebox.errors import PhraseboxError

#: Seconds for which an archive is stored.
ARCHIVE_LIFETIME = 7 * 24 * 3600
#: File types that do not compress.
PACKED = {".jpg", ".png", ".webp", ".gif", ".gz", ".parquet", ".zip"}
#: A fixed time, so that the same files make the same archive and checksum.
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_CHUNK = 1 << 20
_PARTIAL = ".partial"

_Progress = Callable[[Iterable[Path]], Iterable[Path]]


class Download(NamedTuple):
    """A finished archive: its path under DATA_DIR, SHA-256, size in bytes, expiry (ISO 8601, UTC)."""

    path: str
    sha256: str
    size: int
    expires_at: str


class DownloadExpired(PhraseboxError):
    """A download has expired; one line with the remedy."""


def pack(folder: Path, name: str, *, progress: _Progress = iter) -> Download:
    """Pack all files of `folder` into the archive exports/`name`.zip, which is complete once it exists.

    `progress` gets the files in the order of packing.
    """
    target = _folder() / f"{name}.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + _PARTIAL)
    try:
        with zipfile.ZipFile(partial, "w", allowZip64=True) as archive:
            for file in progress(sorted(path for path in folder.rglob("*") if path.is_file())):
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _LONG_AGO)
                entry.external_attr = 0o644 << 16
                entry.file_size = file.stat().st_size
                entry.compress_type = zipfile.ZIP_STORED if file.suffix in PACKED else zipfile.ZIP_DEFLATED
                with file.open("rb") as source, archive.open(entry, "w") as packed:
                    while chunk := source.read(_CHUNK):
                        packed.write(chunk)
        with partial.open("rb") as packed_file:
            sha256 = hashlib.file_digest(packed_file, "sha256").hexdigest()
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    archive_stat = target.stat()
    expires = datetime.fromtimestamp(archive_stat.st_mtime + ARCHIVE_LIFETIME, UTC).isoformat(
        timespec="seconds"
    )
    return Download(
        target.relative_to(Path(settings.DATA_DIR)).as_posix(), sha256, archive_stat.st_size, expires
    )


def file_of(path: str) -> Path:
    """Return the archive at the `path` of a `Download`. Raises DownloadExpired."""
    file = (Path(settings.DATA_DIR) / path).resolve()
    if not file.is_relative_to(_folder().resolve()) or not file.is_file() or _expired(file):
        raise DownloadExpired(f"{path} no longer exists; export it again")
    return file


def archives_of_job(job: int) -> list[str]:
    """Return the `Download` paths of the archives of a job, whose names end with its number."""
    return [file.relative_to(Path(settings.DATA_DIR)).as_posix() for file in _folder().glob(f"*-{job}.zip")]


def is_stored(path: str) -> bool:
    """Whether the archive at the `path` of a `Download` is stored."""
    try:
        file_of(path)
    except DownloadExpired:
        return False
    return True


def remove_archive(path: str) -> bool:
    """Remove the archive at the `path` of a `Download`; return whether it existed."""
    try:
        file_of(path).unlink()
    except (DownloadExpired, FileNotFoundError):
        return False
    return True


def remove_expired() -> int:
    """Remove expired archives, and remains of killed processes; return their number."""
    removed = 0
    if _folder().is_dir():
        for file in _folder().iterdir():
            if _expired(file):
                with contextlib.suppress(FileNotFoundError):
                    file.unlink()
                    removed += 1
    return removed


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "exports"


def _expired(file: Path) -> bool:
    try:
        return file.stat().st_mtime + ARCHIVE_LIFETIME < time.time()
    except FileNotFoundError:
        return True
