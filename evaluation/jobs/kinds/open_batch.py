"""Opening a batch: its pool is planned anew, and its campaign opened in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.campaigns import CampaignError
from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.datasets.layer_rows import LayerError
from annotation.jobs import Progress, job_kind
from annotation.quality.controls import BadItem
from evaluation.jobs.progress import told_by
from evaluation.pooling.pools import BadPool
from evaluation.pooling.unlikely import THRESHOLD
from evaluation.relevance.pair_tasks import USUAL_TASKS
from evaluation.services.batches.launching import launch
from evaluation.services.batches.next_pairs import SHARE
from evaluation.services.batches.planning import DEPTH, plan
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import ImportRefused

REFUSALS = (
    *(BadItem, BadPool, BatchRefused, Busy),
    *(CampaignError, ImportRefused, LayerError, UnknownName),
)


@job_kind("open_batch", title=gettext_lazy("Opening a batch"), refusals=REFUSALS)
def open_batch(
    progress: Progress,
    *,
    name: str,
    corpus: str,
    runs: Sequence[str],
    tasks: str = USUAL_TASKS,
    depth: int = DEPTH,
    threshold: float | None = THRESHOLD,
    judges: int | None = None,
    settings: Mapping[str, Any] | None = None,
    reuse: Sequence[str] | None = None,
    seconds: float | None = None,
    strategy: str = "",
    share: float = SHARE,
    known_from: str | None = None,
    begin: bool = True,
) -> dict[str, Any]:
    """Plan and launch; the result has the batch's numbers. One that stands, made from the same, stays."""
    tell = told_by(progress)
    made = plan(
        corpus=corpus,
        runs=runs,
        tasks=tasks,
        depth=depth,
        threshold=threshold,
        judges=judges,
        settings=settings,
        reuse=reuse,
        seconds=seconds,
        strategy=strategy,
        share=share,
        tell=lambda phase, share: tell(phase, 0.8 * share),
    )
    tell("opening its questions", 0.8)
    done = launch(made, name, known_from=known_from, begin=begin, actor=progress.actor)
    return {"batch": name, "unchanged": done.unchanged, **done.batch.numbers}
