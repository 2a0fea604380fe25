"""Freezing judgments as qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.comparison.query_sets import queries_named
from evaluation.comparison.subsets import BadSubset, Subset, subset_named
from evaluation.jobs.progress import job_listener
from evaluation.relevance.grades import LINEAR, MEAN
from evaluation.relevance.scales import BadScale, scale_named, score_named
from evaluation.services.common import ImportRefused
from evaluation.services.judgments import freezing
from evaluation.services.judgments.relevance import RelevanceChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeRequest:
    """Judgments of a corpus to be frozen as the qrels `name`, or its originals under a `protocol`.

    A split is no file of the machine's; where somebody sent a file of names, `images` are their rows, and
    `listed` is what the file is called. `queries` are those that were asked: `run:NAME`, or a split.
    """

    name: str
    corpus: str
    judgments: str = ""
    rule: str | None = None
    originals: bool = True
    relevant_from: str = ""
    gains: str = LINEAR
    summary: str = MEAN
    scale: str = ""
    protocol: str = ""
    caption: int | None = None
    split: str = ""
    seed: int = 0
    images: Sequence[int] = ()
    listed: str = ""
    queries: str = ""

    @property
    def subset(self) -> Subset | None:
        """The images asked about, None for all. Raises BadSubset."""
        if self.listed:
            return Subset(self.listed, frozenset(self.images))
        return subset_named(self.corpus, self.split, seed=self.seed, files=False)

    @property
    def relevance(self) -> RelevanceChoice:
        """What makes a pair relevant. Raises UnknownName, BadScale."""
        return RelevanceChoice(
            self.rule,
            scale_named(self.scale) if self.scale else None,
            score_named(self.relevant_from) if self.relevant_from else None,
            gains=self.gains,
            summary=self.summary,
            originals=self.originals,
        )


@job_kind(
    "freeze_qrels",
    title=gettext_lazy("Freezing qrels"),
    refusals=(UnknownName, ImportRefused, Busy, BadSubset, BadScale),
    request=FreezeRequest,
)
def freeze_qrels_job(progress: JobProgress, request: FreezeRequest) -> dict[str, Any]:
    """Freeze; the result is `qrels.QrelsReport`. The newest version stays where it holds the same."""
    subset = request.subset
    if request.protocol:
        return asdict(
            freezing.freeze_protocol(
                name=request.name,
                corpus=request.corpus,
                protocol=request.protocol,
                number=request.caption,
                subset=subset,
                actor=progress.actor,
            )
        )
    return asdict(
        freezing.freeze_qrels(
            name=request.name,
            corpus=request.corpus,
            judgments=request.judgments,
            relevance=request.relevance,
            subset=subset,
            queries=queries_named(request.corpus, request.queries, files=False),
            tell=job_listener(progress),
            actor=progress.actor,
        )
    )
