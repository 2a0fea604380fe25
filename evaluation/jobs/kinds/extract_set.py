"""Computing a feature set from pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.comparison.provenance import Declaration
from evaluation.jobs.progress import Phases
from evaluation.services.features.extraction import ExtractRequest, extract_set


@dataclass(frozen=True, slots=True, kw_only=True)
class SetJobRequest:
    """Features to be computed, as a job's row has them: `ExtractRequest` with plain values."""

    corpus: str
    name: str
    weights: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    extractor: str = "cnn"
    learn_corpus: str = ""
    trained_on: str = ""
    corpora: Sequence[str] | None = None


@job_kind(
    "extract_set",
    title=gettext_lazy("Computing features"),
    refusals=(UnknownName, OSError, ValueError),
    request=SetJobRequest,
)
def extract_set_job(progress: JobProgress, request: SetJobRequest) -> dict[str, Any]:
    """Write the set; the result is the set's facts. A killed one goes on after its last block."""
    wanted = ExtractRequest(
        corpus=request.corpus,
        name=request.name,
        extractor=request.extractor,
        weights=Path(request.weights) if request.weights else None,
        learn_corpus=request.learn_corpus,
        settings=request.settings,
        dtype=request.dtype,
        declared=Declaration(request.trained_on, request.corpora),
    )
    found, made, absent = extract_set(wanted, progress=Phases(progress))
    return {**found.as_dict(), "unchanged": not made, "left_out": absent}
