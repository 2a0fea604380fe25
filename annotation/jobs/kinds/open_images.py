"""Opening a campaign: its images with their first questions, then the campaign itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy

from annotation import campaigns
from annotation.campaigns.drafts.opening import add_known_items
from annotation.common.registry import UnknownName
from annotation.datasets.layers import LayerBehind
from annotation.jobs import JobError, JobProgress, job_kind
from annotation.moderation.control_items import NoGold
from annotation.quality.controls import BadItem, BadItems


@job_kind(
    "open_images",
    title=gettext_lazy("Opening a campaign's images"),
    refusals=(JobError, campaigns.CampaignError, UnknownName, NoGold, BadItem, BadItems, LayerBehind),
)
def open_images_job(
    progress: JobProgress,
    *,
    split: str | None = None,
    images: int | None = None,
    tags: Sequence[str] = (),
    after: int = 0,
    known: str = "",
    begin: bool = True,
) -> dict[str, Any]:
    """Open the campaign's images, of a split or all, up to `images`, or drawn by `tags`; with `begin`, let
    people in after that.

    `after`: how many of them a pilot had. `known`: the layer or split that control items and a test are made
    from before anybody comes. The result is `campaigns.Opened`. Images that are open stay as they are.
    """
    if progress.campaign is None:
        raise JobError("this job is of a campaign, and none was given")
    progress.advance(0.0, phase="opening images")
    done = campaigns.open_campaign_images(
        campaign=progress.campaign,
        split=split,
        images=images,
        tags=tags,
        after=after,
        actor=progress.actor,
        progress=lambda done, total: progress.advance(done / max(1, total)),
    )
    if known:
        progress.advance(1.0, phase="making control items")
        add_known_items(campaign=progress.campaign, known=known, actor=progress.actor)
    if begin:
        campaigns.begin_campaign(campaign=progress.campaign, actor=progress.actor)
    return asdict(done)
