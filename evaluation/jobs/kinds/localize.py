"""Finding phrases by a trained system, and scoring where they were found."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.localizations.kept_scores import score_and_keep
from evaluation.services.localizations.predicting import LocalizeRequest, localize


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
    wanted = LocalizeRequest(
        system=system, name=name, split=split, layer=layer, regions=regions, limit=limit, seed=seed
    )
    return asdict(localize(wanted, progress=Phases(progress)))


@job_kind(
    "score_localization",
    title=gettext_lazy("Scoring localizations"),
    refusals=(UnknownName, OSError, ValueError),
)
def score_localization_job(
    progress: JobProgress, *, name: str, layer: str = "", against: str = ""
) -> dict[str, Any]:
    """Score the set, and keep the figures with it; a killed job does it again."""
    phases = Phases(progress)
    phases("scoring localizations", 0, 1)
    report = score_and_keep(name=name, layer=layer, against=against)
    phases("scoring localizations", 1, 1)
    return {"name": name, "layer": layer, "mentions": report["mentions"]}
