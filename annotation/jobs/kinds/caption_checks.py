"""Opening a campaign in which a second person checks a share of the captions that people wrote."""

from dataclasses import dataclass
from math import ceil
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation import campaigns
from annotation.campaigns.counted import caption_name
from annotation.common import database
from annotation.common.operations import Help, Named, OperationContext
from annotation.datasets.contents.corpus_summaries import CorpusRequest
from annotation.models import Campaign, Caption, Control, Corpus, Task
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.controls import draw_sample
from annotation.protocol.kinds import all_kinds, kind_of
from annotation.protocol.paging import Pair
from annotation.quality import controls
from annotation.selectors.caption_flags import WRITTEN_CAPTION, writers_of_captions


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionChecksRequest(CorpusRequest):
    """A campaign that asks a second person about a share of the captions that people wrote, with control
    items from pictures that it does not ask about. Captions in which they see a fault are flagged in the
    campaign that collected them."""

    name: Annotated[str, Named(), Help(_("Name of the new campaign"))]
    share: Annotated[float, Field(gt=0, le=1), Help(_("Share"), _("Of the written captions, 0 to 1"))] = 0.1
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), Help(_("Seed"), _("Of the draw"))] = 1
    controls: Annotated[
        int,
        Field(ge=0, le=1_000),
        Help(_("Pictures for control items"), _("For the test, and as many for the work")),
    ] = 30
    campaign_settings: Annotated[
        dict[str, Any] | None, Help(_("Settings"), _("Those left out have their defaults"))
    ] = None
    open_to_all: Annotated[
        bool, Help(_("Open to all"), _("Every annotator of the server may work on it"))
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedChecks:
    """The campaign, the numbers of captions that it asks about and of written ones, and of control items."""

    campaign: str
    captions: int
    written: int
    controls: int


def open_caption_checks(request: CaptionChecksRequest, context: OperationContext) -> OpenedChecks:
    """Open the campaign. Raises CampaignError for a corpus without written captions, and as opening does."""
    corpus = request.row()
    written = _written(corpus)
    if not written:
        raise CampaignError(
            f"corpus {corpus.name!r} has no captions that people wrote; publish those of a campaign first"
        )
    drawn = draw_sample(written, ceil(request.share * len(written)), request.seed, "caption check")
    campaign = campaigns.create_campaign(
        name=request.name,
        corpus=corpus.name,
        tasks=next(kind.tasks for kind in all_kinds() if kind.faults),
        settings=request.campaign_settings,
        open_to_all=request.open_to_all,
        actor=context.actor,
    )
    pairs = [Pair(written[name], name) for name in drawn]
    if not campaign.images.exists():
        campaigns.open_pairs(campaign=campaign, pairs=pairs, actor=context.actor)
        _bar_writers(campaign)
        free = [key for key in dict.fromkeys(written.values()) if key not in {pair.image for pair in pairs}]
        items = controls.from_captions(
            campaign=campaign,
            images=free,
            seed=request.seed,
            per_page=1,
            purposes=dict.fromkeys(Control.PURPOSES, request.controls),
        )
        controls.add_control_items(
            campaign=campaign, items=enumerate(items, 1), source="captions", actor=context.actor
        )
    elif not campaigns.has_these_pairs(campaign, pairs):
        raise CampaignError(f"campaign {campaign.name!r} asks about other captions; choose another name")
    campaigns.begin_campaign(campaign=campaign, actor=context.actor)
    return OpenedChecks(
        campaign=campaign.name,
        captions=len(drawn),
        written=len(written),
        controls=Control.objects.filter(campaign=campaign, active=True).count(),
    )


def _bar_writers(campaign: Campaign) -> None:
    """Let nobody be asked about a caption that they wrote."""
    writers = writers_of_captions(campaign.corpus.name)
    texts = {
        caption_name(key, number): (key, text)
        for key, number, text in Caption.objects.filter(image__corpus=campaign.corpus).values_list(
            "image__key", "number", "text"
        )
    }
    tasks: dict[int, list[int]] = {}
    for number, kind, key in Task.objects.filter(campaign=campaign).values_list("pk", "kind", "key"):
        writer = writers.get(texts[kind_of(kind).details(key, {})["caption"]])
        if writer is not None:
            tasks.setdefault(writer, []).append(number)
    with database.writing():
        for writer, numbers in tasks.items():
            for part in database.chunks(numbers, 500):
                Task.objects.filter(pk__in=part).update(barred=writer)


def _written(corpus: Corpus) -> dict[str, str]:
    """Return the captions of a corpus that people wrote here, by their names, with their images' keys."""
    rows = Caption.objects.filter(image__corpus=corpus, external_id__regex=WRITTEN_CAPTION)
    columns = rows.order_by("image__position", "number").values_list("image__key", "number")
    return {caption_name(key, number): key for key, number in columns}
