"""Importing a weak collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.weak.collections import import_collection


@job_kind(
    "import_weak",
    title=gettext_lazy("Importing a weak collection"),
    refusals=(UnknownName, OSError, ValueError),
)
def import_weak_job(progress: JobProgress, *, name: str, path: str) -> dict[str, Any]:
    """Write the collection; the result is its facts. A killed one begins again."""
    found, new = import_collection(name, Path(path), progress=Phases(progress))
    return {**found.as_dict(), "unchanged": not new}
