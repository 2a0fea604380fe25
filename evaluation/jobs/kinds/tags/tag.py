"""Tagging images by a trained system."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases, check_same_corpus
from evaluation.services.systems.registry import system_row
from evaluation.services.tagging.writing import LISTED, TagRequest, tag_images
from models_core.estimators.taggers import TagScore


@dataclass(frozen=True, slots=True, kw_only=True)
class TagJobRequest:
    """Tags to be found, as a job's row has it: `TagRequest` without files."""

    system: str
    name: str = ""
    split: str = "test"
    vocabulary: str = ""
    score: TagScore = "own"
    top: int = LISTED
    seed: int = 0


@job_kind(
    "tag",
    title=gettext_lazy("Tagging images"),
    refusals=(UnknownName, OSError, ValueError),
    request=TagJobRequest,
)
def tag_job(progress: JobProgress, request: TagJobRequest) -> dict[str, Any]:
    """Find the tags; a killed job starts again from the first image. The set is seen once it is whole."""
    check_same_corpus(progress, system_row(request.system))
    return asdict(tag_images(TagRequest(**asdict(request)), progress=Phases(progress)))
