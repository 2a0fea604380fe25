"""Bringing a campaign's layer up to its answers."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_lazy

from annotation import portions, rebuild
from annotation.jobs import JobError, Progress, job_kind
from annotation.models import Campaign, OpenImage

#: Images written in one transaction: on SQLite everybody's answers wait for it.
TOGETHER = 20


def behind(campaign: Campaign) -> int:
    """How many of the campaign's images its layer does not show as they are."""
    return OpenImage.objects.filter(campaign=campaign, layer_behind=True).count()


def refreshing(campaign: Campaign, *, at_most: int) -> Iterator[int]:
    """Write up to `at_most` images into the campaign's layer, some at a time; yields how many each time."""
    late = OpenImage.objects.filter(campaign=campaign, layer_behind=True)
    ids = list(late.order_by("pk").values_list("pk", flat=True)[:at_most])
    *pages, last = portions.chunks(ids, TOGETHER) if ids else [[]]
    for page in pages:
        yield rebuild.refresh(campaign, images=page)
    # The last call names no images: then what the campaign cost so far is written too.
    yield rebuild.refresh(campaign, limit=len(last))


@job_kind(
    "refresh_layer",
    title=gettext_lazy("Refreshing a campaign's layer"),
    refusals=(JobError, rebuild.LayerError),
)
def refresh_layer(progress: Progress) -> dict[str, int]:
    """Write all images that are behind; the result says how many. What is written is not behind any more."""
    if progress.campaign is None:
        raise JobError("a refresh_layer job is of a campaign, and none was given")
    total = behind(progress.campaign)
    progress.advance(0.0, phase="writing images")
    written = 0
    for number in refreshing(progress.campaign, at_most=total):
        written += number
        progress.advance(written / max(1, total))
    return {"images": written}
