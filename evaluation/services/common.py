"""What the writers share: names, one writer at a time, and no trace of what failed."""

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

#: Rows written in one transaction.
ROWS_PER_INSERT = 2_000
#: Bytes, unpacked, of a file that is read line by line while its sender waits.
MOST_READ = 16 * 2**20

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,100}")


class InputError(PhraseboxError):
    """What cannot be taken in; one line with the remedy."""


def check_name(name: str, word: str) -> None:
    """Raise InputError unless `name` can name a `word` (a run, a system) in addresses and files."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{word} name {name!r}: expected letters, digits, hyphens or underscores, at most 100 of them"
        )


def check_same_corpus(context: OperationContext, row: Any) -> None:
    """Raise InputError where what now bears the name that a job was given is of another corpus: it was
    removed since, and another one made."""
    corpus = context.progress.corpus if context.progress is not None else None
    if corpus is not None and row.corpus_id != corpus.pk:
        raise InputError(
            f"{row._meta.verbose_name} {row.name!r} is not of corpus {corpus.name!r} any more; ask for a new "
            "job"
        )


@contextmanager
def errors_without_folder(path: Path, context: OperationContext) -> Iterator[None]:
    """While a file is read that was sent, or that is in `sources`: what is wrong with it names it without its
    folder. Raises InputError where it is gone."""
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
    """While nobody else does `work`; raises Busy. Whatever is unpublished then belongs to nobody."""
    with locked_folder(
        work, busy=f"{word} {name!r}: another process is writing under this name; wait until it is finished"
    ):
        yield


def phase_cache(progress: PhaseProgress = no_progress) -> PhaseCache:
    """Where finished phases of long work are kept, of all corpora."""
    return PhaseCache(Path(settings.DATA_DIR) / "kept", progress)


#: What facts of a set of predictions are called that do not bear their own name.
_COLUMN_NAMES = {
    "made_by": "system",
    "system_digest": "training of its system",
    "input_digest": "images or mentions",
    "source_digest": "file",
}


def check_same_provenance(existing: StoredPredictions, columns: Mapping[str, Any], word: str) -> None:
    """Raise InputError where a set of predictions, a `word`, has other facts, and name those.

    A file's name is none of them (`source`): its content is; nor are remarks.
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
    """Raise InputError unless there is a file or folder; `expected` says what should be there."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; expected {expected}")


def replace_folder(new_folder: Path, target: Path) -> None:
    """Move a whole folder to `target`. What stood there is moved away first, and comes back by
    `recover_folder` if we die."""
    target.parent.mkdir(parents=True, exist_ok=True)
    old, near = _moved_away(target), target.with_name(f".{target.name}.new")
    shutil.rmtree(near, ignore_errors=True)
    # Elsewhere may be another disk, from which nothing moves in one step.
    shutil.move(new_folder, near)
    if target.exists():
        target.rename(old)
    near.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def recover_folder(target: Path) -> None:
    """Tidy up what a killed `replace_folder` left beside `target`; call while alone with it."""
    old = _moved_away(target)
    if old.exists() and not target.exists():
        old.rename(target)
    for left in (old, target.with_name(f".{target.name}.new")):
        shutil.rmtree(left, ignore_errors=True)


def _moved_away(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")
