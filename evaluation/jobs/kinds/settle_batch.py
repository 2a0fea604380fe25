"""A batch's answers collected and frozen in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import job_listener
from evaluation.services.batches.closing import close_batch
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import ImportRefused

_REFUSALS = (UnknownName, BatchRefused, ImportRefused, Busy)


@job_kind("settle_batch", title=gettext_lazy("Collecting and freezing"), refusals=_REFUSALS)
def settle_batch(
    progress: JobProgress,
    *,
    batch: str,
    qrels: str,
    rule: str | None = None,
    originals: bool = True,
    count: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Collect, then freeze; the result is `settling.Settled`. Neither does anything twice.

    `count`: as for the job that collects.
    """
    return asdict(
        close_batch(
            batch,
            qrels=qrels,
            rule=rule,
            originals=originals,
            count=count,
            tell=job_listener(progress),
            actor=progress.actor,
        )
    )
