"""Convert rows to records: corpora and layers for the pure core, the formats and the simulator.

The result equals what `layer_rows` wrote: the order of chains, objects and names, chains without mentions,
mentions without chain (chain 0), and the flags.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from annotation.common.database import one_moment
from annotation.common.operations import result_of
from annotation.images.pictures import picture_path
from annotation.models import Box as BoxRow
from annotation.models import BoxChain, Caption, Corpus, Image, Layer, LayerImage, PhraseMarks
from annotation.models import Chain as ChainRow
from annotation.models import Mention as MentionRow
from annotation.models.layers import stored_phrases
from annotation.protocol.boxes import EXCLUDED
from annotation.protocol.terms import (
    NOT_VISUAL,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
    Span,
)

#: Number of images read at a time. Each page needs the same number of queries.
RECORDS_PER_QUERY = 200


def stream_records(
    *,
    corpus: Corpus,
    layer: Layer | None = None,
    split: str | None = None,
    excluded: bool = False,
    images: QuerySet[Image] | None = None,
) -> Iterator[ImageRecord]:
    """Yield the images of `corpus` in order, of one `split` or of all, with their part of `layer`.

    It is None for an image that the layer does not cover, and without a layer. Chains that a reviewer
    excluded are omitted, so that their mentions are plain words, unless `excluded`. `images` narrows the
    selection further; its query runs once a page. Without a layer, records come with the phrases that
    somebody marked. Pages by key; seven queries a page with a layer, three without. A page is read in one
    snapshot.
    """
    rows = (Image.objects.all() if images is None else images).filter(corpus=corpus).order_by("position")
    if split is not None:
        rows = rows.filter(split=split)
    after = -1
    while True:
        with one_moment():
            page = list(rows.filter(position__gt=after)[:RECORDS_PER_QUERY])
            captions = _captions(page)
            records = _layer_records(layer, captions, excluded=excluded) if layer else {}
            marked = {} if layer else marked_spans(captions)
        if not page:
            return
        after = page[-1].position
        for image in page:
            yield image_record(image, captions[image.pk], records.get(image.pk), marked.get(image.pk))


def layer_of(image: Image, layer: Layer, *, excluded: bool = False) -> LayerRecord:
    """Return the part of `layer` for `image`; empty if the layer does not cover it."""
    captions = _captions([image])
    return _layer_records(layer, captions, excluded=excluded).get(image.pk, LayerRecord())


def image_record(
    image: Image,
    captions: Iterable[Caption],
    layer: LayerRecord | None,
    marked: tuple[Span, ...] | None = None,
) -> ImageRecord:
    """Return one image's rows, `captions` in order, as a record."""
    return result_of(
        ImageRecord,
        image,
        id=image.key,
        captions=tuple(
            CaptionRecord(
                text=c.text,
                tokens=tuple(c.tokens.split()) if c.tokens else None,
                id=c.external_id,
                unrelated=c.unrelated or (layer is not None and c.number in layer.unrelated),
            )
            for c in captions
        ),
        picture=picture_path(image.picture) if image.picture else None,
        layer=layer,
        marked=marked,
    )


def marked_spans(images: Iterable[int]) -> dict[int, tuple[Span, ...]]:
    """Return the phrases that somebody marked by image id, for those of `images` (ids) that have any."""
    rows = PhraseMarks.objects.filter(image__in=list(images)).values_list("image", "spans")
    return {image: tuple((caption, start, end) for caption, start, end in spans) for image, spans in rows}


def _captions(images: Sequence[Image]) -> dict[int, list[Caption]]:
    """Return the captions in order by image id, for every image."""
    captions_of: dict[int, list[Caption]] = {image.pk: [] for image in images}
    for caption in Caption.objects.filter(image_id__in=list(captions_of)).order_by("image_id", "number"):
        captions_of[caption.image_id].append(caption)
    return captions_of


class _ChainRow(NamedTuple):
    pk: int
    image: int
    key: str
    label: str
    phrases: str
    position: int
    stage: str
    scene: bool
    nobndbox: bool
    object_position: int | None


