"""Which images a campaign asks about, and the gold layer for them."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.datasets.layers import layer_to_read
from annotation.models import Campaign, Corpus, Image, Layer, LayerImage, OpenImage
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.terms import SMALLEST_SIDE
from annotation.selectors.tags.queries import BadTagQuery
from annotation.selectors.tags.samples import draw_by_tags

ENTITIES = "entities"
#: Layers that count as gold unless one is named.
GOLD_LAYERS = ("gold", "import")
#: The condition of `terms.is_too_small` for rows.
_TOO_SMALL = Q(width__range=(1, SMALLEST_SIDE - 1)) | Q(height__range=(1, SMALLEST_SIDE - 1))


class ImageSelection(NamedTuple):
    """The images that may be opened, in order, and how many of them in all (None: all)."""

    images: QuerySet[Image]
    most: int | None


def selected_images(
    campaign: Campaign,
    split: str | None,
    images: int | None,
    tags: Sequence[str],
    positions: range | None = None,
) -> ImageSelection:
    """Return the images to be opened, without those that are too small to be asked about. Raises
    CampaignError and UnknownName."""
    all_images = large_enough(Image.objects.filter(corpus=campaign.corpus)).order_by("position")
    if positions is not None:
        all_images = all_images.filter(position__gte=positions.start, position__lt=positions.stop)
    if tags:
        try:
            sample = draw_by_tags(campaign.corpus, tags, seed=campaign.seed, number=images, split=split)
        except BadTagQuery as error:
            raise CampaignError(str(error)) from error
        return ImageSelection(all_images.filter(pk__in=sample.images), None)
    return ImageSelection(all_images if split is None else all_images.filter(split=split), images)


def large_enough(images: QuerySet[Image]) -> QuerySet[Image]:
    """Return the images that are not too small to be asked about."""
    return images.exclude(_TOO_SMALL)


def too_small_keys(corpus: Corpus) -> frozenset[str]:
    """Return the keys of the images of a corpus that are too small to be asked about."""
    return frozenset(corpus.images.filter(_TOO_SMALL).values_list("key", flat=True))


def images_chosen(
    campaign: Campaign, *, split: str | None, images: int | None, tags: Sequence[str]
) -> QuerySet[Image]:
    """Return the images that `open_campaign_images` would open in all, without those that gold does not
    cover.

    Raises CampaignError and UnknownName.
    """
    chosen = selected_images(campaign, split, images, tags)
    return covered(campaign, chosen.images)[: chosen.most]


def covered(campaign: Campaign, images: QuerySet[Image]) -> QuerySet[Image]:
    """Return the images that gold covers, if there is gold for the campaign's questions; else all."""
    if campaign.tasks != ENTITIES or (layer := gold_layer(campaign.corpus)) is None:
        return images
    return images.filter(Exists(LayerImage.objects.filter(layer=layer, image=OuterRef("pk"))))


def not_open(campaign: Campaign, images: QuerySet[Image]) -> QuerySet[Image]:
    """Return the images that the campaign has not opened."""
    return images.exclude(Exists(OpenImage.objects.filter(campaign=campaign, image=OuterRef("pk"))))


def gold_layer(corpus: Corpus, name: str | None = None) -> Layer | None:
    """Return the gold layer: the named one, else "gold" or "import" if there is one, else None."""
    if name is not None:
        return layer_to_read(corpus, name)
    layers = {layer.name: layer for layer in corpus.layers.filter(name__in=GOLD_LAYERS, published=True)}
    return next((layers[usual] for usual in GOLD_LAYERS if usual in layers), None)
