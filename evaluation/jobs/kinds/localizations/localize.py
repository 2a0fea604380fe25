"""Finding phrases in pictures by a trained system."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases, check_same_corpus
from evaluation.services.localizations.predicting import LocalizeRequest, localize
from evaluation.services.systems.registry import system_row


@job_kind("localize", title=gettext_lazy("Localizing phrases"), refusals=(UnknownName, OSError, ValueError))
def localize_job(
    progress: JobProgress,
    *,
    system: str,
    name: str = "",
    split: str = "test",
    layer: str = "",
    regions: str = "",
    limit: int = 100,
    seed: int = 0,
) -> dict[str, Any]:
    """Make the set; a killed job starts again from the first image. The set is seen once it is whole."""
    check_same_corpus(progress, system_row(system))
    wanted = LocalizeRequest(
        system=system, name=name, split=split, layer=layer, regions=regions, limit=limit, seed=seed
    )
    return asdict(localize(wanted, progress=Phases(progress)))
