"""Images of a corpus, with captions, tags and layers, for operations that list and show them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, OperationContext, Pages, invalid, result_of
from annotation.datasets.contents.corpus_summaries import CorpusRequest
from annotation.datasets.layers import update_layers_of_image
from annotation.models import Caption, Corpus, Image, Layer
from annotation.selectors import browse
from annotation.selectors.tags.queries import BadTagQuery, read_tag_query
from annotation.selectors.tags.stored import frequent_tags, tag_list_of, tags_of_image

#: Columns of an image's own fields.
_COLUMNS = ("key", "filename", "split", "width", "height", "external_id")
LayerName = Annotated[str, Field(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesRequest(CorpusRequest):
    """With their captions, in the order of the corpus."""

    split: Annotated[str, Field(max_length=200), Help(_("Split"), _("Only its images"))] = ""
    text: Annotated[str, Field(max_length=200), Help(_("Text"), _("Only with a caption that has it"))] = ""
    tags: Annotated[str, Field(max_length=200), Help(_("Tags"), _("As `dog and frisbee or cat`"))] = ""
    layer: Annotated[LayerName | None, Help(_("Layer"), _("In which these are looked for"))] = None
    category: Annotated[str, Field(max_length=200), Help(_("Category"), _("Only with a mention of it"))] = ""
    unfinished: Annotated[bool, Help(_("Unfinished"), _("Only with an unfinished chain"))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRequest(CorpusRequest):
    """Its captions and its tags, the best first, and each layer's part for it."""

    image: Annotated[str, Field(max_length=255), Help(_("Image"), _("By its key"))]

    def image_row(self) -> Image:
        """Return the image. Raises Invalid if the corpus has none of this key."""
        image = Image.objects.select_related("corpus").filter(corpus=self.row(), key=self.image).first()
        if image is None:
            raise invalid("image", "unknown", kind=_("image"), value=self.image[:100])
        return image


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusTagsRequest(CorpusRequest):
    """The most frequent first; empty if none are stored."""

    contains: Annotated[str, Field(max_length=100), Help(_("Part"), _("Of the tag, in any case"))] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionContent:
    """A caption of an image; `number` counts from 0."""

    number: int
    text: str
    tokens: tuple[str, ...]
    external_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSummary:
    """An image and its captions. `picture` is an address for this token or session, valid for an hour, and
    for commands a path; null if the corpus has no pictures."""

    key: str
    filename: str
    split: str
    width: int
    height: int
    external_id: str
    picture: str | None
    captions: tuple[CaptionContent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionContent:
    """A phrase: words `start` to `end` (exclusive) of a caption. `chain` is null if it is not visual."""

    caption: int
    start: int
    end: int
    categories: tuple[str, ...]
    chain: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxContent:
    """A box in pixels, counted from 1 and inclusive: left, top, right, bottom; and the chains that it
    depicts."""

    box: Annotated[tuple[int, ...], Field(min_length=4, max_length=4)]
    chains: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainContent:
    """A chain of coreferent mentions, by its key. In an imported layer, `label` is its class in the other
    tool, and `phrases` describe it without being in a caption."""

    key: str
    label: str
    phrases: tuple[str, ...]
    stage: str
    scene: bool
    nobndbox: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerContent:
    """A layer's part for one image; `covered` is false if the layer does not cover it."""

    layer: str
    covered: bool
    chains: tuple[ChainContent, ...]
    mentions: tuple[MentionContent, ...]
    boxes: tuple[BoxContent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOfImage:
    """A tag of an image, and its score."""

    tag: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDetail(ImageSummary):
    """An image with its tags, the best first, and the part of every layer of its corpus."""

    tags: tuple[TagOfImage, ...]
    layers: tuple[LayerContent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagOfCorpus:
    """A tag of a corpus, and the number of its images that have it."""

    tag: str
    images: int


def list_images(request: ImagesRequest, context: OperationContext) -> Pages:
    """Return the requested images."""
    corpus = request.row()
    try:
        read_tag_query(request.tags)
    except BadTagQuery as error:
        raise invalid("tags", "tag_query", message=str(error)) from error
    layer = layer_of_corpus(corpus, request.layer) if request.layer is not None else None
    chosen = result_of(browse.Filter, request)

    def page(mark: Any, size: int) -> tuple[Iterable[ImageSummary], Any]:
        page_found = browse.page_of(corpus, layer, chosen, after=mark, size=size)
        return [
            ImageSummary(**_about(tile.image, tile.captions, context)) for tile in page_found.tiles
        ], page_found.after

    return Pages(page)


def show_image(request: ImageRequest, context: OperationContext) -> ImageDetail:
    """Return an image."""
    row = request.image_row()
    update_layers_of_image(row)
    return ImageDetail(
        **_about(row, browse.captions_by_number(row), context),
        tags=tuple(TagOfImage(tag=tag.text, score=tag.score) for tag in tags_of_image(row)),
        layers=tuple(_layer_content(row, layer) for layer in browse.layers_of(row.corpus)),
    )


def list_corpus_tags(request: CorpusTagsRequest, context: OperationContext) -> Pages:
    """Return the active tags of a corpus."""
    stored = tag_list_of(request.row())

    def page(mark: Any, size: int) -> tuple[Iterable[TagOfCorpus], Any]:
        if stored is None:
            return (), None
        page_found = frequent_tags(stored, contains=request.contains, skip=mark or 0, number=size)
        results = [TagOfCorpus(tag=tag.text, images=tag.images) for tag in page_found.tags]
        return results, (mark or 0) + size if page_found.more else None

    return Pages(page)


def layer_of_corpus(corpus: Corpus, name: str) -> Layer:
    """Return the published layer of that name. Raises Invalid if there is none."""
    layers = {layer.name: layer for layer in browse.layers_of(corpus)}
    if name not in layers:
        known = ", ".join(layers)
        code = "unknown_of" if known else "unknown"
        raise invalid("layer", code, kind=_("layer"), value=name, known=known)
    return layers[name]


def _about(row: Image, captions: Sequence[Caption], context: OperationContext) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in _COLUMNS},
        "picture": context.picture(row.picture) if row.picture else None,
        "captions": tuple(
            CaptionContent(
                number=caption.number,
                text=caption.text,
                tokens=tuple(caption.words),
                external_id=caption.external_id,
            )
            for caption in captions
        ),
    }


def _layer_content(row: Image, layer: Layer) -> LayerContent:
    rows = browse.layer_rows(row, layer)
    keys = {chain.pk: chain.key for chain in rows.chains}
    return LayerContent(
        layer=layer.name,
        covered=rows.covered,
        chains=tuple(result_of(ChainContent, item, phrases=item.phrase_lines) for item in rows.chains),
        mentions=tuple(
            MentionContent(
                caption=item.caption.number,
                start=item.start,
                end=item.end,
                categories=tuple(item.categories.split("/")),
                chain=keys[item.chain_id] if item.chain_id is not None else None,
            )
            for item in rows.mentions
        ),
        boxes=tuple(
            BoxContent(
                box=(item.xmin, item.ymin, item.xmax, item.ymax),
                chains=tuple(keys[link.chain_id] for link in item.links.all()),
            )
            for item in rows.boxes
        ),
    )
