"""Tagging images by a trained system, and scoring what came of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.comparison.subsets import subset_named
from evaluation.jobs.progress import Phases
from evaluation.services.tagging.scores import TagScoring, keep_figures, score_tag_set
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
    return asdict(tag_images(TagRequest(**asdict(request)), progress=Phases(progress)))


@job_kind(
    "score_tags",
    title=gettext_lazy("Scoring tags"),
    refusals=(UnknownName, OSError, ValueError),
)
def score_tags_job(progress: JobProgress, *, name: str, corpus: str, split: str = "") -> dict[str, Any]:
    """Score the set, and keep the figures with it."""
    report = score_tag_set(
        corpus=corpus,
        name=name,
        how=TagScoring(),
        subset=subset_named(corpus, split, files=False),
        progress=Phases(progress),
    )
    keep_figures(name, report)
    return {"name": name, "images": report["images"]}
