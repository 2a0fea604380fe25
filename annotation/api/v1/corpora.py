"""Corpora by API: which there are, their images with captions, and what layers say of them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import On, missing
from annotation.api.rest.fields import CallFields, NameField, TextField
from annotation.api.rest.operations import GET, ApiCall, ApiRoute, serves
from annotation.datasets.layers import update_layers_of_image
from annotation.models import Corpus, Image, Layer
from annotation.selectors import browse
from annotation.selectors.browse import Filter
from annotation.selectors.tags.kept import frequent_tags, tag_list_of, tags_of_image
from annotation.selectors.tags.queries import BadTagQuery, read_tag_query
from annotation.web.common.access import BROWSING
from annotation.web.common.addresses import signed_picture_address
from annotation.web.corpus.browse import CORPUS_OF_ADDRESS

_TAG = "corpora"
ON_CORPUS = On(CORPUS_OF_ADDRESS, BROWSING)


class CaptionShown(serializers.Serializer[Any]):
    """A caption of an image; `number` counts from 0."""

    number = serializers.IntegerField()
    text = serializers.CharField()
    tokens = serializers.ListField(child=serializers.CharField())
    external_id = serializers.CharField()


class ImageShown(serializers.Serializer[Any]):
    """An image and its captions. `picture` is an address for this token or session, good for an hour; null
    where the corpus came without pictures."""

    key = serializers.CharField()
    filename = serializers.CharField()
    split = serializers.CharField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    external_id = serializers.CharField()
    picture = serializers.CharField(allow_null=True)
    captions = CaptionShown(many=True)


class MentionShown(serializers.Serializer[Any]):
    """A phrase: words `start` to `end` (exclusive) of a caption. `chain` is null where it is not visual."""

    caption = serializers.IntegerField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    categories = serializers.ListField(child=serializers.CharField())
    chain = serializers.CharField(allow_null=True)


class BoxShown(serializers.Serializer[Any]):
    """A box in pixels, counted from 1 and inclusive: left, top, right, bottom; and the chains that it
    depicts."""

    box = serializers.ListField(child=serializers.IntegerField(), min_length=4, max_length=4)
    chains = serializers.ListField(child=serializers.CharField())


class ChainShown(serializers.Serializer[Any]):
    """A chain of mentions that mean the same."""

    label = serializers.CharField()  # type: ignore[assignment]
    stage = serializers.CharField()
    scene = serializers.BooleanField()
    nobndbox = serializers.BooleanField()


class LayerOfImageShown(serializers.Serializer[Any]):
    """What a layer says of one image; `covered` is false where it has not looked at it."""

    layer = NameField()
    covered = serializers.BooleanField()
    chains = ChainShown(many=True)
    mentions = MentionShown(many=True)
    boxes = BoxShown(many=True)


class ImageTagShown(serializers.Serializer[Any]):
    """A kept tag of an image, and its score."""

    tag = serializers.CharField()
    score = serializers.FloatField()


class ImageDetailShown(ImageShown):
    """An image with its kept tags, the best first, and what every layer of its corpus says of it."""

    tags = ImageTagShown(many=True)
    layers = LayerOfImageShown(many=True)


class TagShown(serializers.Serializer[Any]):
    """A kept tag of a corpus, and how many of its images have it."""

    tag = serializers.CharField()
    images = serializers.IntegerField()


class TagFilter(CallFields):
    """Which tags."""

    contains = TextField(required=False, max_length=100, help_text="A part of the tag, in any case.")


class ImageFilter(CallFields):
    """Which images: of a split, with a text in a caption, with kept tags; of a layer, with a category or
    unfinished chains."""

    split = TextField(required=False)
    text = TextField(required=False)
    tags = TextField(required=False, help_text="Such as `dog and frisbee or cat`.")
    layer = NameField(required=False)
    category = TextField(required=False)
    unfinished = serializers.BooleanField(required=False)


@serves(
    ApiRoute(
        route="images",
        method=GET,
        path="corpora/<slug:name>/images",
        tag=_TAG,
        opens=ON_CORPUS,
        asked=ImageFilter,
        answers=ImageShown,
        listed=True,
        refuses=(BadTagQuery,),
    )
)
def images_list_call(call: ApiCall, corpus: Corpus) -> CursorPage:
    """List the images of a corpus, with their captions, in the order of the corpus."""
    read_tag_query(call.asked.get("tags", ""))  # refused where it cannot be read
    layer = _layer(corpus, call.asked["layer"]) if "layer" in call.asked else None
    wanted = Filter(
        split=call.asked.get("split", ""),
        category=call.asked.get("category", ""),
        text=call.asked.get("text", ""),
        tags=call.asked.get("tags", ""),
        unfinished=call.asked.get("unfinished", False),
    )
    rows = call.rows
    page = browse.page_of(corpus, layer, wanted, after=rows.mark, size=rows.limit)
    return rows.page((image_plain(call, tile.image, tile.captions) for tile in page.tiles), page.after)


@serves(
    ApiRoute(
        route="image",
        method=GET,
        path="corpora/<slug:name>/images/<str:key>",
        tag=_TAG,
        opens=ON_CORPUS,
        answers=ImageDetailShown,
    )
)
def image_show_call(call: ApiCall, corpus: Corpus, key: str) -> dict[str, Any]:
    """Show an image: its captions, and what each layer says of it."""
    image = image_named(corpus, key)
    update_layers_of_image(image)
    return {
        **image_plain(call, image, browse.captions_shown(image)),
        "tags": [{"tag": each.text, "score": each.score} for each in tags_of_image(image)],
        "layers": [_layer_of_image(image, layer) for layer in browse.layers_of(corpus)],
    }


@serves(
    ApiRoute(
        route="corpus_tags",
        method=GET,
        path="corpora/<slug:name>/tags",
        tag=_TAG,
        opens=ON_CORPUS,
        asked=TagFilter,
        answers=TagShown,
        listed=True,
    )
)
def corpus_tags_call(call: ApiCall, corpus: Corpus) -> CursorPage:
    """List the kept tags of a corpus, the most frequent first; none where none are kept."""
    kept, rows = tag_list_of(corpus), call.rows
    if kept is None:
        return rows.page([], None)
    skip = rows.mark or 0
    page = frequent_tags(kept, contains=call.asked.get("contains", ""), skip=skip, number=rows.limit)
    plain = ({"tag": each.text, "images": each.images} for each in page.tags)
    return rows.page(plain, skip + rows.limit if page.more else None)


def image_plain(call: ApiCall, image: Image, captions: list[Any]) -> dict[str, Any]:
    """An image and these captions of it as plain data."""
    return {
        "key": image.key,
        "filename": image.filename,
        "split": image.split,
        "width": image.width,
        "height": image.height,
        "external_id": image.external_id,
        "picture": signed_picture_address(call.request, image.picture) if image.picture else None,
        "captions": [
            {"number": each.number, "text": each.text, "tokens": each.words, "external_id": each.external_id}
            for each in captions
        ],
    }


def _layer_of_image(image: Image, layer: Layer) -> dict[str, Any]:
    rows = browse.layer_rows(image, layer)
    labels = {chain.pk: chain.label for chain in rows.chains}
    return {
        "layer": layer.name,
        "covered": rows.covered,
        "chains": [
            {"label": each.label, "stage": each.stage, "scene": each.scene, "nobndbox": each.nobndbox}
            for each in rows.chains
        ],
        "mentions": [
            {
                "caption": each.caption.number,
                "start": each.start,
                "end": each.end,
                "categories": each.categories.split("/"),
                "chain": labels[each.chain_id] if each.chain_id is not None else None,
            }
            for each in rows.mentions
        ],
        "boxes": [
            {
                "box": [each.xmin, each.ymin, each.xmax, each.ymax],
                "chains": [labels[link.chain_id] for link in each.links.all()],
            }
            for each in rows.boxes
        ],
    }


def image_named(corpus: Corpus, key: str) -> Image:
    """An image of a corpus by its key; an answer of 404 where there is none."""
    image = Image.objects.select_related("corpus").filter(corpus=corpus, key=key).first()
    if image is None:
        raise missing(_("Corpus “%(corpus)s” has no image “%(key)s”.") % {"corpus": corpus.name, "key": key})
    return image


def _layer(corpus: Corpus, name: str) -> Layer:
    found = Layer.objects.filter(corpus=corpus, name=name, published=True).first()
    if found is None:
        raise missing(
            _("Corpus “%(corpus)s” has no layer “%(name)s”.") % {"corpus": corpus.name, "name": name}
        )
    return found
