"""Write layers: records become rows. The only writer of layers.

A complete layer is written in chunks, hidden, and published by one statement at the end. If it replaces
another, the old one is visible until that statement. A campaign's own layer grows with its answers instead:
`refresh_layer_rows` writes the part of every image that was folded since. Readers get it through
`annotation.datasets.layers`, which calls that.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, QuerySet

from annotation.common import database
from annotation.common.database import chunks, delete_in_pages
from annotation.common.locks import locked_folder
from annotation.formats.checks import check_record
from annotation.models import (
    Box,
    BoxChain,
    Campaign,
    Caption,
    Chain,
    Corpus,
    Image,
    Layer,
    LayerImage,
    Mention,
    OpenImage,
)
from annotation.protocol.state import ImageState
from annotation.protocol.terms import NOT_VISUAL, LayerRecord, renamed
from annotation.queue.image_state import state_of
from annotation.selectors.records import image_record
from phrasebox.errors import PhraseboxError

#: Number of images written in one transaction.
LAYER_IMAGES_PER_TRANSACTION = 250
#: The source of layers that grow with a campaign's answers.
CAMPAIGN_SOURCE = "campaign"
#: The source of layers that simulations write and may replace.
SIMULATION_SOURCE = "simulation"
#: Range of numbers for the chains of one image in such a layer.
CHAINS_PER_IMAGE = 1_000

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,90}")


class LayerError(PhraseboxError):
    """A layer that cannot be written under its name, or for its images."""


class LayerShare(NamedTuple):
    """One image's part of a layer: the image's key, its record, and stages by chain id, if any; in a
    campaign, the version of the open image."""

    image: str
    record: LayerRecord
    stages: Mapping[str, str] = {}
    version: int = 0


@dataclass(frozen=True, slots=True)
class PlacedShare:
    """A part with the rows that it refers to: the image's id, and its captions' ids by number."""

    image: int
    captions: Sequence[int]
    record: LayerRecord
    stages: Mapping[str, str] = field(default_factory=dict)
    version: int = 0


def write_layer(
    *,
    corpus: Corpus,
    name: str,
    source: str,
    records: Iterable[tuple[str, LayerRecord] | LayerShare],
    settings: Mapping[str, Any] | None = None,
    cost: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Layer:
    """Write the layer `name` of `corpus` and publish it.

    `records` are (image key, record) or `LayerShare`, one per image that the layer covers, in any order; they
    are consumed in chunks. `cost` is read after the last of them, so a caller may fill it meanwhile. A
    published layer of that name is rejected, or with `replace` replaced at the end. On any error nothing of
    the new layer remains. Raises LayerError, FormatError if a record does not match its image, and Busy while
    another process writes the same layer.
    """
    check_layer_name(name)
    busy = f"layer {name!r} of corpus {corpus.name!r} is being written by another process; wait for its end"
    with locked_folder(f"layer.{corpus.name}.{name}", busy=busy):
        coming, going = f"{name}~new", f"{name}~old"
        existing = corpus.layers.filter(name=name, published=True).first()
        if existing and not replace:
            raise LayerError(
                f"corpus {corpus.name!r} has a layer {name!r} already; choose another name, or replace it"
            )
        for leftover in corpus.layers.filter(name__in=(name, coming, going), published=False):
            remove_layer(leftover)
        layer = corpus.layers.create(name=coming, source=source, settings=dict(settings or {}))
        try:
            seen: set[str] = set()
            for chunk in chunks((LayerShare(*entry) for entry in records), LAYER_IMAGES_PER_TRANSACTION):
                with transaction.atomic():
                    insert_shares(layer, _placed(corpus, name, chunk, seen))
            analyse_layer_tables(len(seen))
            with transaction.atomic():
                if existing:
                    Layer.objects.filter(pk=existing.pk).update(name=going, published=False)
                Layer.objects.filter(pk=layer.pk).update(name=name, cost=dict(cost or {}), published=True)
        except BaseException:
            remove_layer(layer)
            raise
        if existing:
            remove_layer(existing)
    layer.refresh_from_db()
    return layer


def check_layer_name(name: str) -> None:
    """Raise LayerError if `name` is no valid name of a layer."""
    if not _NAME.fullmatch(name):
        raise LayerError(
            f"layer name {name!r}: expected letters, digits, hyphens or underscores, at most 90 of them"
        )


def insert_shares(layer: Layer, shares: Sequence[PlacedShare]) -> None:
    """Write the rows of some images, checked before; call within a transaction."""
    LayerImage.objects.bulk_create(
        LayerImage(
            layer_id=layer.pk,
            image_id=share.image,
            version=share.version,
            unrelated=list(share.record.unrelated),
        )
        for share in shares
    )
    chains = Chain.objects.bulk_create(row for share in shares for row in _chains(layer, share))
    chain_ids = {(row.image_id, row.key): row.pk for row in chains}
    Mention.objects.bulk_create(
        Mention(
            layer_id=layer.pk,
            image_id=share.image,
            caption_id=share.captions[mention.caption],
            start=mention.start,
            end=mention.end,
            categories="/".join(mention.categories),
            # None if it is not visual: such a chain has no row.
            chain_id=chain_ids.get((share.image, chain.id)),
        )
        for share in shares
        for chain in share.record.chains
        for mention in chain.mentions
    )
    drawn = [
        (share.image, position, thing, thing.box)
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
            by_model=thing.by_model,
        )
        for image, position, thing, box in drawn
    )
    BoxChain.objects.bulk_create(
        BoxChain(box_id=row.pk, chain_id=chain_ids[image, key], position=position)
        for row, (image, _, thing, _) in zip(boxes, drawn, strict=True)
        for position, key in enumerate(thing.chains)
    )


def analyse_layer_tables(images: int) -> None:
    """Update the database's statistics after a layer of this number of images was written."""
    database.analyse_tables(images, LayerImage, Chain, Mention, Box, BoxChain)


