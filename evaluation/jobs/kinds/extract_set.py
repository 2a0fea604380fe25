"""Computing a feature set from pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.features.extraction import ExtractRequest, extract_set


@job_kind(
    "extract_set",
    title=gettext_lazy("Computing features"),
    refusals=(UnknownName, OSError, ValueError),
)
def extract_set_job(
    progress: JobProgress,
    *,
    corpus: str,
    name: str,
    weights: str = "",
    settings: Mapping[str, Any] | None = None,
    dtype: str = "float32",
    extractor: str = "cnn",
    learn_corpus: str = "",
) -> dict[str, Any]:
    """Write the set; the result is the set's facts. A killed one goes on after its last block."""
    wanted = ExtractRequest(
        corpus=corpus,
        name=name,
        extractor=extractor,
        weights=Path(weights) if weights else None,
        learn_corpus=learn_corpus,
        settings=settings or {},
        dtype=dtype,
    )
    found, made, absent = extract_set(wanted, progress=Phases(progress))
    return {**found.as_dict(), "unchanged": not made, "left_out": absent}
