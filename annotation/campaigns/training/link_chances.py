"""Link probabilities learned from images with known chains, so that a campaign asks fewer questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.campaigns import model_annotators
from annotation.campaigns.changing import SettingsChange, SettingsDifference, change_some_settings
from annotation.campaigns.choosing import gold_layer
from annotation.common.operations import Help, Named, OperationContext
from annotation.datasets.contents.images import LayerName
from annotation.models import Account, Campaign
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.coreference import LEARNED
from annotation.protocol.link_chances import learn_chances
from annotation.protocol.terms import LayerRecord
from annotation.selectors.corpora import CORPORA, CampaignRequest, corpus_named
from annotation.selectors.records import stream_records


@dataclass(frozen=True, slots=True)
class LearnedLinks:
    """The number of images that were counted, the number of pairs of head nouns with their own probability,
    and the change of the campaign's settings."""

    images: int
    pairs: int
    change: SettingsChange


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnLinksRequest(CampaignRequest):
    """Count from the campaign's finished images, or from a layer with chains, how likely two phrases refer to
    the same thing, and compare a phrase with likely chains first: the settings order and saving.link_chances.
    Once somebody has worked, this applies to images that are not open yet."""

    corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None,
        Help(gettext_lazy("Corpus"), gettext_lazy("Learn from a layer of it instead")),
    ] = None
    layer: Annotated[
        LayerName | None,
        Help(gettext_lazy("Layer"), gettext_lazy("Learn from it; by default gold, or import, of the corpus")),
    ] = None
    base_version: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Help(gettext_lazy("Version"), gettext_lazy("Only if this version of the settings is in force")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLinkChances:
    """The numbers of images and of learned pairs of head nouns, the version of the settings that has them,
    its changes, and the number of reopened images."""

    campaign: str
    images: int
    pairs: int
    version: int
    changed: tuple[SettingsDifference, ...]
    reopened: int


def learn_named_links(request: LearnLinksRequest, context: OperationContext) -> LearnedLinkChances:
    """Learn link probabilities from the available data. Raises CampaignError and UnknownName."""
    learned = learn_links(
        campaign=request.row(),
        corpus=request.corpus,
        layer=request.layer,
        seen=request.base_version,
        actor=context.actor,
    )
    return LearnedLinkChances(
        campaign=request.campaign,
        images=learned.images,
        pairs=learned.pairs,
        version=learned.change.version,
        changed=learned.change.differences,
        reopened=learned.change.reopened,
    )


def learn_links(
    *,
    campaign: Campaign,
    corpus: str | None = None,
    layer: str | None = None,
    seen: int | None = None,
    actor: Account | None = None,
) -> LearnedLinks:
    """Count how often two phrases refer to the same thing, and let the campaign use these probabilities:
    makes a new version of its settings with order = "learned" and the table, keeping everything else,
    including changes saved meanwhile. Open images keep their settings once somebody has worked.

    Counts the campaign's finished images, or a `layer` of `corpus` (its own corpus by default; the gold layer
    by default). Raises CampaignError if there are no images, and as `change_some_settings` does.
    """
    images = 0

    def counted() -> Iterator[LayerRecord]:
        nonlocal images
        for layer_record in _layers(campaign, corpus, layer):
            images += 1
            yield layer_record

    chances = learn_chances(counted())
    if not images:
        raise CampaignError(
            _(
                "There is no image to learn from: finish some images of campaign “%(name)s” first, or learn "
                "from a layer with chains."
            )
            % {"name": campaign.name}
        )
    table = chances.as_text()

    def learned(settings: dict[str, Any]) -> dict[str, Any]:
        saving = {**settings.get("saving", {}), "link_chances": table}
        return {**settings, "order": LEARNED, "saving": saving}

    change = change_some_settings(
        campaign=campaign,
        changed=learned,
        seen=seen,
        actor=actor,
        act="learn_links",
    )
    return LearnedLinks(images, len(chances.pairs), change)


def _layers(campaign: Campaign, corpus: str | None, layer: str | None) -> Iterator[LayerRecord]:
    """Yield the layer of each image to learn from; images without mentions are skipped."""
    if corpus is None and layer is None:
        if not model_annotators.count_finished(campaign):
            return
        records = model_annotators.finished_records(campaign)
    else:
        source = campaign.corpus if corpus is None else corpus_named(corpus)
        named = gold_layer(source, layer)
        if named is None:
            return
        records = stream_records(corpus=source, layer=named)
    for record in records:
        if record.layer is not None and record.layer.mentions:
            yield record.layer
