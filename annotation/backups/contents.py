"""The parts of DATA_DIR in a backup.

Everything that the product stores there is in one of the two tables: it is backed up, or it can be recreated.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from annotation.backups import BackupError

#: Folders in the backup. An app adds its own when it is ready.
FOLDERS_BACKED_UP: list[str] = ["pictures"]

#: Folders that are not in it, and the reason.
FOLDERS_LEFT_OUT: dict[str, str] = {
    "corpus_uploads": "files that somebody is sending; they expire in a day",
    "demo": "the demonstration makes it again",
    "exports": "they expire, and are made again on request",
    "kept": "it only saves time when systems are trained",
    "matplotlib": "a list of fonts",
    "media": "nothing is stored there",
    "numba": "compiled code",
    "restoring": "a restore under way",
    "static": "collected from the code",
    "thumbnails": "made on first sight",
    "uploads": "files that are just being looked at",
    "work": "work under way",
}


def add_folders(*folders: str) -> None:
    """Add these folders of DATA_DIR to backups."""
    FOLDERS_BACKED_UP.extend(folders)


#: Prefixes of files in DATA_DIR itself: the database, the lists of erasures and of withdrawn pictures,
#: Celery's clock, the token of the link to the first account. The first three are backed up separately.
FILES = ("phrasebox.sqlite3", "erasures.txt", "withdrawn.txt", "celerybeat", "first-account", ".")


def unknown_entries() -> list[str]:
    """Return unknown entries of DATA_DIR, which are not backed up."""
    return sorted(
        entry.name
        for entry in Path(settings.DATA_DIR).iterdir()
        if entry.name not in (*FOLDERS_BACKED_UP, *FOLDERS_LEFT_OUT) and not entry.name.startswith(FILES)
    )


def files() -> Iterator[tuple[str, Path]]:
    """Yield every file of the backup: its name there, and its path.

    Names with a leading dot are incomplete, or left by a killed process. A link to a file is followed. Raises
    BackupError for anything that cannot be backed up.
    """
    root = Path(settings.DATA_DIR)
    for taken in sorted(FOLDERS_BACKED_UP):
        for folder, subfolders, names in os.walk(root / taken, onerror=_refuse):
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
            for name in subfolders:
                if os.path.islink(os.path.join(folder, name)):
                    raise BackupError(
                        f"{os.path.join(folder, name)} is a link to a folder; put the folder itself there"
                    )
            for name in sorted(names):
                path = Path(folder, name)
                if not name.startswith("."):
                    yield path.relative_to(root).as_posix(), path


def holds_files() -> list[str]:
    """Return the folders of the backup that are not empty."""
    root = Path(settings.DATA_DIR)
    return [
        name for name in sorted(FOLDERS_BACKED_UP) if (root / name).is_dir() and any((root / name).iterdir())
    ]


def regular(path: Path) -> bool:
    """Return whether a file can be copied; False if it was removed meanwhile."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _refuse(error: OSError) -> None:
    """An unreadable folder must not be skipped silently; a removed one may be."""
    if not isinstance(error, FileNotFoundError):
        raise BackupError(f"{error.filename}: {error.strerror}; a backup must be able to read it") from error
