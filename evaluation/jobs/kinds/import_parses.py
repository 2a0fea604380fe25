"""Importing parses of captions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.features.parses import import_parses


@job_kind(
    "import_parses",
    title=gettext_lazy("Importing parses"),
    refusals=(UnknownName, OSError, ValueError),
)
def import_parses_job(
    progress: JobProgress, *, corpus: str, path: str, replace: bool = False
) -> dict[str, Any]:
    """Keep the parses; the result is `ImportedParses`. A killed one begins again."""
    return import_parses(corpus, Path(path), replace=replace, progress=Phases(progress)).as_dict()
