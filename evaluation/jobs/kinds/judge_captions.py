"""Mixing captions of systems with people's, to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.captions.judging import MixRequest, mix_captions


@job_kind(
    "judge_captions",
    title=gettext_lazy("Mixing captions to be judged"),
    refusals=(UnknownName, OSError, ValueError),
)
def judge_captions_job(
    progress: JobProgress,
    *,
    name: str,
    sets: Sequence[str],
    people: int = 1,
    images: int = 0,
    controls: int = 0,
    seed: int = 0,
) -> dict[str, Any]:
    """Make the corpus and its runs; a killed job makes the same again."""
    wanted = MixRequest(
        name=name, sets=tuple(sets), people=people, images=images, controls=controls, seed=seed
    )
    return asdict(mix_captions(wanted, progress=Phases(progress)))
