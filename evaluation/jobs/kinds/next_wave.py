"""Asking the next round of a batch."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.campaigns import CampaignError
from annotation.common.locks import Busy
from annotation.jobs import JobProgress, job_kind
from evaluation.jobs.progress import job_listener
from evaluation.pooling.pools import BadPool
from evaluation.services.batches.rounds import ask_next_round
from evaluation.services.batches.stored_answers import BatchRefused


@job_kind(
    "next_wave",
    title=gettext_lazy("Opening the next round"),
    refusals=(BadPool, BatchRefused, Busy, CampaignError),
)
def next_round_job(progress: JobProgress, *, batch: str, wave: int | None = None) -> dict[str, Any]:
    """Ask, or end the batch; the result is `waves.Advanced`.

    The questions are opened in one transaction. A job that died before it could say so finds its `wave`
    asked, or, where it named none, that answers are to come: nothing is asked twice.
    """
    return asdict(ask_next_round(batch, wave=wave, actor=progress.actor, tell=job_listener(progress)))
