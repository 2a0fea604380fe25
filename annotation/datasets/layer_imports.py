"""Import layers of other tools: a file of boxes, labels and phrases becomes a layer of an existing corpus.

All of it is written, or nothing. What the layer cannot store is counted by reason; unless that is confirmed,
nothing is written.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.common.database import chunks
from annotation.common.operations import (
    LEAVE_UNUSED,
    FileUpload,
    Help,
    Named,
    OneOf,
    OperationContext,
    check_used,
    invalid,
    sheet_text,
    with_sheet,
)
from annotation.common.readers import stream
from annotation.datasets.contents.corpus_summaries import CorpusRequest
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
from annotation.formats.layers.conversion import BoxChanges, layer_of_boxes
from annotation.formats.layers.frames import (
    EITHER,
    RAW,
    UPRIGHT,
    frame_of,
    has_boxes,
    upright_box,
    upright_layer,
)
from annotation.formats.source_records import read_layer_records
from annotation.models import Caption, Corpus, Image
from annotation.protocol.terms import CaptionRecord, LayerRecord
from annotation.selectors.corpora import names_of_images
from phrasebox.balance import (
    BOXES,
    EXAMPLES,
    NAMED_IMAGES,
    NO_AREA,
    OF_LEFT,
    OTHER_SIZE,
    OUTSIDE,
    RAW_FRAME,
    UNKNOWN,
    BalanceSheet,
    current_tally,
)
from phrasebox.names import ImageNames
from phrasebox.text_files import FormatError

#: Reserved names of layers from which campaigns take the phrases of a corpus.
_RESERVED = ("gold", IMPORT)


def _formats() -> dict[str, str]:
    return {entry.key: entry.title for entry in FORMATS if entry.reads_layers}


def _frames() -> dict[str, Any]:
    return {
        UPRIGHT: gettext_lazy("the picture turned upright"),
        RAW: gettext_lazy("the picture as its file has it"),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLayerRequest(CorpusRequest):
    """All of it, or nothing. Boxes with their labels and phrases are stored; other contents are counted, and
    nothing is stored until that is confirmed."""

    layer: Annotated[str, Named(), Help(gettext_lazy("Name of the layer"))]
    file: Annotated[
        Path,
        FileUpload(),
        Help(gettext_lazy("File"), gettext_lazy("Or a zip or tar archive of what belongs together")),
    ]
    format: Annotated[str, OneOf(_formats), Help(gettext_lazy("Format"))]
    frame: Annotated[
        Annotated[str, OneOf(_frames, none=gettext_lazy("As sizes show"))] | None,
        Help(
            gettext_lazy("Frame of boxes"),
            gettext_lazy("Of pictures that EXIF turns, where their size in the file does not tell"),
        ),
    ] = None
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    replace: Annotated[
        bool, Help(gettext_lazy("Replace"), gettext_lazy("Put it in the place of a layer of that name"))
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLayer:
    """An imported layer: numbers of its `images` and distinct `labels`. Boxes were `rounded` to whole pixels,
    `clipped` to their picture. `sheet`: the balance sheet."""

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
    sheet: BalanceSheet = BalanceSheet()


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


@with_sheet
def import_layer(request: ImportLayerRequest, context: OperationContext) -> ImportedLayer:
    """Import a layer. Raises Invalid, LayerError, FormatError, AmbiguousName and Busy."""
    corpus = request.row()
    _check_name(request, corpus)
    if not request.file.exists():
        raise FormatError("does not exist", file=request.file, expected="a file or a folder")
    with _unpacked(request.file) as source:
        source_layer = _SourceLayer(corpus, request.format, source, request.frame)
        shares = source_layer.shares(leave_unused=request.leave_unused)
        try:
            write_layer(
                corpus=corpus,
                name=request.layer,
                source=IMPORT,
                records=context.progress_of("importing", corpus.image_count)(shares),
                settings={"format": request.format, "file": request.file.name},
                replace=request.replace,
            )
        except (FormatError, LayerError) as error:
            if source == request.file:
                raise
            # The message must contain the user's archive, not the temporary folder.
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
    )


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
    """A source's images as parts of a corpus's layer; counts what it uses, and what it does not."""

    def __init__(self, corpus: Corpus, format: str, source: Path, frame: str | None) -> None:
        self.corpus, self.format, self.source, self.frame = corpus, format, source, frame
        self.counts, self.changes = _Counts(), BoxChanges()
        self._of_either_frame: list[str] = []
        self._names: ImageNames = names_of_images(corpus)

    def shares(self, *, leave_unused: bool) -> Iterator[tuple[str, LayerRecord]]:
        """Yield the parts in the order of the source. Raises Invalid at the end if the frame of boxes is
        unknown, or if something is left without confirmation, and LayerError if no image is used."""
        packages, data_dir = tuple(FORMAT_FOLDERS.packages), str(settings.DATA_DIR)
        read = stream(read_layer_records, self.format, self.source, packages, data_dir)
        for chunk in chunks(read, LAYER_IMAGES_PER_TRANSACTION):
            yield from self._shares(chunk)
        sheet = current_tally().sheet()
        if not self.counts.images:
            message = _("Nothing is imported, as no annotated image is taken: %(what)s.")
            raise LayerError(message % {"what": "; ".join(sheet_text(sheet))})
        if names := self._of_either_frame:
            message = _(
                "EXIF turned %(count)s of the pictures with boxes, and their sizes do not tell whether boxes "
                "are of the upright picture or of the picture as its file has it (%(names)s). Say which."
            )
            examples = ", ".join(names[:EXAMPLES]) + (", …" if len(names) > EXAMPLES else "")
            raise invalid("frame", "wrong", message=message % {"count": len(names), "names": examples})
        check_used(sheet, leave_unused=leave_unused)

    def _shares(self, chunk: list[SourceImage]) -> Iterator[tuple[str, LayerRecord]]:
        items = [self._item(source) for source in chunk]
        rows = Image.objects.in_bulk([item for item in items if item is not None])
        captions: dict[int, list[CaptionRecord]] = {pk: [] for pk in rows}
        for row in Caption.objects.filter(image__in=rows).order_by("image_id", "number"):
            tokens = tuple(row.tokens.split()) if row.tokens else None
            captions[row.image_id].append(CaptionRecord(row.text, tokens))
        for source, item in zip(chunk, items, strict=True):
            if item is None:
                _leave(source, UNKNOWN)
            elif (layer := self._layer(source, rows[item], captions[item])) is None:
                _leave(source, OTHER_SIZE)
            else:
                self._take(source, layer)
                yield rows[item].key, layer

    def _item(self, source: SourceImage) -> int | None:
        """Return the corpus's image for a source's; None if there is none."""
        items = (self._names.find(name, (space,)) for space, name in source.names)
        return next((item for item in items if item is not None), None)

    def _layer(self, source: SourceImage, row: Image, captions: list[CaptionRecord]) -> LayerRecord | None:
        """Return the part of an image; None if its frame is that of another picture."""
        stated, size = (source.width, source.height), (row.width, row.height)
        frame = frame_of(stated, size, row.orientation)
        if frame is None:
            return None
        if frame == EITHER and (source.boxes or has_boxes(source.layer)):
            frame = self.frame
            if frame is None:
                self._of_either_frame.append(row.filename)
        raw = frame == RAW
        current_tally().note(RAW_FRAME, raw, row.filename)
        if source.layer is not None:
            return upright_layer(source.layer, size, row.orientation) if raw else source.layer
        boxes = [upright_box(box, size, row.orientation) for box in source.boxes] if raw else source.boxes
        return layer_of_boxes(boxes, size if all(size) else stated, captions, self.changes)

    def _take(self, source: SourceImage, layer: LayerRecord) -> None:
        """Count an image as used, and the changes of its boxes."""
        tally, changes = current_tally(), self.changes
        self.counts.add(layer)
        tally.count(NAMED_IMAGES)
        tally.take(NAMED_IMAGES)
        drawn = len(source.boxes) if source.layer is None else sum(o.box is not None for o in layer.objects)
        left = {OUTSIDE: changes.outside, NO_AREA: changes.empty}
        changes.outside = changes.empty = 0
        tally.count(BOXES, drawn)
        tally.take(BOXES, drawn - sum(left.values()))
        for reason, number in left.items():
            tally.leave(BOXES, reason, number, source.names[0][1])


def _leave(source: SourceImage, reason: str) -> None:
    """Count an image as left, with its boxes."""
    tally = current_tally()
    tally.pass_over(NAMED_IMAGES, reason, 1, source.names[0][1])
    tally.pass_over(BOXES, OF_LEFT, len(source.boxes))
