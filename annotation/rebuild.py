"""Layers: records -> rows. The only writer of layers.

A layer is written in chunks, out of sight, and published by one statement at the end. Where
it replaces another, the old one is seen until that statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.db import models, transaction

from annotation.exclusive import exclusive_folder
from annotation.formats.checks import check_record
from annotation.models import Box, BoxChain, Caption, Chain, Corpus, Image, Layer, LayerImage, Mention
from annotation.protocol.terms import NOT_VISUAL, LayerRecord
from annotation.selectors.records import image_record

#: Images written in one transaction.
CHUNK = 250
#: Rows deleted in one transaction.
PAGE = 5_000

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,90}")

T = TypeVar("T")


class LayerError(ValueError):
    """A layer that cannot be written under its name, or for its images."""


class Share(NamedTuple):
    """One image's share of a layer: the image's key, its record, and stages by chain id, if any."""

    image: str
    record: LayerRecord
    stages: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Placed:
    """A share with the rows it hangs on: the image's id, and its captions' ids by number."""

    image: int
    captions: Sequence[int]
    record: LayerRecord
    stages: Mapping[str, str] = field(default_factory=dict)


def write_layer(
    *,
    corpus: Corpus,
    name: str,
    source: str,
    records: Iterable[tuple[str, LayerRecord] | Share],
    settings: Mapping[str, Any] | None = None,
    cost: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Layer:
    """Write the layer `name` of `corpus` and publish it.

    `records` are (image key, record) or `Share`, one per image that the layer covers, in any
    order; they are consumed in chunks. `cost` is read after the last of them, so a caller may
    fill it while they are made. A published layer of that name is refused, or with `replace`
    makes place at the end. On any error nothing of the new layer remains. Raises LayerError,
    FormatError where a record does not fit its image, and Busy where another process writes
    the same layer.
    """
    check_layer_name(name)
    busy = f"layer {name!r} of corpus {corpus.name!r} is being written by another process; wait for its end"
    with exclusive_folder(f"layer.{corpus.name}.{name}", busy=busy):
        coming, going = f"{name}~new", f"{name}~old"
        standing = corpus.layers.filter(name=name, published=True).first()
        if standing and not replace:
            raise LayerError(
                f"corpus {corpus.name!r} has a layer {name!r} already; choose another name, or replace it"
            )
        for leftover in corpus.layers.filter(name__in=(name, coming, going), published=False):
            remove_layer(leftover)
        layer = corpus.layers.create(name=coming, source=source, settings=dict(settings or {}))
        try:
            seen: set[str] = set()
            for chunk in chunks((Share(*entry) for entry in records), CHUNK):
                with transaction.atomic():
                    insert(layer, _placed(corpus, name, chunk, seen))
            with transaction.atomic():
                if standing:
                    Layer.objects.filter(pk=standing.pk).update(name=going, published=False)
                Layer.objects.filter(pk=layer.pk).update(name=name, cost=dict(cost or {}), published=True)
        except BaseException:
            remove_layer(layer)
            raise
        if standing:
            remove_layer(standing)
    layer.refresh_from_db()
    return layer


def check_layer_name(name: str) -> None:
    """Raise LayerError unless a layer can be called `name`."""
    if not _NAME.fullmatch(name):
        raise LayerError(
            f"layer name {name!r}: expected letters, digits, hyphens or underscores, at most 90 of them"
        )


def insert(layer: Layer, shares: Sequence[Placed]) -> None:
    """Write the rows of some images, checked before; call within a transaction."""
    LayerImage.objects.bulk_create(LayerImage(layer_id=layer.pk, image_id=share.image) for share in shares)
    chains = Chain.objects.bulk_create(row for share in shares for row in _chains(layer, share))
    chain_ids = {(row.image_id, row.label): row.pk for row in chains}
    Mention.objects.bulk_create(
        Mention(
            layer_id=layer.pk,
            image_id=share.image,
            caption_id=share.captions[mention.caption],
            start=mention.start,
            end=mention.end,
            categories="/".join(mention.categories),
            # None for what is not visual: such a chain has no row.
            chain_id=chain_ids.get((share.image, chain.id)),
        )
        for share in shares
        for chain in share.record.chains
        for mention in chain.mentions
    )
    drawn = [
        (share.image, position, thing.box, thing.chains)
        for share in shares
        for position, thing in enumerate(share.record.objects)
        if thing.box is not None
    ]
    boxes = Box.objects.bulk_create(
        Box(
            layer_id=layer.pk,
            image_id=image,
            position=position,
            xmin=box.xmin,
            ymin=box.ymin,
            xmax=box.xmax,
            ymax=box.ymax,
        )
        for image, position, box, _ in drawn
    )
    BoxChain.objects.bulk_create(
        BoxChain(box_id=row.pk, chain_id=chain_ids[image, label], position=position)
        for row, (image, _, _, labels) in zip(boxes, drawn, strict=True)
        for position, label in enumerate(labels)
    )


def _chains(layer: Layer, share: Placed) -> Iterator[Chain]:
    """The rows of a share's visual chains, each with what its box-less object says."""
    boxless = {o.chains[0]: (i, o) for i, o in enumerate(share.record.objects) if o.box is None}
    for position, chain in enumerate(share.record.chains):
        if chain.id == NOT_VISUAL:
            continue
        place, flags = boxless.get(chain.id, (None, None))
        yield Chain(
            layer_id=layer.pk,
            image_id=share.image,
            label=chain.id,
            position=position,
            stage=share.stages.get(chain.id, ""),
            scene=flags is not None and flags.scene,
            nobndbox=flags is not None and flags.nobndbox,
            object_position=place,
        )


def remove_layer(layer: Layer) -> None:
    """Delete `layer` and all its rows, a page at a time; it is hidden first."""
    Layer.objects.filter(pk=layer.pk).update(published=False)
    for rows in (
        BoxChain.objects.filter(box__layer=layer),
        Mention.objects.filter(layer=layer),
        Box.objects.filter(layer=layer),
        Chain.objects.filter(layer=layer),
        LayerImage.objects.filter(layer=layer),
        Layer.objects.filter(pk=layer.pk),
    ):
        delete_in_pages(rows)


def delete_in_pages(rows: models.QuerySet[Any]) -> None:
    """Delete `rows` without ever holding more than a page of them."""
    while page := list(rows.order_by().values_list("pk", flat=True)[:PAGE]):
        rows.model._default_manager.filter(pk__in=page).delete()


def chunks(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """`things` in lists of `size`, the last one shorter."""
    iterator = iter(things)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _placed(corpus: Corpus, name: str, shares: Sequence[Share], seen: set[str]) -> list[Placed]:
    """`shares` of the layer `name`, checked, with the ids of the rows they hang on."""
    keys = [share.image for share in shares]
    images = {image.key: image for image in Image.objects.filter(corpus=corpus, key__in=keys)}
    captions: dict[int, list[Caption]] = {image.pk: [] for image in images.values()}
    for caption in Caption.objects.filter(image__in=images.values()).order_by("number"):
        captions[caption.image_id].append(caption)
    placed = []
    for share in shares:
        image = images.get(share.image)
        if image is None:
            raise LayerError(f"image {share.image!r} is not in corpus {corpus.name!r}")
        if share.image in seen:
            raise LayerError(f"image {share.image!r} comes twice; expected one record per image")
        seen.add(share.image)
        sentences = captions[image.pk]
        check_record(image_record(image, sentences, share.record), file=Path(f"layer {name}"))
        placed.append(Placed(image.pk, [c.pk for c in sentences], share.record, share.stages))
    return placed
