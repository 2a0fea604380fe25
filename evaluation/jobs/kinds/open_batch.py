"""Opening a batch: its pool is planned anew, and its campaign opened in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.campaigns import CampaignError
from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.datasets.layer_rows import LayerError
from annotation.jobs import JobProgress, job_kind
from annotation.quality.controls import BadItem
from evaluation.jobs.progress import job_listener
from evaluation.pooling.pools import BadPool
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import ImportRefused

_REFUSALS = (
    *(BadItem, BadPool, BatchRefused, Busy),
    *(CampaignError, ImportRefused, LayerError, UnknownName),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatchRequest(BatchRequest):
    """A batch to be opened: what it is called, whose images its control items are of, whether it begins."""

    name: str
    known_from: str | None = None
    begin: bool = True


@job_kind("open_batch", title=gettext_lazy("Opening a batch"), refusals=_REFUSALS, request=OpenBatchRequest)
def open_batch(progress: JobProgress, request: OpenBatchRequest) -> dict[str, Any]:
    """Plan and launch; the result has the batch's numbers. One that stands, made from the same, stays."""
    tell = job_listener(progress)
    made = plan(request, tell=lambda phase, share: tell(phase, 0.8 * share))
    tell("opening its questions", 0.8)
    done = launch(
        made, request.name, known_from=request.known_from, begin=request.begin, actor=progress.actor
    )
    return {"batch": request.name, "unchanged": done.unchanged, **done.batch.numbers}
