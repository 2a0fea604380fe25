"""Ranking a split, or all images, by a stored system."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.runs import ranking
from evaluation.services.runs.files import RUN_DEPTH
from evaluation.services.runs.ranking import RunsRequest


@job_kind("rank", title=gettext_lazy("Ranking with a system"), refusals=(UnknownName, OSError, ValueError))
def rank_job(
    progress: JobProgress,
    *,
    system: str,
    split: str = "",
    corpus: str = "",
    name: str = "",
    protocol: str = ranking.ONE_CAPTION,
    depth: int = RUN_DEPTH,
    seed: int = 0,
) -> dict[str, Any]:
    """Make the runs of both directions; a run that stands already stays. The result lists `Ranked`."""
    ranked = ranking.rank_system(
        RunsRequest(
            system=system, split=split, corpus=corpus, run=name, protocol=protocol, depth=depth, seed=seed
        ),
        progress=Phases(progress),
    )
    return {"runs": [asdict(one) for one in ranked]}
