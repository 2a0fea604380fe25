"""What of DATA_DIR a backup takes.

Whatever a part of the product keeps there is in one of the two tables: it is taken, or it can be made again.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from annotation.backups import BackupError

#: Folders that are taken. An app adds its own when it is ready.
FOLDERS_BACKED_UP: list[str] = ["pictures"]

#: Folders that are not, and why not.
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
    """Take these folders of DATA_DIR too."""
    FOLDERS_BACKED_UP.extend(folders)


#: How files begin that lie in DATA_DIR itself: the database, the lists of erasures and of withdrawn pictures,
#: Celery's clock, what the link to the first account ends with. The first three are taken in their own ways.
FILES = ("phrasebox.sqlite3", "erasures.txt", "withdrawn.txt", "celerybeat", "first-account", ".")


def unknown_entries() -> list[str]:
    """What lies in DATA_DIR and no part of the product knows: it is not taken."""
    return sorted(
        entry.name
        for entry in Path(settings.DATA_DIR).iterdir()
        if entry.name not in (*FOLDERS_BACKED_UP, *FOLDERS_LEFT_OUT) and not entry.name.startswith(FILES)
    )


def files() -> Iterator[tuple[str, Path]]:
    """Every file that is taken: its name in the backup, and where it lies.

    What begins with a dot is half written, or left by somebody who was killed. A link to a file is followed.
    Raises BackupError for what cannot be taken.
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
    """The taken folders that hold anything now."""
    root = Path(settings.DATA_DIR)
    return [
        name for name in sorted(FOLDERS_BACKED_UP) if (root / name).is_dir() and any((root / name).iterdir())
    ]


def regular(path: Path) -> bool:
    """Whether a file of that name can be copied; False where it was removed meanwhile."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _refuse(error: OSError) -> None:
    """A folder that cannot be read must not be missing silently; one that is gone may be."""
    if not isinstance(error, FileNotFoundError):
        raise BackupError(f"{error.filename}: {error.strerror}; a backup must be able to read it") from error
