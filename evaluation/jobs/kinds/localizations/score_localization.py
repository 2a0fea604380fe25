"""Scoring where a system found phrases."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.comparison.missing import REFUSE, Missing
from evaluation.jobs.progress import Phases, check_same_corpus
from evaluation.services.localizations.kept_scores import keep_localization_scores
from evaluation.services.localizations.scores import LocalizationScoring, score_localization
from evaluation.services.localizations.sets import localization_set_named


@job_kind(
    "score_localization",
    title=gettext_lazy("Scoring localizations"),
    refusals=(UnknownName, OSError, ValueError),
)
def score_localization_job(
    progress: JobProgress, *, name: str, layer: str = "", against: str = "", missing: Missing = REFUSE
) -> dict[str, Any]:
    """Score the set, and keep the figures with it; a killed job does it again."""
    check_same_corpus(progress, localization_set_named(name))
    phases = Phases(progress)
    phases("scoring localizations", 0, 1)
    report = score_localization(LocalizationScoring(name, layer, against=against, missing=missing))
    keep_localization_scores(name, report)
    phases("scoring localizations", 1, 1)
    return {"name": name, "layer": layer, "mentions": report["mentions"]}
