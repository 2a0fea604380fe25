"""Layers from elsewhere: a file of boxes, labels and phrases -> a layer of a corpus that is there.

All of it is written, or nothing. What the layer cannot hold is counted by its reason; unless that is
confirmed, nothing is written.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from annotation.common.database import chunks
from annotation.common.operations import FileUpload, Help, Named, OneOf, OperationContext, invalid
from annotation.common.readers import stream
from annotation.datasets.corpus_summaries import CorpusRequest
from annotation.datasets.intake import IMPORT
from annotation.datasets.layer_rows import (
    CAMPAIGN_SOURCE,
    LAYER_IMAGES_PER_TRANSACTION,
    LayerError,
    write_layer,
)
from annotation.formats import FORMATS
from annotation.formats.base import FORMAT_FOLDERS, SourceImage
from annotation.formats.files.archive import unpack_archive, unpacked_source
from annotation.formats.layers.contents import NotHeld
from annotation.formats.layers.conversion import BoxChanges, layer_of_boxes
from annotation.formats.source_records import read_layer_records
from annotation.models import Caption, Corpus, Image
from annotation.protocol.terms import CaptionRecord, LayerRecord
from annotation.selectors.corpora import names_of_images
from phrasebox.names import ImageNames
from phrasebox.text_files import FormatError, short_repr

#: Layers of these names are where campaigns take the phrases of a corpus from.
_RESERVED = ("gold", IMPORT)
#: Images that a message names.
_NAMED = 3

#: What a layer does not hold of a file, by the words of `contents.NotHeld`.
_LACKS = {
    NotHeld.NO_IMAGE: ngettext_lazy(
        "%(n)d image is not in the corpus", "%(n)d images are not in the corpus", "n"
    ),
    NotHeld.OTHER_SIZE: ngettext_lazy(
        "%(n)d image has another size in the corpus, so that its boxes do not fit",
        "%(n)d images have another size in the corpus, so that their boxes do not fit",
        "n",
    ),
    NotHeld.OUTSIDE: ngettext_lazy(
        "%(n)d box lies outside its picture", "%(n)d boxes lie outside their picture", "n"
    ),
    NotHeld.EMPTY: ngettext_lazy("%(n)d box has no area", "%(n)d boxes have no area", "n"),
    NotHeld.NO_BOX: ngettext_lazy(
        "%(n)d phrase has no box in the files", "%(n)d phrases have no box in the files", "n"
    ),
    NotHeld.OUTLINES: ngettext_lazy("%(n)d outline (polygon)", "%(n)d outlines (polygons)", "n"),
    NotHeld.MASKS: ngettext_lazy("%(n)d mask", "%(n)d masks", "n"),
    NotHeld.LINES: ngettext_lazy("%(n)d line", "%(n)d lines", "n"),
    NotHeld.POINTS: ngettext_lazy("%(n)d set of points", "%(n)d sets of points", "n"),
    NotHeld.ELLIPSES: ngettext_lazy("%(n)d ellipse", "%(n)d ellipses", "n"),
    NotHeld.CUBOIDS: ngettext_lazy("%(n)d cuboid", "%(n)d cuboids", "n"),
    NotHeld.SKELETONS: ngettext_lazy("%(n)d skeleton", "%(n)d skeletons", "n"),
    NotHeld.TRACKS: ngettext_lazy("%(n)d track of a video", "%(n)d tracks of a video", "n"),
    NotHeld.CROWDS: ngettext_lazy("%(n)d mask of a crowd", "%(n)d masks of crowds", "n"),
    NotHeld.ROTATIONS: ngettext_lazy(
        "the rotation of %(n)d box, which became the upright one around it",
        "the rotation of %(n)d boxes, which became the upright ones around them",
        "n",
    ),
    NotHeld.ATTRIBUTES: ngettext_lazy("%(n)d attribute", "%(n)d attributes", "n"),
    NotHeld.GROUPS: ngettext_lazy("the group of %(n)d box", "the groups of %(n)d boxes", "n"),
    NotHeld.RELATIONS: ngettext_lazy("%(n)d relation", "%(n)d relations", "n"),
    NotHeld.IMAGE_LABELS: ngettext_lazy(
        "%(n)d answer about an image as a whole", "%(n)d answers about images as a whole", "n"
    ),
    NotHeld.SPLITS: ngettext_lazy("the split of %(n)d reference", "the splits of %(n)d references", "n"),
    NotHeld.FURTHER: ngettext_lazy(
        "%(n)d further annotation of an image", "%(n)d further annotations of images", "n"
    ),
    NotHeld.PREDICTIONS: ngettext_lazy("%(n)d prediction", "%(n)d predictions", "n"),
}


def _formats() -> dict[str, str]:
    return {entry.key: entry.title for entry in FORMATS if entry.reads_layers}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLayerRequest(CorpusRequest):
    """All of it, or nothing. Boxes with their labels and phrases are stored; what else the file has is
    counted, and nothing is stored before that is confirmed."""

    layer: Annotated[str, Named(), Help(gettext_lazy("Name of the layer"))]
    file: Annotated[
        Path,
        FileUpload(),
        Help(gettext_lazy("File"), gettext_lazy("Or a zip or tar archive of what belongs together")),
    ]
    format: Annotated[str, OneOf(_formats), Help(gettext_lazy("Format"))]
    leave_unused: Annotated[
        bool,
        Help(
            gettext_lazy("Leave what is not used"),
            gettext_lazy("Import the layer without what it cannot hold"),
        ),
    ] = False
    replace: Annotated[
        bool, Help(gettext_lazy("Replace"), gettext_lazy("Put it in the place of a layer of that name"))
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLayer:
    """A layer as it was imported: `images` that it covers, `labels` that are different. Boxes were `rounded`
    to whole pixels, `clipped` to their picture. `excluded` counts what the file has and the layer not, and
    `lacks` says the same in words."""

    corpus: str
    layer: str
    images: int
    chains: int
    boxes: int
    labels: int
    phrases: int
    mentions: int
    rounded: int
    clipped: int
    excluded: dict[str, int]
    lacks: tuple[str, ...]


@dataclass(slots=True)
class _Counts:
    images: int = 0
    chains: int = 0
    boxes: int = 0
    phrases: int = 0
    mentions: int = 0
    labels: set[str] = field(default_factory=set)

    def add(self, layer: LayerRecord) -> None:
        self.images += 1
        self.chains += len(layer.chains)
        self.boxes += sum(thing.box is not None for thing in layer.objects)
        self.mentions += len(layer.mentions)
        for chain in layer.chains:
            self.phrases += len(chain.phrases)
            self.labels.update([chain.label] if chain.label else ())


def import_layer(request: ImportLayerRequest, context: OperationContext) -> ImportedLayer:
    """Import a layer. Raises Invalid, LayerError, FormatError, AmbiguousName and Busy."""
    corpus = request.row()
    _check_name(request, corpus)
    if not request.file.exists():
        raise FormatError("does not exist", file=request.file, expected="a file or a folder")
    with _unpacked(request.file) as source:
        source_layer = _SourceLayer(corpus, request.format, source)
        try:
            write_layer(
                corpus=corpus,
                name=request.layer,
                source=IMPORT,
                records=source_layer.shares(confirmed=request.leave_unused),
                settings={"format": request.format, "file": request.file.name},
                replace=request.replace,
            )
        except (FormatError, LayerError) as error:
            if source == request.file:
                raise
            # People know their archive, not the folder it was unpacked to.
            raise LayerError(str(error).replace(str(source), str(request.file))) from error
    counts, changes = source_layer.counts, source_layer.changes
    return ImportedLayer(
        corpus=corpus.name,
        layer=request.layer,
        images=counts.images,
        chains=counts.chains,
        boxes=counts.boxes,
        labels=len(counts.labels),
        phrases=counts.phrases,
        mentions=counts.mentions,
        rounded=changes.rounded,
        clipped=changes.clipped,
        excluded=dict(changes.excluded),
        lacks=tuple(lacks_of_layer(changes.excluded)),
    )


def lacks_of_layer(excluded: Mapping[str, int]) -> Iterator[str]:
    """What a layer does not hold of its file, in words."""
    for word in _LACKS:
        if count := excluded.get(word, 0):
            yield str(_LACKS[word] % {"n": count})


def _check_name(request: ImportLayerRequest, corpus: Corpus) -> None:
    if request.layer in _RESERVED:
        message = _("Campaigns take the phrases of a corpus from layers of this name: choose another.")
        raise invalid("layer", "wrong", message=message)
    there = corpus.layers.filter(name=request.layer, published=True).first()
    if there is not None and (not request.replace or there.source == CAMPAIGN_SOURCE):
        raise invalid("layer", "taken", value=request.layer)


def _unpacked(path: Path) -> AbstractContextManager[Path]:
    workdir = Path(settings.DATA_DIR) / "uploads"
    workdir.mkdir(parents=True, exist_ok=True)
    return unpacked_source(path, workdir=workdir, unpack=partial(stream, unpack_archive))


class _SourceLayer:
    """A source's images as shares of a layer of a corpus; counts what they hold, and what they do not."""

    def __init__(self, corpus: Corpus, format: str, source: Path) -> None:
        self.corpus, self.format, self.source = corpus, format, source
        self.counts, self.changes = _Counts(), BoxChanges()
        self._names: ImageNames = names_of_images(corpus)
        self._examples: dict[str, list[str]] = {}

    def shares(self, *, confirmed: bool) -> Iterator[tuple[str, LayerRecord]]:
        """The shares in the order of the source. Raises Invalid at the end where something is left out and
        that is not `confirmed`, and LayerError where nothing is left."""
        read = stream(read_layer_records, self.format, self.source, tuple(FORMAT_FOLDERS.packages))
        for chunk in chunks(read, LAYER_IMAGES_PER_TRANSACTION):
            yield from self._shares(chunk)
        excluded = self.changes.excluded
        if not self.counts.images:
            what = "; ".join(self._in_words()) or _("the file has no annotated image")
            raise LayerError(_("Nothing is imported: %(what)s.") % {"what": what})
        if +excluded and not confirmed:
            message = _("Nothing is imported yet. Left out would be: %(what)s. Confirm that.")
            raise invalid("leave_unused", "wrong", message=message % {"what": "; ".join(self._in_words())})

    def _in_words(self) -> Iterator[str]:
        """What is left out, with the names of the first images."""
        for word in _LACKS:
            for text in lacks_of_layer({word: self.changes.excluded[word]}):
                named = ", ".join(self._examples.get(word, ()))
                yield f"{text} ({named})" if named else text

    def _shares(self, chunk: list[SourceImage]) -> Iterator[tuple[str, LayerRecord]]:
        items = [self._item(source) for source in chunk]
        rows = Image.objects.in_bulk([item for item in items if item is not None])
        captions: dict[int, list[CaptionRecord]] = {pk: [] for pk in rows}
        for row in Caption.objects.filter(image__in=rows).order_by("image_id", "number"):
            tokens = tuple(row.tokens.split()) if row.tokens else None
            captions[row.image_id].append(CaptionRecord(row.text, tokens))
        for source, item in zip(chunk, items, strict=True):
            if item is None:
                continue
            if (layer := self._layer(source, rows[item], captions[item])) is not None:
                self.counts.add(layer)
                self.changes.excluded.update(source.excluded)
                yield rows[item].key, layer

    def _item(self, source: SourceImage) -> int | None:
        """The image of the corpus that a source means; None, and counted, where it has none."""
        if not source.names:
            self.changes.excluded.update(source.excluded)
            return None
        for space, name in source.names:
            if (item := self._names.find(name, (space,))) is not None:
                return item
        self._leave_out(NotHeld.NO_IMAGE, source)
        return None

    def _layer(self, source: SourceImage, row: Image, captions: list[CaptionRecord]) -> LayerRecord | None:
        """The share of an image; None, and counted, where it is in the frame of another picture."""
        stated, size = (source.width, source.height), (row.width, row.height)
        if all((*stated, *size)) and stated != size:
            self._leave_out(NotHeld.OTHER_SIZE, source)
            return None
        if source.layer is not None:
            return source.layer
        return layer_of_boxes(source.boxes, size if all(size) else stated, captions, self.changes)

    def _leave_out(self, word: str, source: SourceImage) -> None:
        self.changes.excluded[word] += 1
        examples = self._examples.setdefault(word, [])
        if len(examples) < _NAMED:
            examples.append(short_repr(source.names[0][1]))
