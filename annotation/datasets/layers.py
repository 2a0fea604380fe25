"""Read layers: a campaign's own layer is updated from its answers before anybody reads it.

Answers, rulings and withdrawals change an image's state at once; the rows of its layer follow. So all readers
get layers from here. A command or a job waits until every image is written. A page waits for a few, and
otherwise shows how many images are behind.
"""

from collections.abc import Iterator, Mapping

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import ngettext

from annotation.common.database import chunks
from annotation.datasets import layer_rows
from annotation.models import Campaign, Corpus, Image, Layer, OpenImage
from annotation.selectors.corpora import layer_named
from phrasebox.errors import PhraseboxError

#: Number of images written in one transaction: on SQLite all answers wait for it.
_TOGETHER = 20
#: Maximum number of images that are written before a page is shown: a fraction of a second.
MOST_IMAGES_UPDATED_FOR_PAGE = 100


class LayerBehind(PhraseboxError):
    """A layer too far behind its answers to be updated during a request; names the remedy."""


def layer_to_read(corpus: Corpus, name: str | None = None, *, most: int | None = None) -> Layer | None:
    """Return the layer `name` of `corpus`, updated from its campaign's answers; without a name the only one.

    None if there is none. With `most`, raises LayerBehind if more images are behind. Raises as `layer_named`
    does.
    """
    for late, count in update_layers(corpus, name, most=most).items():
        message = ngettext(
            "Layer “%(name)s” is out of date for %(n)d image: update it first.",
            "Layer “%(name)s” is out of date for %(n)d images: update it first.",
            count,
        )
        raise LayerBehind(message % {"name": late, "n": count})
    return layer_named(corpus, name)


def update_layers(
    corpus: Corpus, name: str | None = None, *, most: int | None = MOST_IMAGES_UPDATED_FOR_PAGE
) -> Mapping[str, int]:
    """Update the layers of `corpus`, or the one called `name`, if at most `most` images are behind, or in any
    case if it is None.

    Return the number of images behind by layer, for those that still are.
    """
    late: dict[str, int] = {}
    if not OpenImage.objects.filter(campaign__corpus=corpus, layer_behind=True).exists():
        return late
    behind = OpenImage.objects.filter(campaign=OuterRef("pk"), layer_behind=True)
    for campaign in campaigns_growing_layers(corpus, name).filter(Exists(behind)):
        count = count_images_behind(campaign)
        if most is not None and count > most:
            late[campaign.name] = count
        elif count:
            update_layer(campaign)
    return late


def update_layers_of_image(image: Image) -> None:
    """Update the parts of one image from its answers, in all growing layers."""
    behind = OpenImage.objects.filter(campaign=OuterRef("pk"), image=image, layer_behind=True)
    for campaign in campaigns_growing_layers(image.corpus).filter(Exists(behind)):
        ids = layer_rows.images_to_refresh(campaign).filter(image=image).values_list("pk", flat=True)
        if late := list(ids):
            layer_rows.refresh_layer_rows(campaign, images=late)


def campaigns_growing_layers(corpus: Corpus, name: str | None = None) -> QuerySet[Campaign]:
    """Return the campaigns that a growing layer of `corpus`, or the one called `name`, comes from, in order
    of creation."""
    campaigns = Campaign.objects.filter(corpus=corpus).exclude(state=Campaign.DRAFT).select_related("corpus")
    if name is not None:
        campaigns = campaigns.filter(name=name)
    # A layer of that name from another source is not the campaign's.
    others = corpus.layers.exclude(
        source__in=(layer_rows.CAMPAIGN_SOURCE, layer_rows.SIMULATION_SOURCE)
    ).values("name")
    return campaigns.exclude(name__in=others).order_by("pk")


def campaign_of_layer(layer: Layer) -> Campaign | None:
    """Return the campaign that the layer grows with; None for a complete one."""
    if layer.source != layer_rows.CAMPAIGN_SOURCE:
        return None
    return Campaign.objects.select_related("corpus").filter(corpus=layer.corpus_id, name=layer.name).first()


def count_images_behind(campaign: Campaign) -> int:
    """Return the number of the campaign's images for which its layer is outdated."""
    return layer_rows.images_to_refresh(campaign).count()


def update_layer(campaign: Campaign) -> int:
    """Write all that is behind; return the number of images."""
    return sum(update_layer_in_steps(campaign))


def update_layer_in_steps(campaign: Campaign, *, at_most: int | None = None) -> Iterator[int]:
    """Write what is behind, or at most `at_most` images of it, in batches; yield the number in each."""
    ids = list(layer_rows.images_to_refresh(campaign).order_by("pk").values_list("pk", flat=True)[:at_most])
    for page in chunks(ids, _TOGETHER):
        yield layer_rows.refresh_layer_rows(campaign, images=page)
