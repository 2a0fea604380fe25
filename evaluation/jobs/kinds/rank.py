"""Ranking a split, or all images, by a stored system."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import Phases, check_same_corpus
from evaluation.services.runs import ranking
from evaluation.services.runs.files import RUN_DEPTH
from evaluation.services.runs.ranking import RunsRequest
from evaluation.services.systems.registry import system_row
from evaluation.services.systems.sources import Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class RankJobRequest:
    """Runs to be made, as a job's row has them; `regions` is a feature set for methods that compare parts."""

    system: str
    split: str = ""
    corpus: str = ""
    name: str = ""
    protocol: str = ranking.ONE_CAPTION
    depth: int = RUN_DEPTH
    seed: int = 0
    regions: str = ""

    @property
    def plain(self) -> RunsRequest:
        """The same for `rank_system`."""
        return RunsRequest(
            system=self.system,
            split=self.split,
            corpus=self.corpus,
            run=self.name,
            protocol=self.protocol,
            depth=self.depth,
            seed=self.seed,
            sources=Sources(regions=self.regions) if self.regions else None,
        )


@job_kind(
    "rank",
    title=gettext_lazy("Ranking with a system"),
    refusals=(UnknownName, OSError, ValueError),
    request=RankJobRequest,
)
def rank_job(progress: JobProgress, request: RankJobRequest) -> dict[str, Any]:
    """Make the runs of both directions; a run that stands already stays. The result lists `Ranked`."""
    check_same_corpus(progress, system_row(request.system))
    ranked = ranking.rank_system(request.plain, progress=Phases(progress))
    return {"runs": [asdict(one) for one in ranked]}
