"""Finding and describing regions of pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.features.regions import RegionsRequest, extract_regions


@job_kind(
    "extract_regions",
    title=gettext_lazy("Finding regions"),
    refusals=(UnknownName, OSError, ValueError),
)
def extract_regions_job(
    progress: JobProgress,
    *,
    corpus: str,
    name: str,
    weights: str = "",
    extractor: str = "cnn",
    layer: str = "",
    split: str = "",
    method: str = "edgeboxes",
    limit: int = 19,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the set; the result is the set's facts. A killed one goes on after its last block."""
    wanted = RegionsRequest(
        corpus=corpus,
        name=name,
        extractor=extractor,
        weights=Path(weights) if weights else None,
        layer=layer,
        split=split,
        method=method,
        limit=limit,
        settings=settings or {},
    )
    found = extract_regions(wanted, progress=Phases(progress))
    facts = found.stored.as_dict()
    return {**facts, "unchanged": not found.made, "left_out": found.left_out, "without": found.without}
