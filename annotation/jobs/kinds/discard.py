"""Withdrawing a worker's judgments, or restoring them: many images are folded anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
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

    Images that are done are not touched again, so a second run does what the first left. Raises JobError
    where the answers were restored meanwhile.
    """
    done = service.discard_worker(
        campaign=_campaign(progress),
        worker=worker,
        kind=kind,
        reason=reason,
        actor=progress.actor,
        progress=_images(progress),
    )
    if done.overtaken:
        raise JobError(
            "stopped, because these answers were restored meanwhile: they count again "
            f"({', '.join(done.overtaken)})"
        )
    return asdict(done)


@job_kind(
    "discard_several", title=gettext_lazy("Withdrawing the judgments of several workers"), refusals=REFUSALS
)
def discard_several_job(progress: JobProgress, *, workers: list[int], reason: str = "") -> dict[str, Any]:
    """Withdraw all that these `workers` (the rows' ids) answered, one after another; the result counts what
    `discard.Done` does, and as `overtaken` the workers whose answers were restored meanwhile. As
    `discard_job`, it may be done again."""
    campaign, counts = _campaign(progress), Counter[str]()
    progress.advance(phase="recomputing images")
    for number, worker in enumerate(workers):
        done = service.discard_worker(
            campaign=campaign,
            worker=worker,
            reason=reason,
            actor=progress.actor,
            progress=partial(_share_of, progress, number, len(workers)),
        )
        counts.update(judgments=done.judgments, images=done.images, retired=done.retired)
        counts.update(overtaken=bool(done.overtaken))
    return {"workers": len(workers), **counts}


@job_kind("restore", title=gettext_lazy("Restoring a worker's judgments"), refusals=REFUSALS)
def restore_job(progress: JobProgress, *, worker: int, kind: str | None = None) -> dict[str, Any]:
    """Undo `discard_job`; the result is `discard.Done`. Raises JobError where the answers were withdrawn
    again meanwhile."""
    done = service.restore_worker(
        campaign=_campaign(progress),
        worker=worker,
        kind=kind,
        actor=progress.actor,
        progress=_images(progress),
    )
    if done.overtaken:
        raise JobError(
            "stopped, because these answers were withdrawn again meanwhile: they do not count "
            f"({', '.join(done.overtaken)})"
        )
    return asdict(done)


def _campaign(progress: JobProgress) -> Campaign:
    if progress.campaign is None:
        raise JobError("judgments are withdrawn in a campaign, and none was given")
    return progress.campaign


def _share_of(progress: JobProgress, number: int, all_workers: int, done: int, total: int) -> None:
    progress.advance((number + done / max(1, total)) / all_workers)


def _images(progress: JobProgress) -> Callable[[int, int], None]:
    progress.advance(phase="recomputing images")
    return lambda done, total: progress.advance(done / max(1, total))
