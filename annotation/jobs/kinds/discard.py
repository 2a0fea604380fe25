"""Withdrawing a worker's judgments, or restoring them: many images are folded anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.jobs import JobError, JobProgress, job_kind
from annotation.models import Campaign
from annotation.moderation import discarding as service

REFUSALS = (JobError, service.CannotDo)


@job_kind("discard", title=gettext_lazy("Withdrawing a worker's judgments"), refusals=REFUSALS)
def discard_job(
    progress: JobProgress, *, worker: int, kind: str | None = None, reason: str = ""
) -> dict[str, Any]:
    """Withdraw what `worker` (the row's id) answered to `kind`, or all; the result is `discard.Done`.

    Images that are done are not touched again, so a second run does what the first left.
    """
    done = service.discard_worker(
        campaign=_campaign(progress),
        worker=worker,
        kind=kind,
        reason=reason,
        actor=progress.actor,
        progress=_images(progress),
    )
    return asdict(done)


@job_kind("restore", title=gettext_lazy("Restoring a worker's judgments"), refusals=REFUSALS)
def restore_job(progress: JobProgress, *, worker: int, kind: str | None = None) -> dict[str, Any]:
    """Undo `discard_job`; the result is `discard.Done`."""
    done = service.restore_worker(
        campaign=_campaign(progress),
        worker=worker,
        kind=kind,
        actor=progress.actor,
        progress=_images(progress),
    )
    return asdict(done)


def _campaign(progress: JobProgress) -> Campaign:
    if progress.campaign is None:
        raise JobError("judgments are withdrawn in a campaign, and none was given")
    return progress.campaign


def _images(progress: JobProgress) -> Callable[[int, int], None]:
    progress.advance(phase="recomputing images")
    return lambda done, total: progress.advance(done / max(1, total))
