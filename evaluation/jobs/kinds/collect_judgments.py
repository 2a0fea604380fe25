"""Collecting what a batch's judges said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.locks import Busy
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import job_listener
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.stored_answers import BatchRefused
from evaluation.services.common import ImportRefused


@job_kind(
    "collect_judgments",
    title=gettext_lazy("Collecting judgments"),
    refusals=(BatchRefused, ImportRefused, Busy),
)
def collect_judgments(
    progress: JobProgress, *, batch: str, count: Sequence[str] | None = None
) -> dict[str, Any]:
    """Keep the answers as judgments; the result is `collecting.Collected`. The same answers are kept once.

    `count` names judges whose answers from before they were reinstated count; None: those of the newest set.
    """
    return asdict(collect(batch, count=count, tell=job_listener(progress), actor=progress.actor))
