"""Describing a corpus's pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.systems import training


@job_kind(
    "extract_features",
    title=gettext_lazy("Extracting image features"),
    refusals=(UnknownName, OSError, ValueError),
)
def extract_features_job(progress: JobProgress, *, corpus: str, seed: int = 0) -> dict[str, Any]:
    """Keep every picture's words; the result is `systems.Extracted`. What is kept is not done again."""
    return asdict(training.extract_features(corpus=corpus, seed=seed, progress=Phases(progress)))
