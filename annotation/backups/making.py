"""Make a backup, while the server runs."""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.backups import BackupError, archive, contents, keys
from annotation.backups.database import applied, database
from annotation.common import database as rows
from annotation.common import erasures
from annotation.common.locks import locked_folder
from annotation.images.pictures import picture_path
from annotation.images.withdrawn import WITHDRAWN, withdrawn_file
from annotation.models import Image, PeriodicRun

#: The member with the list of erasures.
ERASURES_MEMBER = erasures.ERASURES

_Progress = Callable[[Iterable[tuple[str, Path]]], Iterable[tuple[str, Path]]]


@dataclass(frozen=True, slots=True)
class CreatedBackup:
    """A backup: its file, size in bytes, number of files of DATA_DIR, and the database's newest migrations.
    `missing` pictures are referenced by the database and do not exist; `unknown` are entries of DATA_DIR that
    were not backed up."""

    backup: str
    size: int
    files: int
    database: str
    migrations: list[str]
    missing: int
    unknown: list[str]


def backup(target: Path, *, progress: _Progress = iter) -> CreatedBackup:
    """Write all stored data into the new file `target`. Raises BackupError, Busy."""
    target = target.absolute()
    for name in contents.FOLDERS_BACKED_UP:
        if target.is_relative_to(Path(settings.DATA_DIR).absolute() / name):
            raise BackupError(f"{target} would be part of itself; choose a place outside {name}")
    migrations = applied()
    if not migrations:
        raise BackupError("there is nothing to back up: there is no database")
    kind = database()
    begun = rows.now()
    about = {
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "database": kind.vendor,
        "migrations": migrations,
        "secret_key": keys.fingerprint(),
    }
    with (
        locked_folder(
            "backup", busy="another backup of this DATA_DIR is running; wait until it ends"
        ) as work,
        archive.write_backup(target, about) as writer,
    ):
        # The database first: files that its rows refer to existed before them, and later files do no harm.
        copy = work / kind.member
        kind.copy(copy)
        writer.add(kind.member, copy)
        copy.unlink()
        before = writer.files
        for name, path in progress(contents.files()):
            if contents.regular(path):
                writer.add(name, path)
        files = writer.files - before
        # Last: somebody who was erased meanwhile is in the database's copy, and is erased when it is
        # restored.
        listed = erasures.erasures_file().read_bytes() if erasures.erasures_file().exists() else b""
        writer.put(ERASURES_MEMBER, io.BytesIO(listed), len(listed))
        gone = withdrawn_file().read_bytes() if withdrawn_file().exists() else b""
        if gone:
            writer.put(WITHDRAWN, io.BytesIO(gone), len(gone))
    size = target.stat().st_size
    _note(begun, {"file": target.name, "bytes": size})
    return CreatedBackup(
        backup=str(target),
        size=size,
        files=files,
        database=kind.vendor,
        migrations=_newest(migrations),
        missing=missing_pictures(),
        unknown=contents.unknown_entries(),
    )


def _note(begun: datetime, about: dict[str, Any]) -> None:
    """Record the backup, for the page of the server. The copy itself does not contain this."""
    values = {"begun_at": begun, "ended_at": rows.now(), "failed": False, "about": about}
    with rows.writing():
        PeriodicRun.objects.update_or_create(name=PeriodicRun.BACKUP, defaults=values)


def _newest(migrations: Iterable[str]) -> list[str]:
    """Return the last migration of each of our apps, which identify a version of the product."""
    last = {name.split(".")[0]: name for name in sorted(migrations)}
    return [name for app, name in last.items() if app in ("annotation", "evaluation")]


def missing_pictures() -> int:
    """Return the number of pictures that rows refer to and that are not in the store."""
    named = Image.objects.exclude(picture="").values_list("picture", flat=True).distinct()
    return sum(not picture_path(name).is_file() for name in named.iterator())