def _chains(layer: Layer, share: PlacedShare) -> Iterator[Chain]:
    """Return the rows of a part's visual chains, each with the flags of its box-less object."""
    boxless = {o.chains[0]: (i, o) for i, o in enumerate(share.record.objects) if o.box is None}
    for position, chain in enumerate(share.record.chains):
        if chain.id == NOT_VISUAL:
            continue
        box_position, flags = boxless.get(chain.id, (None, None))
        yield Chain(
            layer_id=layer.pk,
            image_id=share.image,
            key=chain.id,
            label=chain.label,
            phrases="\n".join(chain.phrases),
            position=position,
            stage=share.stages.get(chain.id, ""),
            scene=flags is not None and flags.scene,
            nobndbox=flags is not None and flags.nobndbox,
            object_position=box_position,
        )


def remove_layer(layer: Layer, *, alive: Callable[[], object] = lambda: None) -> None:
    """Delete `layer` and all its rows, a page at a time, `alive` called before each. It is hidden first."""
    Layer.objects.filter(pk=layer.pk).update(published=False)
    for rows in (
        BoxChain.objects.filter(box__layer=layer),
        Mention.objects.filter(layer=layer),
        Box.objects.filter(layer=layer),
        Chain.objects.filter(layer=layer),
        LayerImage.objects.filter(layer=layer),
        Layer.objects.filter(pk=layer.pk),
    ):
        delete_in_pages(rows, alive=alive)


