"""Corpora, their layers and their licences, for operations that list, show and set them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, Listing, Named, OperationContext, result_of
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets.layers import update_layers
from annotation.models import Account, Corpus, Layer
from annotation.selectors import browse
from annotation.selectors.corpora import CORPORA


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusRequest:
    """A corpus with its splits and layers."""

    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]

    def row(self) -> Corpus:
        """Return the corpus; it exists, since the permission was checked."""
        return Corpus.objects.get(name=self.corpus, published=True)


@dataclass(frozen=True, slots=True)
class CorporaRequest:
    """The corpora that are open to you, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersRequest(CorpusRequest):
    """The layers of a corpus, with counts of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSummary:
    """A corpus: images with captions. The `licence` is declared by its owner, empty if unknown;
    `pictures_may_leave`: models at addresses may be shown its pictures. `digest` is SHA-256 over all imported
    records, and changes when images are added."""

    name: str
    format: str
    images: int
    captions: int
    licence: str
    pictures_may_leave: bool
    digest: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSummary:
    """A layer: mentions, chains and boxes over a corpus. Counts are of the images that it covers. `version`
    increases with every change; `unfinished` is the number of chains without a verdict, `behind` of images
    whose newest answers are not in it yet; `labels` are its chains by their class in another tool."""

    name: str
    source: str
    version: int
    images: int
    mentions: int
    chains: int
    boxes: int
    labels: dict[str, int]
    unfinished: int
    behind: int
    cost: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedImages:
    """Images that were added to a corpus after its import, `first` being the position of the first of them,
    and captions; `captioned` images were there and had none. `digest` is SHA-256 over all records of their
    source."""

    first: int
    images: int
    captions: int
    captioned: int
    source: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusDetail(CorpusSummary):
    """A corpus with its splits, its layers, and what was added after its import."""

    splits: tuple[str, ...]
    added: tuple[AddedImages, ...]
    layers: tuple[LayerSummary, ...]


def corpus_summary(row: Corpus) -> CorpusSummary:
    """Return the stored fields of a corpus."""
    return result_of(CorpusSummary, row, images=row.image_count, captions=row.caption_count)


def list_corpora(request: CorporaRequest, context: OperationContext) -> Listing:
    """Return the published corpora that the caller may see."""
    return Listing(CORPORA.rows(context.actor, REVIEWER, RESEARCHER), "name", corpus_summary)


def show_corpus(request: CorpusRequest, context: OperationContext) -> CorpusDetail:
    """Return a corpus."""
    row = request.row()
    behind, summary = update_layers(row), corpus_summary(row)
    return CorpusDetail(
        **{field.name: getattr(summary, field.name) for field in fields(summary)},
        splits=tuple(browse.splits_in_order(row)),
        added=tuple(AddedImages(**delivery) for delivery in row.deliveries),
        layers=tuple(_layer_summary(layer, behind) for layer in browse.layers_of(row)),
    )


def list_layers(request: LayersRequest, context: OperationContext) -> Listing:
    """Return the layers of a corpus, updated from the answers as far as that is quick."""
    row = request.row()
    behind = update_layers(row)
    rows = Layer.objects.filter(corpus=row, published=True)
    return Listing(rows, "name", lambda layer: _layer_summary(layer, behind))


def _layer_summary(layer: Layer, behind: Mapping[str, int]) -> LayerSummary:
    figures = browse.layer_figures([layer])[layer.pk]
    return LayerSummary(
        name=layer.name,
        source=layer.source,
        version=layer.version,
        images=figures.images,
        mentions=figures.mentions,
        chains=figures.chains,
        boxes=figures.boxes,
        labels=figures.labels,
        unfinished=figures.unfinished,
        behind=behind.get(layer.name, 0),
        cost=layer.cost,
        created_at=layer.created_at,
    )


LONGEST_LICENCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceRequest(CorpusRequest):
    """Datasheets and dataset cards contain it."""

    licence: Annotated[
        str,
        Field(max_length=LONGEST_LICENCE),
        Help(_("Licence"), _("Name or address, as CC BY 4.0; empty says that nobody knows")),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturesMayLeaveRequest(CorpusRequest):
    """Whether models at addresses may be shown the pictures. Ask their owner, and the people in them,
    first."""

    may_leave: Annotated[
        bool, Help(_("Pictures may leave the server"), _("To models that are asked about them"))
    ]


def set_pictures_may_leave(request: PicturesMayLeaveRequest, context: OperationContext) -> CorpusSummary:
    """Say whether a corpus's pictures may leave the server."""
    row = request.row()
    with database.writing():
        rows = Corpus.objects.filter(pk=row.pk).exclude(pictures_may_leave=request.may_leave)
        if rows.update(pictures_may_leave=request.may_leave):
            record(
                actor=context.actor,
                act="set_pictures_may_leave",
                corpus=row.name,
                may_leave=request.may_leave,
            )
    row.refresh_from_db()
    return corpus_summary(row)


def set_licence(*, corpus: Corpus, licence: str, actor: Account | None = None) -> bool:
    """Set the licence of a corpus; "" means unknown. Return False if it is unchanged."""
    licence = " ".join(licence.replace("\0", "").split())
    with database.writing():
        changed = bool(Corpus.objects.filter(pk=corpus.pk).exclude(licence=licence).update(licence=licence))
        if changed:
            record(actor=actor, act="set_licence", corpus=corpus.name, licence=licence)
    corpus.licence = licence
    return changed


def set_named_licence(request: LicenceRequest, context: OperationContext) -> CorpusSummary:
    """Set the licence of a corpus."""
    row = request.row()
    set_licence(corpus=row, licence=request.licence, actor=context.actor)
    return corpus_summary(row)
