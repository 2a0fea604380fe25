"""Writing captions by a trained system."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases, check_same_corpus
from evaluation.services.captions.writing import CaptionsRequest, generate_captions
from evaluation.services.systems.registry import system_row
from models_core.estimators.captioners import WritingSettings


@job_kind(
    "generate_captions",
    title=gettext_lazy("Writing captions"),
    refusals=(UnknownName, OSError, ValueError),
)
def generate_captions_job(
    progress: JobProgress,
    *,
    system: str,
    name: str = "",
    split: str = "test",
    regions: str = "",
    beam: int = 7,
    limit: int = 20,
    seed: int = 0,
) -> dict[str, Any]:
    """Write the set; a killed job starts again from the first image. The set is seen once it is whole."""
    check_same_corpus(progress, system_row(system))
    wanted = CaptionsRequest(
        system=system,
        name=name,
        split=split,
        regions=regions,
        how=WritingSettings(beam=beam, limit=limit),
        seed=seed,
    )
    return asdict(generate_captions(wanted, progress=Phases(progress)))
