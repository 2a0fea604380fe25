"""Bringing a campaign's layer up to its answers."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from annotation.datasets import layer_rows, layers
from annotation.jobs import JobError, JobProgress, job_kind


@job_kind(
    "refresh_layer",
    title=gettext_lazy("Refreshing a campaign's layer"),
    refusals=(JobError, layer_rows.LayerError),
)
def refresh_layer(progress: JobProgress) -> dict[str, int]:
    """Write all images that are behind; the result says how many. What is written is not behind any more."""
    if progress.campaign is None:
        raise JobError("this job is of a campaign, and none was given")
    total = layers.count_images_behind(progress.campaign)
    progress.advance(0.0, phase="writing images")
    written = 0
    for number in layers.update_layer_in_steps(progress.campaign, at_most=total):
        written += number
        progress.advance(written / max(1, total))
    return {"images": written}
