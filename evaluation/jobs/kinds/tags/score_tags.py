"""Scoring a tag set."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.comparison.missing import REFUSE, Missing
from evaluation.comparison.subsets import subset_named
from evaluation.jobs.progress import Phases
from evaluation.services.tagging.scores import TagScoring, keep_figures, score_tag_set


@job_kind(
    "score_tags",
    title=gettext_lazy("Scoring tags"),
    refusals=(UnknownName, OSError, ValueError),
)
def score_tags_job(
    progress: JobProgress, *, name: str, corpus: str, split: str = "", missing: Missing = REFUSE
) -> dict[str, Any]:
    """Score the set, and keep the figures with it."""
    report = score_tag_set(
        corpus=corpus,
        name=name,
        how=TagScoring(missing=missing),
        subset=subset_named(corpus, split, files=False),
        progress=Phases(progress),
    )
    keep_figures(name, report)
    return {"name": name, "images": report["images"]}
