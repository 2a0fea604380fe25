"""Importing a feature set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.comparison.provenance import Declaration
from evaluation.jobs.progress import Phases
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import FeatureKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportJobRequest:
    """Features to be imported, as a job's row has them: `FeatureImport` with plain values."""

    corpus: str
    name: str
    path: str
    kind: FeatureKind = "image"
    ids: str = ""
    dtype: str = "float32"
    network: str = ""
    trained_on: str = ""
    corpora: Sequence[str] | None = None


@job_kind(
    "import_features",
    title=gettext_lazy("Importing features"),
    refusals=(UnknownName, OSError, ValueError),
    request=ImportJobRequest,
)
def import_features_job(progress: JobProgress, request: ImportJobRequest) -> dict[str, Any]:
    """Write the set; the result is `ImportedFeatures`. A killed one goes on after its last block."""
    wanted = FeatureImport(
        corpus=request.corpus,
        name=request.name,
        path=Path(request.path),
        kind=request.kind,
        ids=Path(request.ids) if request.ids else None,
        dtype=request.dtype,
        network=request.network,
        declared=Declaration(request.trained_on, request.corpora),
    )
    return import_features(wanted, progress=Phases(progress)).as_dict()