def _layer_records(
    layer: Layer, captions: Mapping[int, Sequence[Caption]], *, excluded: bool
) -> dict[int, LayerRecord]:
    """Return the record by image id, for those images of `captions` that the layer covers. Five queries."""
    ids = list(captions)
    covered = dict(LayerImage.objects.filter(layer=layer, image_id__in=ids).values_list("image", "unrelated"))
    rows: dict[int, list[_ChainRow]] = defaultdict(list)
    keys: dict[int, str] = {}
    without_box: set[int] = set()
    of_layer = ChainRow.objects.filter(layer=layer, image_id__in=ids).order_by("position")
    for values in of_layer.values_list(
        *("pk", "image_id", "key", "label", "phrases"),
        *("position", "stage", "scene", "nobndbox", "object_position"),
    ):
        row = _ChainRow(*values)
        keys[row.pk] = row.key
        if row.stage == EXCLUDED and not excluded:
            without_box.add(row.pk)
        rows[row.image].append(row)
    mentions, alone = _mentions(layer, captions)
    objects = _box_objects(layer, ids, keys, without_box)
    records = {}
    for image, unrelated in covered.items():
        chains: list[Chain] = []
        not_visual = iter(sorted(alone[image], key=lambda m: m.span))
        taken = 0
        for row in rows[image]:
            while taken < row.position and (mention := next(not_visual, None)):
                chains.append(Chain(NOT_VISUAL, (mention,)))
                taken += 1
            taken += 1
            if row.pk in without_box:
                continue
            in_order = tuple(sorted(mentions[row.pk], key=lambda m: m.span))
            chains.append(Chain(row.key, in_order, row.label, stored_phrases(row.phrases)))
            if row.object_position is not None:
                flags = LayerObject((row.key,), scene=row.scene, nobndbox=row.nobndbox)
                objects[image].append((row.object_position, flags))
        chains += [Chain(NOT_VISUAL, (mention,)) for mention in not_visual]
        drawn = sorted(objects[image], key=lambda numbered: numbered[0])
        objects_in_order = tuple(thing for _, thing in drawn)
        records[image] = LayerRecord(tuple(chains), objects_in_order, tuple(unrelated))
    return records


def _mentions(
    layer: Layer, captions: Mapping[int, Sequence[Caption]]
) -> tuple[dict[int, list[Mention]], dict[int, list[Mention]]]:
    """Return mentions by chain id, and those without chain by image id."""
    by_id = {
        c.pk: (image, c.number, c.words) for image, image_captions in captions.items() for c in image_captions
    }
    of_chain: dict[int, list[Mention]] = defaultdict(list)
    alone: dict[int, list[Mention]] = defaultdict(list)
    rows = MentionRow.objects.filter(layer=layer, caption_id__in=list(by_id))
    for caption, start, end, categories, chain in rows.values_list(
        "caption_id", "start", "end", "categories", "chain_id"
    ):
        image, number, words = by_id[caption]
        mention = Mention(number, start, end, tuple(words[start:end]), tuple(categories.split("/")))
        (of_chain[chain] if chain else alone[image]).append(mention)
    return of_chain, alone


def _box_objects(
    layer: Layer, images: Sequence[int], keys: Mapping[int, str], without_box: set[int]
) -> dict[int, list[tuple[int, LayerObject]]]:
    """Return (position, box with the chains it depicts) by image id, without boxes that only depict dropped
    chains."""
    named: dict[int, list[str]] = defaultdict(list)
    links = BoxChain.objects.filter(box__layer=layer, box__image_id__in=images).order_by("position")
    for box, chain in links.values_list("box_id", "chain_id"):
        if chain not in without_box:
            named[box].append(keys[chain])
    objects: dict[int, list[tuple[int, LayerObject]]] = defaultdict(list)
    boxes = BoxRow.objects.filter(layer=layer, image_id__in=images)
    for pk, image, position, by_model, *corners in boxes.values_list(
        "pk", "image_id", "position", "by_model", "xmin", "ymin", "xmax", "ymax"
    ):
        if pk in named:
            thing = LayerObject(tuple(named[pk]), Box(*corners), by_model=by_model)
            objects[image].append((position, thing))
    return objects
