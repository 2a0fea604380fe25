"""Data for pages: corpora, one page of a corpus, one image with its layer.

The number of queries is independent of the size of the corpus, and long lists are paginated by key: `after`
and `before` are positions, never offsets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.core.cache import cache
from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet

from annotation.models import Box, BoxChain, Caption, Chain, Corpus, Image, Layer, LayerImage, Mention
from annotation.protocol.state import CLOSED_STAGES
from annotation.selectors.tags.queries import BadTagQuery, read_tag_query
from annotation.selectors.tags.stored import images_tagged

#: Number of pictures on a page of a corpus: fills rows of two, three, four and six.
_PAGE = 48
#: Number of pictures in a corpus's strip on the home page.
STRIP = 8
#: Maximum number of listed labels of a layer.
_LABELS = 200
#: Seconds for which a version's figures are cached: counting all of Flickr30k takes half a second.
FIGURES_LIFETIME = 24 * 3600


@dataclass(frozen=True, slots=True)
class Filter:
    """Filter of the images of a corpus. Empty fields match all of them.

    `category` and `unfinished` refer to the displayed layer; `text` is searched in captions, ignoring case.
    `tags` is a query (`tags.queries`); an invalid one matches nothing.
    """

    split: str = ""
    category: str = ""
    text: str = ""
    tags: str = ""
    unfinished: bool = False

    def __bool__(self) -> bool:
        return bool(self.split or self.category or self.text or self.tags or self.unfinished)


@dataclass(slots=True)
class CorpusRow:
    """A corpus on the home page."""

    corpus: Corpus
    layers: list[Layer] = field(default_factory=list)
    strip: list[Tile] = field(default_factory=list)


@dataclass(slots=True)
class Tile:
    """An image in a grid. `caption` is the one that matches the search, else the first.

    `covered`: the layer covers it; the counts are the layer's.
    """

    image: Image
    captions: list[Caption] = field(default_factory=list)
    caption: str = ""
    covered: bool = False
    chains: int = 0
    boxes: int = 0
    unfinished: int = 0


@dataclass(slots=True)
class TilePage:
    """One page of tiles; `before` and `after` are the positions from which the neighbouring pages start."""

    tiles: list[Tile]
    before: int | None = None
    after: int | None = None


@dataclass(slots=True)
class LayerFigures:
    """Counts of a layer. Every chain is boxed, without box by verdict, or unfinished."""

    images: int = 0
    mentions: int = 0
    chains: int = 0
    boxes: int = 0
    boxed: int = 0
    unfinished: int = 0
    #: Chains by their label in another tool, the most frequent first.
    labels: dict[str, int] = field(default_factory=dict)

    @property
    def without_box(self) -> int:
        """Number of chains without a box by verdict."""
        return self.chains - self.boxed - self.unfinished


@dataclass(frozen=True, slots=True)
class LayerRows:
    """One image's part of a layer, as rows: chains by position, mentions in text order, boxes by position.

    A mention's `chain_id` and a box's `links` (in their order) connect them. `covered`: the layer covers the
    image, whatever it contains.
    """

    covered: bool
    chains: list[Chain]
    mentions: list[Mention]
    boxes: list[Box]


def corpus_rows(corpora: Sequence[Corpus]) -> list[CorpusRow]:
    """Return these corpora with their published layers and first pictures; three queries for any number."""
    layers: dict[int, list[Layer]] = defaultdict(list)
    for layer in Layer.objects.filter(corpus__in=corpora, published=True).order_by("pk"):
        layers[layer.corpus_id].append(layer)
    firsts = Image.objects.filter(corpus__in=corpora, position__lt=STRIP).exclude(picture="")
    strips: dict[int, list[Tile]] = defaultdict(list)
    for tile in _captioned(firsts.order_by("position")):
        strips[tile.image.corpus_id].append(tile)
    return [CorpusRow(corpus, layers[corpus.pk], strips[corpus.pk]) for corpus in corpora]


def layers_of(corpus: Corpus) -> list[Layer]:
    """Return the published layers of `corpus`, oldest first."""
    return list(Layer.objects.filter(corpus=corpus, published=True).order_by("pk"))


def splits_in_order(corpus: Corpus) -> list[str]:
    """Return the names of the corpus's splits, the usual three first."""
    usual = ["train", "dev", "val", "test"]
    splits = Image.objects.filter(corpus=corpus).exclude(split="").values_list("split", flat=True).distinct()
    return sorted(splits, key=lambda name: (usual.index(name) if name in usual else len(usual), name))


