"""Removal of half-written feature sets and half-done trainings that nobody has resumed for a while."""

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from annotation.common.locks import Busy
from evaluation.services.common import work_lock
from evaluation.services.features.store import name_of_unfinished, unfinished_sets
from evaluation.services.systems.folders import unfinished_trainings

#: Seconds after the last write for which they are kept: 14 days.
STALE_AFTER_SECONDS = 14 * 24 * 3600


def remove_stale_work() -> int:
    """Remove half-written feature sets and half-done trainings that are older; return their number."""
    before, removed = time.time() - STALE_AFTER_SECONDS, 0
    for folder, work, word, name in _left():
        with suppress(Busy, FileNotFoundError):
            if _last_written(folder) >= before:
                continue
            with work_lock(work, word, name):
                shutil.rmtree(folder)
                removed += 1
    return removed


def _left() -> Iterator[tuple[Path, str, str, str]]:
    """Yield each such folder with the lock of its writers, the kind of its content, and the name of that."""
    for part in unfinished_sets():
        name = name_of_unfinished(part)
        corpus = part.parent.name if part.suffix == ".part" else part.parent.parent.name
        yield part, f"features.{corpus}.{name}", "feature set", name
    for folder, system in unfinished_trainings():
        yield folder, f"system.{system}", "system", system


def _last_written(folder: Path) -> float:
    return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
