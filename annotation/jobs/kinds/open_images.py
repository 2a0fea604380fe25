"""Opening a campaign: its images with their first questions, then the campaign itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation import campaigns
from annotation.common.registry import UnknownName
from annotation.jobs import JobError, JobProgress, job_kind


@job_kind(
    "open_images",
    title=gettext_lazy("Opening a campaign's images"),
    refusals=(JobError, campaigns.CampaignError, UnknownName),
)
def open_images_job(
    progress: JobProgress,
    *,
    split: str | None = None,
    images: int | None = None,
    tags: Sequence[str] = (),
    begin: bool = True,
) -> dict[str, Any]:
    """Open the campaign's images, of a split or all, up to `images`, or drawn by `tags`; with `begin`, let
    people in after that.

    The result is `campaigns.Opened`. Images that are open stay as they are.
    """
    if progress.campaign is None:
        raise JobError("an open_images job is of a campaign, and none was given")
    progress.advance(0.0, phase="opening images")
    done = campaigns.open_campaign_images(
        campaign=progress.campaign,
        split=split,
        images=images,
        tags=tags,
        actor=progress.actor,
        progress=lambda done, total: progress.advance(done / max(1, total)),
    )
    if begin:
        campaigns.begin_campaign(campaign=progress.campaign, actor=progress.actor)
    return asdict(done)
