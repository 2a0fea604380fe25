"""What the writing services share: checks of names, locks so that one process writes at a time, and cleaning
up."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.common.locks import locked_folder
from annotation.common.operations import OperationContext
from evaluation.models.stored import StoredPredictions
from models_core.phase_cache import PhaseCache, PhaseProgress, no_progress
from phrasebox.errors import PhraseboxError
from phrasebox.text_files import FormatError

#: Number of rows written in one transaction.
ROWS_PER_INSERT = 2_000
#: Largest size in bytes, unpacked, of a file that is read line by line while its sender waits.
MOST_READ = 16 * 2**20

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,100}")


class InputError(PhraseboxError):
    """Input that cannot be imported; one line with the remedy."""


def check_name(name: str, word: str) -> None:
    """Raise InputError unless `name` can name a `word` (a run, a system) in addresses and files."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{word} name {name!r}: expected letters, digits, hyphens or underscores, at most 100 of them"
        )


def check_same_corpus(context: OperationContext, row: Any) -> None:
    """Raise InputError if the row that now has a job's name is of another corpus: the original was removed
    since, and another one created under its name."""
    corpus = context.progress.corpus if context.progress is not None else None
    if corpus is not None and row.corpus_id != corpus.pk:
        raise InputError(
            f"{row._meta.verbose_name} {row.name!r} is not of corpus {corpus.name!r} any more; ask for a new "
            "job"
        )


@contextmanager
def errors_without_folder(path: Path, context: OperationContext) -> Iterator[None]:
    """Context for reading a file that was uploaded, or that is in `sources`: error messages name it without
    its folder. Raises InputError if it no longer exists."""
    if context.by_path:
        yield
        return
    if not path.exists():
        raise InputError(
            f"{path.name} is no longer there: files that are sent are stored for a day; send it again"
        )
    try:
        yield
    except (FormatError, InputError) as error:
        raise InputError(str(error).replace(f"{path.parent}/", "")) from error


@contextmanager
def work_lock(work: str, word: str, name: str) -> Iterator[None]:
    """Hold the lock for `work`; raises Busy. While it is held, unpublished rows belong to no other
    process."""
    with locked_folder(
        work, busy=f"{word} {name!r}: another process is writing under this name; wait until it is finished"
    ):
        yield


def phase_cache(progress: PhaseProgress = no_progress) -> PhaseCache:
    """Return the cache of finished phases of long work, shared by all corpora."""
    return PhaseCache(Path(settings.DATA_DIR) / "kept", progress)


#: Names in messages for columns of a set of predictions, where they differ from the column's own.
_COLUMN_NAMES = {
    "made_by": "system",
    "system_digest": "training of its system",
    "input_digest": "images or mentions",
    "source_digest": "file",
}


def check_same_provenance(existing: StoredPredictions, columns: Mapping[str, Any], word: str) -> None:
    """Raise InputError if an existing set of predictions, a `word`, has other provenance, and name the
    differences.

    The name of a file (`source`) is not compared, its content is; remarks are not compared either.
    """
    others = [
        _COLUMN_NAMES.get(key, key)
        for key, value in columns.items()
        if key not in ("source", "remarks") and getattr(existing, key) != value
    ]
    if others:
        raise InputError(
            f"{word} {existing.name!r} already exists, made otherwise ({', '.join(others)}); choose another "
            "name, or remove it first"
        )


def check_file(path: Path, expected: str) -> None:
    """Raise InputError unless the file or folder exists; `expected` says what should be there."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; expected {expected}")


def replace_folder(new_folder: Path, target: Path) -> None:
    """Move a whole folder to `target`. The previous one is moved away first; `recover_folder` restores it if
    the process dies."""
    target.parent.mkdir(parents=True, exist_ok=True)
    old, near = _moved_away(target), target.with_name(f".{target.name}.new")
    shutil.rmtree(near, ignore_errors=True)
    # The new folder may be on another disk, from which nothing moves atomically.
    shutil.move(new_folder, near)
    if target.exists():
        target.rename(old)
    near.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def recover_folder(target: Path) -> None:
    """Clean up what a killed `replace_folder` left beside `target`; call it while holding the lock."""
    old = _moved_away(target)
    if old.exists() and not target.exists():
        old.rename(target)
    for left in (old, target.with_name(f".{target.name}.new")):
        shutil.rmtree(left, ignore_errors=True)


def _moved_away(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")
