"""Restore a backup: all of it is checked before anything changes, and the earlier data is set aside.

DATA_DIR/restoring contains `new` (what was unpacked) and `before` (the earlier data). The steps of a restore:

1. unpack into `new`, and compare with the checksums;
2. create `before`, and move folder after folder of `new` into place;
3. replace the database, in one transaction;
4. merge the lists of erasures, migrate, erase again; then delete `before`.

A failure in 1 changes nothing, one in 2 or 3 is reverted. A process that is killed from 2 on leaves `before`,
and nothing starts beside it (`exclusive.at_work`) until a restore has been completed.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import call_command

from annotation.audit import record
from annotation.backups import BackupError, archive, contents, keys
from annotation.backups import database as databases
from annotation.backups.making import ERASURES_MEMBER, missing_pictures
from annotation.common import erasures
from annotation.common.locks import BEFORE, RESTORING, nobody_at_work
from annotation.images.withdrawn import WITHDRAWN, merge_withdrawn
from annotation.moderation import withdrawn_pictures
from annotation.workers import pseudonyms

#: Seconds until a closed connection disappears from the server's list.
LEAVING = 2.0

_NEW, _DONE = "new", "done"


@dataclass(frozen=True, slots=True)
class RestoredBackup:
    """A restored backup: its time, number of files, migrations applied afterwards, workers erased again,
    number of pictures withdrawn again, what a new secret key invalidates (nothing under the same one), and
    pictures that the database refers to and the backup lacks."""

    backup: str
    made_at: str
    files: int
    migrated: list[str]
    erased: list[str]
    withdrawn: int
    broken: list[str]
    missing: int


@dataclass(frozen=True, slots=True)
class _About:
    """The description in a backup."""

    made_at: str
    vendor: str
    migrations: list[str]
    same_key: bool


def restore_backup(source: Path, *, replace: bool = False) -> RestoredBackup:
    """Replace the current data by the backup `source`. Raises BackupError, Busy.

    Without `replace`, only an empty database and empty folders are replaced. Rejected while anything runs
    that shares DATA_DIR, or is connected to the database.
    """
    root = Path(settings.DATA_DIR).absolute()
    with nobody_at_work(busy=f"something is using {root}; stop the server and its workers first"):
        kind = databases.database()
        _check_target(kind, root, replace)
        folder = root / RESTORING
        again = (folder / BEFORE).exists()
        about, files = _unpack(source, kind, folder, again)
        with _swapped_folders(folder, again):
            kind.replace(folder / _NEW / kind.member)
        erased, withdrawn = _migrate_restored(folder / _NEW / ERASURES_MEMBER, about)
        os.rename(folder / BEFORE, folder / _DONE)
        shutil.rmtree(folder, ignore_errors=True)
    return RestoredBackup(
        backup=str(source),
        made_at=about.made_at,
        files=files,
        migrated=sorted(set(databases.applied()) - set(about.migrations)),
        erased=erased,
        withdrawn=withdrawn,
        broken=[] if about.same_key else list(keys.BROKEN.values()),
        missing=missing_pictures(),
    )


def _others(kind: databases.Database) -> int:
    """Return the number of other connections to the database; one that was just closed may count for a
    moment."""
    until = monotonic() + LEAVING
    while (others := kind.others()) and monotonic() < until:
        sleep(0.1)
    return others


def _check_target(kind: databases.Database, root: Path, replace: bool) -> None:
    """Raise BackupError if the data cannot be replaced, or must not be."""
    for name in contents.FOLDERS_BACKED_UP:
        if (root / name).is_symlink():
            raise BackupError(
                f"{root / name} is a link, and what is put in its place would not be where it leads; remove "
                "the link, restore, and move the folder afterwards"
            )
    if others := _others(kind):
        raise BackupError(
            f"the database has {others} other connections; stop the server and its workers on every machine, "
            "and close every other client"
        )
    stands = [] if replace else [*databases.filled_tables(), *contents.holds_files()]
    if stands:
        listed = ", ".join(stands[:3]) + (f" and {len(stands) - 3} more" if len(stands) > 3 else "")
        raise BackupError(
            f"not empty: {listed}; let the backup replace everything there, or restore it elsewhere"
        )


def _unpack(source: Path, kind: databases.Database, folder: Path, again: bool) -> tuple[_About, int]:
    """Unpack a backup into `new`, and check all of it; return its description and number of files."""
    new = folder / _NEW
    for left in (new, folder / _DONE):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir(parents=True)
    folder.chmod(0o700)
    try:
        with archive.open_backup(source) as reader:
            about = _about(reader.about)
            _check_about(about, kind)
            try:
                members = reader.unpack(
                    new,
                    expected=lambda name: (
                        name in (kind.member, ERASURES_MEMBER, WITHDRAWN) or archive.in_folders(name)
                    ),
                )
            except OSError as error:
                raise BackupError(f"cannot be unpacked into {folder}: {error.strerror or error}") from error
            for name in (kind.member, ERASURES_MEMBER):
                if not (new / name).is_file():
                    raise BackupError(f"it has no {name}")
            kind.check(new / kind.member)
    except BaseException:
        shutil.rmtree(new if again else folder, ignore_errors=True)
        raise
    return about, members - len((kind.member, ERASURES_MEMBER)) - (new / WITHDRAWN).exists()


def _about(about: dict[str, Any]) -> _About:
    try:
        migrations = [str(name) for name in about["migrations"]]
        return _About(
            str(about["made_at"]), str(about["database"]), migrations, keys.in_use(about["secret_key"])
        )
    except (KeyError, TypeError) as error:
        raise BackupError(f"its description is damaged ({error})") from error


def _check_about(about: _About, kind: databases.Database) -> None:
    if about.vendor != kind.vendor:
        raise BackupError(
            f"it holds a database of {about.vendor}, and the one in use is {kind.vendor}; set DATABASE_URL "
            f"to one of {about.vendor}"
        )
    if unknown := databases.unknown_migrations(about.migrations):
        raise BackupError(
            f"it was made by a newer version of the product: this one has no migration {unknown[-1]}; "
            "restore it with that version"
        )


@contextmanager
def _swapped_folders(folder: Path, again: bool) -> Iterator[None]:
    """Within the context, the folders of `new` are in place; if the block fails, the earlier ones are moved
    back.

    If it is unknown which database is active, nothing is moved back: after an interrupted restore (`again`),
    if the database does not respond, and on an interrupt.
    """
    root, new, before = folder.parent, folder / _NEW, folder / BEFORE
    before.mkdir(exist_ok=True)
    moved: list[tuple[Path, Path]] = []

    def move(path: Path, to: Path) -> None:
        os.rename(path, to)
        moved.append((path, to))

    try:
        for name in sorted(contents.FOLDERS_BACKED_UP):
            if (before / name).exists():
                # The current folder is from the interrupted restore.
                shutil.rmtree(root / name, ignore_errors=True)
            elif (root / name).exists():
                move(root / name, before / name)
            if (new / name).exists():
                move(new / name, root / name)
        # Once for all files, before anything relies on them.
        os.sync()
        yield
    except Exception as error:
        if not again and not isinstance(error, databases.Unsure):
            for path, to in reversed(moved):
                os.rename(to, path)
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise BackupError(
                f"the folders of {root} cannot be replaced: {error.strerror or error} ({error.filename})"
            ) from error
        raise


def _migrate_restored(listed: Path, about: _About) -> tuple[list[str], int]:
    """Migrate the restored database to this version, and erase and withdraw again what is in the lists;
    return the pseudonyms, and the number of pictures."""
    try:
        erasures.merge_erasures(listed.read_text(encoding="utf-8"))
        if (gone := listed.with_name(WITHDRAWN)).exists():
            merge_withdrawn(gone.read_text(encoding="utf-8"))
        call_command("migrate", verbosity=0, interactive=False)
        if not about.same_key:
            # So that nobody can use them: neither their owners, nor anybody who looks for those of an erased
            # worker.
            Session.objects.all().delete()
        erased = pseudonyms.erase_again()
        again = withdrawn_pictures.withdraw_again()
        record(actor=None, act="restore", made_at=about.made_at)
        databases.database().analyse()
    except Exception as error:
        raise BackupError(
            f"the backup is restored, but the restore is not finished: {' '.join(str(error).split())}. Fix "
            f"that, restore the backup again, and let it replace what is there. Nothing starts before that, "
            f"because erased people may be back"
        ) from error
    return [deletion.pseudonym for deletion in erased], len(again)
