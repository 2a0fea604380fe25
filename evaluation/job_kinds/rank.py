"""Ranking a split, or all images, by a stored system."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import Progress, job_kind
from annotation.registry import UnknownName
from evaluation.job_progress import Phases
from evaluation.services import rankings
from evaluation.services.runs import DEPTH


@job_kind("rank", title=gettext_lazy("Ranking with a system"), refusals=(UnknownName, OSError, ValueError))
def rank(
    progress: Progress,
    *,
    system: str,
    split: str = "",
    corpus: str = "",
    name: str = "",
    protocol: str = rankings.ONE_CAPTION,
    depth: int = DEPTH,
    seed: int = 0,
) -> dict[str, Any]:
    """Make the runs of both directions; a run that stands already stays. The result lists `Ranked`."""
    ranked = rankings.rank(
        system=system,
        split=split,
        corpus=corpus,
        run=name,
        protocol=protocol,
        depth=depth,
        seed=seed,
        progress=Phases(progress),
    )
    return {"runs": [asdict(one) for one in ranked]}
