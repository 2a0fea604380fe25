"""Systems, runs, batches and reports out of the way: lists leave archived ones out, unless asked for them.

Nothing else changes: names go on naming them, and what was made of them stands.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation import audit
from evaluation.models import Batch, Report, Run, System

#: What can be archived, by the word that commands and the audit have for it.
ARCHIVABLE: dict[str, type[System | Run | Batch | Report]] = {
    "system": System,
    "run": Run,
    "batch": Batch,
    "report": Report,
}


def set_archived(row: System | Run | Batch | Report, *, archived: bool, actor: Any = None) -> bool:
    """Archive a row, or bring it back; False where it is so already."""
    what = next(word for word, model in ARCHIVABLE.items() if isinstance(row, model))
    at = timezone.now() if archived else None
    with transaction.atomic():
        others = type(row)._default_manager.filter(pk=row.pk, archived_at__isnull=archived)
        changed = bool(others.update(archived_at=at))
        if changed:
            act = f"archive_{what}" if archived else f"unarchive_{what}"
            about: dict[str, Any] = {what: row.name}
            audit.record(actor=actor, act=act, **about)
            row.archived_at = at
    return changed