def refresh_layer_rows(campaign: Campaign, *, images: Sequence[int] | None = None) -> int:
    """Update the campaign's layer from its answers; return the number of written images.

    Only `images` (ids of OpenImage) or all. Images without answers and rulings are not covered yet. A
    simulation's layer of that name is replaced. Chains are numbered by their image's position, in ranges of
    1000, so that a part can be written by itself.
    """
    behind = images_to_refresh(campaign)
    if images is not None:
        behind = behind.filter(pk__in=images)
    if not behind.exists():
        return 0
    layer = _growing(campaign)
    written, after = 0, 0
    while True:
        with database.writing():
            # The layer's row is the lock: parts of one layer are written by one process at a time.
            Layer.objects.select_for_update().get(pk=layer.pk)
            page = list(
                behind.filter(pk__gt=after)
                .select_related("image")
                .order_by("pk")[:LAYER_IMAGES_PER_TRANSACTION]
            )
            if not page:
                return written
            after = page[-1].pk
            _rewrite(layer, page)
            Layer.objects.filter(pk=layer.pk).update(version=F("version") + 1)
            written += len(page)


def images_to_refresh(campaign: Campaign) -> QuerySet[OpenImage]:
    """Return the images for which the campaign's layer is outdated.

    One without mentions is complete from the start, and waits until somebody has answered about another.
    """
    behind = OpenImage.objects.filter(campaign=campaign, layer_behind=True)
    if behind.filter(version__gt=0).exists() or own_layers(campaign).exists():
        return behind
    return behind.none()


def own_layers(campaign: Campaign) -> QuerySet[Layer]:
    """Return the layer that grows with the campaign's answers, if it exists yet."""
    return Layer.objects.filter(corpus=campaign.corpus_id, name=campaign.name, source=CAMPAIGN_SOURCE)


def _growing(campaign: Campaign) -> Layer:
    """Return the campaign's own layer, created if missing."""
    with database.writing():
        corpus = campaign.corpus
        layer = corpus.layers.filter(name=campaign.name).first()
        if layer is not None and layer.source == CAMPAIGN_SOURCE:
            return layer
        if layer is not None and layer.source != SIMULATION_SOURCE:
            raise LayerError(
                f"corpus {corpus.name!r} has a layer {campaign.name!r} that does not belong to this campaign "
                f"({layer.source}); remove or rename it"
            )
        if layer is not None:
            remove_layer(layer)
        return corpus.layers.create(
            name=campaign.name, source=CAMPAIGN_SOURCE, settings=campaign.settings, published=True
        )


def _rewrite(layer: Layer, page: Sequence[OpenImage]) -> None:
    """Replace the parts of some open images by the current results of their folds."""
    shares = []
    for row in page:
        state = state_of(row)
        record = numbered_chains(row, state.layer)
        shares.append(LayerShare(row.image.key, record, stages_of(state, record), row.version))
    ids = [row.image_id for row in page]
    BoxChain.objects.filter(box__layer=layer, box__image__in=ids).delete()
    for kind in (Mention, Box, Chain, LayerImage):
        kind.objects.filter(layer=layer, image__in=ids).delete()
    insert_shares(layer, _placed(layer.corpus, layer.name, shares, set()))
    for row in page:
        OpenImage.objects.filter(pk=row.pk, version=row.version).update(layer_behind=False)


def numbered_chains(image: OpenImage, layer: LayerRecord) -> LayerRecord:
    """Return the layer of an open image with the numbers that its chains have in the campaign's layer."""
    first = image.position * CHAINS_PER_IMAGE + 1
    return renamed(layer, {chain.id: str(number) for number, chain in enumerate(layer.chains, first)})


def stages_of(state: ImageState, layer: LayerRecord) -> dict[str, str]:
    """Return the stage of each chain by its printed id; merged chains are closed, as all of their image
    are."""
    stage = {m.id: chain.stage for chain in state.chains for m in chain.mentions}
    return {chain.id: stage[chain.mentions[0].id] for chain in layer.chains}


def _placed(corpus: Corpus, name: str, shares: Sequence[LayerShare], seen: set[str]) -> list[PlacedShare]:
    """Return `shares` of the layer `name`, checked, with the ids of the rows that they refer to."""
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
        captioned = [caption.pk for caption in sentences]
        placed.append(PlacedShare(image.pk, captioned, share.record, share.stages, share.version))
    return placed
