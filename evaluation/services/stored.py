"""Rows stored under a name: one process writes at a time, they are visible once complete, and are only
removed while nothing else uses them."""

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

#: Model -> what messages call its rows, and what the audit log calls them.
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
#: The largest number of rows that an error lists.
_LISTED = 3


def remove_act(model: type[Model]) -> str:
    """Return the audit log's name for the removal of a row, such as remove_tag_set."""
    return f"remove_{STORED_ROWS[model][0].replace(' ', '_')}"


@contextmanager
def row_lock(row: Any) -> Iterator[None]:
    """Hold the lock for writing under the name of this row; raises Busy."""
    word, key = STORED_ROWS[type(row)]
    name = f"{row.corpus.name}.{row.name}" if isinstance(row, JudgmentSet) else row.name
    with work_lock(f"{key}.{name}", word, row.name):
        yield


def remove_stored(row: Any, actor: Any = None, *, folders: Iterable[Path] = ()) -> None:
    """Remove a row with its dependent rows and its folders; raises PhraseboxError if something else uses
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
            for folder, removed in away:  # last, since it cannot be undone
                shutil.rmtree(removed, ignore_errors=True)
                if folder.exists():
                    folder.rename(removed)
        for _folder, removed in away:
            shutil.rmtree(removed, ignore_errors=True)


def set_archived(row: Any, archived: bool, actor: Any = None) -> bool:
    """Hide a row from lists, or show it again; return False if that is its state already. Nothing else
    changes: its name remains valid, and so does everything made from it."""
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
    """Return the set of predictions with this name and these columns, and whether it is new: then `fill`
    writes its rows, and it becomes visible once complete.

    Raises InputError if a set of that name has other columns, Busy, and whatever `fill` raises; then
    nothing of it remains.
    """
    word, rows = STORED_ROWS[model][0], model._default_manager
    check_name(name, word)
    row = model(name=name, **columns)
    with row_lock(row):
        rows.filter(name=name, published=False).delete()  # left by a killed writer
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
    """Return the first few users of something by name: "run a, run b and 3 more use"."""
    rows = error.protected_objects
    users = [getattr(row, "batch", None) or getattr(row, "report", None) or row for row in rows]
    names = sorted({f"{user._meta.verbose_name} {user}" for user in users})
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more} {'uses' if len(names) == 1 else 'use'}"
