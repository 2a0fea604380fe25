"""Importing a feature set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases
from evaluation.services.features.importing import FeatureImport, import_features
from evaluation.services.features.store import FeatureKind


@job_kind(
    "import_features",
    title=gettext_lazy("Importing features"),
    refusals=(UnknownName, OSError, ValueError),
)
def import_features_job(
    progress: JobProgress,
    *,
    corpus: str,
    name: str,
    path: str,
    kind: FeatureKind = "image",
    ids: str = "",
    dtype: str = "float32",
    network: str = "",
    trained_on: str = "",
    corpora: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Write the set; the result is `ImportedFeatures`. A killed one goes on after its last block."""
    wanted = FeatureImport(
        corpus=corpus,
        name=name,
        path=Path(path),
        kind=kind,
        ids=Path(ids) if ids else None,
        dtype=dtype,
        network=network,
        trained_on=trained_on,
        corpora=corpora,
    )
    return import_features(wanted, progress=Phases(progress)).as_dict()
