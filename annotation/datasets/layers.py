"""Reading layers: a campaign's own layer is brought up to its answers before anybody reads it.

Answers, rulings and withdrawals change what an image asks and holds at once; the rows of its layer follow.
So all readers take layers from here. A command or a job waits until every image is written. A page waits for
a few, and else says how many images are behind.
"""

from collections.abc import Iterator, Mapping

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import ngettext

from annotation.common.database import chunks
from annotation.datasets import layer_rows
from annotation.models import Campaign, Corpus, Image, Layer, OpenImage
from annotation.selectors.corpora import layer_named
from phrasebox.errors import PhraseboxError

#: Images written in one transaction: on SQLite everybody's answers wait for it.
_TOGETHER = 20
#: Images that a page has written before it is shown: a fraction of a second.
MOST_IMAGES_UPDATED_FOR_PAGE = 100


class LayerBehind(PhraseboxError):
    """A layer too far behind its answers to be brought up while somebody waits; says what helps."""


def layer_to_read(corpus: Corpus, name: str | None = None, *, most: int | None = None) -> Layer | None:
    """The layer `name` of `corpus` as its campaign's answers now make it; without a name the only one.

    None where there is none. With `most`, raises LayerBehind where more images are behind. Raises what
    `layer_named` does.
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
    """Bring the layers of `corpus`, or the one called `name`, up where no more than `most` images are behind,
    or however many are.

    Returns layer -> images behind, of those that still are.
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
    """Bring the shares of one image up to its answers, in all layers that grow."""
    behind = OpenImage.objects.filter(campaign=OuterRef("pk"), image=image, layer_behind=True)
    for campaign in campaigns_growing_layers(image.corpus).filter(Exists(behind)):
        ids = layer_rows.images_to_refresh(campaign).filter(image=image).values_list("pk", flat=True)
        if late := list(ids):
            layer_rows.refresh_layer_rows(campaign, images=late)


def campaigns_growing_layers(corpus: Corpus, name: str | None = None) -> QuerySet[Campaign]:
    """The campaigns whose answers make a layer of `corpus`, or the one called `name`; in the order in which
    they were made."""
    campaigns = Campaign.objects.filter(corpus=corpus).exclude(state=Campaign.DRAFT).select_related("corpus")
    if name is not None:
        campaigns = campaigns.filter(name=name)
    # A layer of that name which came from elsewhere is none of the campaign's.
    others = corpus.layers.exclude(
        source__in=(layer_rows.CAMPAIGN_SOURCE, layer_rows.SIMULATION_SOURCE)
    ).values("name")
    return campaigns.exclude(name__in=others).order_by("pk")


def campaign_of_layer(layer: Layer) -> Campaign | None:
    """The campaign whose answers make the layer; None of one that came whole."""
    if layer.source != layer_rows.CAMPAIGN_SOURCE:
        return None
    return Campaign.objects.select_related("corpus").filter(corpus=layer.corpus_id, name=layer.name).first()


def count_images_behind(campaign: Campaign) -> int:
    """How many of the campaign's images its layer does not show as they are."""
    return layer_rows.images_to_refresh(campaign).count()


def update_layer(campaign: Campaign) -> int:
    """Write all that is behind; returns how many images that was."""
    return sum(update_layer_in_steps(campaign))


def update_layer_in_steps(campaign: Campaign, *, at_most: int | None = None) -> Iterator[int]:
    """Write what is behind, or so many images of it, some at a time; yields how many each time."""
    ids = list(layer_rows.images_to_refresh(campaign).order_by("pk").values_list("pk", flat=True)[:at_most])
    for page in chunks(ids, _TOGETHER):
        yield layer_rows.refresh_layer_rows(campaign, images=page)