def unfinished_chains() -> Q:
    """Return the condition of chains without a verdict.

    These are chains that the box loop has not closed; and without a loop (an import), those with neither a
    box nor an object that gives the reason for none.
    """
    silent = Q(stage="", object_position__isnull=True) & ~Exists(
        BoxChain.objects.filter(chain=OuterRef("pk"))
    )
    return silent | ~Q(stage__in=["", *CLOSED_STAGES])


def images_matching(corpus: Corpus, layer: Layer | None, criteria: Filter) -> QuerySet[Image]:
    """Return the images of `corpus` that match `criteria`.

    Without a layer nothing has a category, and nothing is unfinished.
    """
    images = Image.objects.filter(corpus=corpus)
    if criteria.split:
        images = images.filter(split=criteria.split)
    if criteria.text:
        images = images.filter(
            Exists(Caption.objects.filter(image=OuterRef("pk"), text__icontains=criteria.text))
        )
    if criteria.tags:
        try:
            query = read_tag_query(criteria.tags)
        except BadTagQuery:
            return images.none()
        images = images.filter(images_tagged(corpus, query)) if query is not None else images
    if criteria.category:
        named = criteria.category
        of_it = Q(categories=named) | Q(categories__startswith=f"{named}/")
        of_it |= Q(categories__endswith=f"/{named}") | Q(categories__contains=f"/{named}/")
        mentioned = Exists(Mention.objects.filter(of_it, image=OuterRef("pk"), layer=layer))
        labelled = Exists(Chain.objects.filter(label=named, image=OuterRef("pk"), layer=layer))
        images = images.filter(mentioned | labelled)
    if criteria.unfinished:
        images = images.filter(
            Exists(Chain.objects.filter(unfinished_chains(), image=OuterRef("pk"), layer=layer))
        )
    return images


def page_of(
    corpus: Corpus,
    layer: Layer | None,
    criteria: Filter,
    *,
    after: int | None = None,
    before: int | None = None,
    size: int = _PAGE,
) -> TilePage:
    """Return the `size` images after position `after`, or before position `before`."""
    images = images_matching(corpus, layer, criteria)
    if before is not None:
        page_images = list(images.filter(position__lt=before).order_by("-position")[: size + 1])
        more_before, more_after = len(page_images) > size, True
        page_images = page_images[:size][::-1]
    else:
        if after is not None:
            images = images.filter(position__gt=after)
        page_images = list(images.order_by("position")[: size + 1])
        more_before, more_after = after is not None, len(page_images) > size
        page_images = page_images[:size]
    tiles = _captioned(page_images, text=criteria.text)
    _count_layer(tiles, layer)
    return TilePage(
        tiles,
        before=page_images[0].position if page_images and more_before else None,
        after=page_images[-1].position if page_images and more_after else None,
    )


def _captioned(images: Iterable[Image], text: str = "") -> list[Tile]:
    """Return tiles of `images` with their captions, in one additional query; a caption with `text` comes
    first."""
    tiles = {image.pk: Tile(image) for image in images}
    for caption in Caption.objects.filter(image__in=tiles).order_by("number"):
        tiles[caption.image_id].captions.append(caption)
    sought = text.casefold()
    for tile in tiles.values():
        written = [caption.text for caption in tile.captions]
        tile.caption = next((t for t in written if sought in t.casefold()), written[0] if written else "")
    return list(tiles.values())


def _count_layer(tiles: list[Tile], layer: Layer | None) -> None:
    """Set the counts of `layer` on the tiles, in three queries."""
    if layer is None:
        return
    by_image = {tile.image.pk: tile for tile in tiles}
    for covered in LayerImage.objects.filter(layer=layer, image__in=by_image):
        by_image[covered.image_id].covered = True
    chains = Chain.objects.filter(layer=layer, image__in=by_image).values("image")
    for row in chains.annotate(all=Count("pk"), open=Count("pk", filter=unfinished_chains())):
        by_image[row["image"]].chains = row["all"]
        by_image[row["image"]].unfinished = row["open"]
    boxes = Box.objects.filter(layer=layer, image__in=by_image).values("image")
    for image, count in boxes.annotate(all=Count("pk")).values_list("image", "all"):
        by_image[image].boxes = count


