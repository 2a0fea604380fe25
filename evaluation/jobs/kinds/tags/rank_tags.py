"""Ranking the tags of a corpus, and keeping them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.tags.ranked import TagsRequest, keep_ranked_tags


@job_kind(
    "rank_tags",
    title=gettext_lazy("Ranking tags"),
    refusals=(UnknownName, OSError, ValueError),
    request=TagsRequest,
)
def rank_tags_job(progress: JobProgress, wanted: TagsRequest) -> dict[str, Any]:
    """Keep the tags; the result says how many. A killed one begins again, and those kept before stay."""
    return asdict(keep_ranked_tags(wanted, progress=Phases(progress)))
