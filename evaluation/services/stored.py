"""What is stored under a name: written by one process at a time, seen when it is whole, and removed where
nothing else uses it."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Model, ProtectedError
from django.utils import timezone

from annotation import audit
from evaluation.models import (
    CaptionSet,
    JudgmentSet,
    LocalizationSet,
    QrelsSnapshot,
    Report,
    Run,
    System,
    TagSet,
)
from evaluation.models.stored import StoredPredictions
from evaluation.services.common import check_name, check_same_provenance, work_lock
from phrasebox.errors import PhraseboxError

#: Model -> what a row is called in messages, and in the audit log.
STORED_ROWS: Mapping[type[Model], tuple[str, str]] = {
    CaptionSet: ("caption set", "captions"),
    JudgmentSet: ("judgments", "judgments"),
    LocalizationSet: ("localization set", "localizations"),
    QrelsSnapshot: ("qrels", "qrels"),
    Report: ("report", "report"),
    Run: ("run", "run"),
    System: ("system", "system"),
    TagSet: ("tag set", "tags"),
}
_P = TypeVar("_P", bound=StoredPredictions)
#: Names of rows that an error lists at most.
_LISTED = 3


def remove_act(model: type[Model]) -> str:
    """What the audit log calls the removal of a row, such as remove_tag_set."""
    return f"remove_{STORED_ROWS[model][0].replace(' ', '_')}"


@contextmanager
def row_lock(row: Any) -> Iterator[None]:
    """While nobody else writes under the name of this row; raises Busy."""
    word, key = STORED_ROWS[type(row)]
    name = f"{row.corpus.name}.{row.name}" if isinstance(row, JudgmentSet) else row.name
    with work_lock(f"{key}.{name}", word, row.name):
        yield


def remove_stored(row: Any, actor: Any = None, *, folders: Iterable[Path] = ()) -> None:
    """Remove a row with what hangs on it, and its folders; raises PhraseboxError where something else uses
    it, Busy while it is written."""
    word, key = STORED_ROWS[type(row)]
    name = f"{row.name}:{row.version}" if isinstance(row, QrelsSnapshot) else row.name
    away = [(folder, folder.with_name(f".{folder.name}.removed")) for folder in folders]
    with row_lock(row):
        with transaction.atomic():
            about: dict[str, Any] = {key: name, "digest": row.digest}
            audit.record(actor=actor, act=remove_act(type(row)), **about)
            try:
                row.delete()
            except ProtectedError as error:
                raise PhraseboxError(
                    f"{word} '{row}' cannot be removed: {_users_in_words(error)} it"
                ) from error
            for folder, removed in away:  # undone by nothing, so it is last
                shutil.rmtree(removed, ignore_errors=True)
                if folder.exists():
                    folder.rename(removed)
        for _folder, removed in away:
            shutil.rmtree(removed, ignore_errors=True)


def set_archived(row: Any, archived: bool, actor: Any = None) -> bool:
    """Let lists leave a row out, or show it again; False where it is so already. Nothing else changes: its
    name goes on naming it, and what was made of it stands."""
    word, at = str(row._meta.verbose_name), timezone.now() if archived else None
    with transaction.atomic():
        others = type(row)._default_manager.filter(pk=row.pk, archived_at__isnull=archived)
        changed = bool(others.update(archived_at=at))
        if changed:
            about: dict[str, Any] = {word: row.name}
            audit.record(actor=actor, act=f"archive_{word}" if archived else f"unarchive_{word}", **about)
            row.archived_at = at
    return changed


def get_or_publish(
    model: type[_P], name: str, columns: Mapping[str, Any], fill: Callable[[_P], object]
) -> tuple[_P, bool]:
    """The set of predictions of that name and these facts, and whether it is new: then `fill` writes its
    rows, and it is seen when it is whole.

    Raises InputError where a set of that name has other facts, Busy, and whatever `fill` raises; then
    nothing of it remains.
    """
    word, rows = STORED_ROWS[model][0], model._default_manager
    check_name(name, word)
    row = model(name=name, **columns)
    with row_lock(row):
        rows.filter(name=name, published=False).delete()  # a writer was killed
        stored = rows.filter(name=name).first()
        if stored is not None:
            check_same_provenance(stored, columns, word)
            return stored, False
        row.save()
        try:
            fill(row)
            row.published = True
            row.save()
        except BaseException:
            row.delete()  # it would keep its system from being removed
            raise
        return row, True


def _users_in_words(error: ProtectedError) -> str:
    """What uses something, the first few by name: "run a, run b and 3 more use"."""
    rows = error.protected_objects
    users = [getattr(row, "batch", None) or getattr(row, "report", None) or row for row in rows]
    names = sorted({f"{user._meta.verbose_name} {user}" for user in users})
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more} {'uses' if len(names) == 1 else 'use'}"