def layer_figures(layers: Iterable[Layer]) -> dict[int, LayerFigures]:
    """Return the figures of each layer, by its primary key; cached for each of its versions."""
    names = {
        layer.pk: f"figures-{layer.pk}-{layer.created_at.timestamp()}-{layer.version}" for layer in layers
    }
    cached = cache.get_many(names.values())
    missing = [pk for pk, name in names.items() if name not in cached]
    counted = _counted(missing) if missing else {}
    cache.set_many({names[pk]: figures for pk, figures in counted.items()}, FIGURES_LIFETIME)
    return {pk: counted[pk] if pk in counted else cached[name] for pk, name in names.items()}


def _counted(layers: list[int]) -> dict[int, LayerFigures]:
    """Return the figures of `layers`, in six queries."""
    figures = {pk: LayerFigures() for pk in layers}
    for row in LayerImage.objects.filter(layer__in=layers).values("layer").annotate(all=Count("pk")):
        figures[row["layer"]].images = row["all"]
    for row in Mention.objects.filter(layer__in=layers).values("layer").annotate(all=Count("pk")):
        figures[row["layer"]].mentions = row["all"]
    for row in Box.objects.filter(layer__in=layers).values("layer").annotate(all=Count("pk")):
        figures[row["layer"]].boxes = row["all"]
    chains = Chain.objects.filter(layer__in=layers)
    _count_chains(figures, chains, boxed=False)
    # Distinguished by a condition, not by a column: a database joins once, and does not look up each chain.
    _count_chains(figures, chains.filter(Exists(BoxChain.objects.filter(chain=OuterRef("pk")))), boxed=True)
    labelled = chains.exclude(label="").order_by().values_list("layer", "label").annotate(all=Count("pk"))
    for layer, label, number in labelled.order_by("-all", "label"):
        if len(figures[layer].labels) < _LABELS:
            figures[layer].labels[label] = number
    return figures


def _count_chains(figures: dict[int, LayerFigures], chains: QuerySet[Chain], *, boxed: bool) -> None:
    """Add chains to the figures of their layers: all of them, or the `boxed` ones among these.

    Unfinished ones are those of `unfinished_chains`.
    """
    by_verdict = chains.annotate(bare=Q(object_position__isnull=True)).order_by()
    for row in by_verdict.values("layer", "stage", "bare").annotate(all=Count("pk")):
        of_layer, number = figures[row["layer"]], row["all"]
        closed = row["stage"] in ("", *CLOSED_STAGES)
        silent = row["stage"] == "" and row["bare"]
        if boxed:
            of_layer.boxed += number if closed else 0
            of_layer.unfinished -= number if silent else 0
        else:
            of_layer.chains += number
            of_layer.unfinished += number if silent or not closed else 0


def neighbours(image: Image, layer: Layer | None, criteria: Filter) -> tuple[Image | None, Image | None]:
    """Return the images before and after `image` among those that match `criteria`; two queries."""
    others = images_matching(image.corpus, layer, criteria)
    before = others.filter(position__lt=image.position).order_by("-position").first()
    after = others.filter(position__gt=image.position).order_by("position").first()
    return before, after


def captions_by_number(image: Image) -> list[Caption]:
    """Return the captions of `image` by number."""
    return list(Caption.objects.filter(image=image).order_by("number"))


def layer_rows(image: Image, layer: Layer) -> LayerRows:
    """Return the part of `layer` for `image`; five queries."""
    mine = {"image": image, "layer": layer}
    links = Prefetch("links", BoxChain.objects.order_by("position"))
    return LayerRows(
        covered=LayerImage.objects.filter(**mine).exists(),
        chains=list(Chain.objects.filter(**mine).order_by("position", "pk")),
        mentions=list(Mention.objects.filter(**mine).order_by(F("caption__number"), "start")),
        boxes=list(Box.objects.filter(**mine).order_by("position").prefetch_related(links)),
    )
