"""Finding and describing regions of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.formats.base import FormatError
from annotation.jobs import JobProgress, job_kind
from evaluation.comparison.provenance import Declaration
from evaluation.jobs.progress import Phases
from evaluation.services.common import ImportRefused
from evaluation.services.features.regions import RegionsRequest, extract_regions
from models_core.features.image.proposals import BEST_PROPOSALS


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsJobRequest:
    """Regions to be found, as a job's row has them: `RegionsRequest` with its file's path as text."""

    corpus: str
    name: str
    weights: str = ""
    extractor: str = "cnn"
    layer: str = ""
    split: str = ""
    method: str = BEST_PROPOSALS
    limit: int = 19
    file: str = ""
    whole: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    trained_on: str = ""
    corpora: Sequence[str] | None = None

    @property
    def plain(self) -> RegionsRequest:
        """The same for `extract_regions`."""
        return RegionsRequest(
            corpus=self.corpus,
            name=self.name,
            extractor=self.extractor,
            weights=Path(self.weights) if self.weights else None,
            layer=self.layer,
            split=self.split,
            method=self.method,
            limit=self.limit,
            file=Path(self.file) if self.file else None,
            whole=self.whole,
            settings=self.settings,
            declared=Declaration(self.trained_on, self.corpora),
        )


@job_kind(
    "extract_regions",
    title=gettext_lazy("Finding regions"),
    refusals=(UnknownName, OSError, ValueError),
    request=RegionsJobRequest,
)
def extract_regions_job(progress: JobProgress, request: RegionsJobRequest) -> dict[str, Any]:
    """Write the set; the result is that of `ExtractedRegions`. A killed one goes on after its last block.

    What is wrong with a file of boxes is told by its name alone: where it lies is the server's.
    """
    wanted = request.plain
    if wanted.file is not None and not wanted.file.exists():
        raise ImportRefused(
            f"{wanted.file.name} is no longer there: files that are sent are kept for a day; send it again"
        )
    try:
        return extract_regions(wanted, progress=Phases(progress)).as_dict()
    except (FormatError, ImportRefused) as error:
        folder = f"{wanted.file.parent}/" if wanted.file is not None else ""
        raise ImportRefused(str(error).replace(folder, "")) from error
