"""Training data of a model annotator in a campaign: the chains with boxes of its images, finished or not."""

import json
from collections.abc import Iterator
from dataclasses import replace

from django.db.models import Count, Min, TextField
from django.db.models.functions import Cast

from annotation.datasets import layers
from annotation.models import Campaign, Chain, Image, OpenImage
from annotation.protocol.boxes import BOXED, COVERAGE
from annotation.protocol.kinds import draws, judged_by
from annotation.protocol.likely_count import likely_count
from annotation.protocol.state import CLOSED_STAGES, LINKING
from annotation.protocol.terms import ImageRecord, LayerRecord
from annotation.selectors.campaign.progress import CHAIN_STAGES
from annotation.selectors.records import stream_records

#: Stages of chains that have an accepted box, and of those that may get one.
_WITH_BOXES = (BOXED, COVERAGE)
_WITHOUT_BOXES = frozenset(CHAIN_STAGES) - {LINKING, *_WITH_BOXES, *CLOSED_STAGES}
#: Flickr30k Entities has 3.2 phrases a caption and 7.7 chains an image (2015, section 2.4).
_CHAINS_OF_A_PHRASE = 0.48
#: The tolerance for rounding in sums of shares.
_ROUNDING = 1e-9


def count_training_images(campaign: Campaign) -> int:
    """Return the amount of training data in images: complete images, and for each unfinished image the share
    of its chains that have an accepted box and are finished, or only wait for Coverage. Images without a box,
    or without a picture, count as 0.

    Crowds work on many images at a time, so the first image is only complete when most boxes are drawn.
    """
    opened = OpenImage.objects.filter(campaign=campaign).exclude(image__picture="")
    worth = 0.0
    stages_as_text = Cast("chain_stages", TextField())
    groups = opened.values_list("complete", stages_as_text).annotate(images=Count("pk"))
    for complete, text, images in groups:
        stages = json.loads(text)
        boxed = sum(stages.get(stage, 0) for stage in _WITH_BOXES)
        going = sum(stages.get(stage, 0) for stage in _WITHOUT_BOXES)
        # While links are asked, each phrase counts as a chain.
        going += stages.get(LINKING, 0) * _CHAINS_OF_A_PHRASE
        if boxed:
            worth += images * (1 if complete else boxed / (boxed + going))
    return int(worth + _ROUNDING)


def training_records_of(campaign: Campaign) -> Iterator[ImageRecord]:
    """Yield the campaign's images with those chains of its layer that are finished, or have as many accepted
    boxes as their phrases mention, in the order of the corpus; images without chains are skipped."""
    layer = layers.layer_to_read(campaign.corpus, campaign.name)
    going: dict[str, set[str]] = {}
    open_chains = Chain.objects.filter(layer=layer).exclude(stage__in=("", *CLOSED_STAGES))
    for image, label in open_chains.values_list("image__key", "key"):
        going.setdefault(image, set()).add(label)
    opened = OpenImage.objects.filter(campaign=campaign)
    images = Image.objects.filter(pk__in=opened.values("image"))
    for record in stream_records(corpus=campaign.corpus, layer=layer, images=images):
        if record.layer is not None and record.layer.chains:
            depicted = record.layer.depicted()
            lacking = {
                chain.id
                for chain in record.layer.chains
                if chain.id in going.get(record.id, ())
                and len(depicted.get(chain.id, ())) < max(1, likely_count(chain.mentions))
            }
            yield replace(record, layer=_without(record.layer, lacking))


def _without(layer: LayerRecord, chains: set[str]) -> LayerRecord:
    """Return the layer without these chains, and without boxes that belong to no other."""
    cut = (
        replace(entity, chains=tuple(name for name in entity.chains if name not in chains))
        for entity in layer.objects
    )
    return replace(
        layer,
        chains=tuple(chain for chain in layer.chains if chain.id not in chains),
        objects=tuple(entity for entity in cut if entity.chains),
    )


def first_verdicts(campaign: Campaign) -> dict[str, int]:
    """Return the position of each image, by key, in the order in which the first box of each was judged.

    This order is stable, unless answers are withdrawn, and new images come last: images held out of a
    training run as the last ones were not used by earlier training runs.
    """
    judging = [judged_by(kind) for kind in campaign.kinds if draws(kind)]
    judged = campaign.judgments.filter(kind__in=judging, withdrawn=False)
    rows = judged.values("image__image__key").annotate(first=Min("pk")).order_by("first")
    return {key: index for index, key in enumerate(rows.values_list("image__image__key", flat=True))}
