"""Describing a corpus's pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import Progress, job_kind
from annotation.registry import UnknownName
from evaluation.job_progress import Phases
from evaluation.services import systems


@job_kind(
    "extract_features",
    title=gettext_lazy("Extracting image features"),
    refusals=(UnknownName, OSError, ValueError),
)
def extract_features(progress: Progress, *, corpus: str, seed: int = 0) -> dict[str, Any]:
    """Keep every picture's words; the result is `systems.Extracted`. What is kept is not done again."""
    return asdict(systems.extract_features(corpus=corpus, seed=seed, progress=Phases(progress)))
