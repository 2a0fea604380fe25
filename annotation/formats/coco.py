"""COCO: captions read and written, and chains with their boxes written as COCO detection.

Source of the notation: the COCO data format (captions and object instances).
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.formats.base import FORMATS, Format, SourceImage, Written, report_problem
from annotation.formats.checks import LocatedRecord, checked_records, writable
from annotation.formats.fields import Fields, Numbering
from annotation.formats.files.json_stream import has_list, items
from annotation.formats.files.spool import Spool, SpooledCaption
from annotation.formats.jsonl import layer_of_row, layer_row
from annotation.formats.layers.coco_instances import instances_of
from annotation.formats.layers.exports import box_entries, first_category
from annotation.formats.names import Pictures, only_file, path_in_source
from annotation.protocol.terms import (
    CATEGORIES,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerRecord,
)
from phrasebox.balance import CAPTIONS, NAMED_IMAGES, OF_LEFT, current_tally
from phrasebox.text.tokens import tokenise
from phrasebox.text_files import FormatError, open_new, short_repr

_SHAPE = (
    '{"images": [{"id": 1, "file_name": ...}], "annotations": [{"id": 1, "image_id": 1, "caption": ...}]}'
)
_CAPTIONS = "captions.json"
_INSTANCES = "instances.json"
_INFO = {"description": "Exported by Phrasebox"}
#: Our own entry of an image in captions files, which other readers ignore: its layer in the form of the
#: format jsonl, and the words of captions that our tokeniser splits differently.
_OURS = "phrasebox"


class Coco(Format):
    """Captions, sizes, ids and our layers are read and written; boxes are also written as detections, one
    annotation per box and chain."""

    key = "coco"
    title = "COCO captions JSON, with COCO instances beside it; a layer of a corpus is of instances alone"
    reads = True
    writes = True
    loading = 'from pycocotools.coco import COCO\ncaptions = COCO("captions.json")'
    reads_layers = True
    says = frozenset({"sizes", "external_ids", "caption_ids", "words", "layers", "labels", "model_boxes"})

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        """Yield the records of a captions file in the order of its images; our tokeniser splits captions,
        unless the file has words."""
        return checked_records(self._located(path, images), source=path, expected=_SHAPE)

    def _located(self, path: Path, images: Path | None) -> Iterator[LocatedRecord]:
        file = path / _CAPTIONS if (path / _CAPTIONS).is_file() else only_file(path, "captions*.json")
        pictures = Pictures(images)
        with Spool(file) as spool:
            self._fill(spool, file)
            for key, data, _, captions in spool:
                filename, width, height, ours = json.loads(data)
                try:
                    picture = pictures.find(filename)
                    caption_records, layer = _with_ours(ours, captions, filename, file)
                except FormatError as error:
                    report_problem(error, captions=len(captions))
                    continue
                record = ImageRecord(
                    id="",
                    filename=filename,
                    captions=caption_records,
                    layer=layer,
                    width=width,
                    height=height,
                    picture=picture,
                    external_id=key,
                )
                if layer is not None:  # it contains the boxes of our detections
                    current_tally().opened.add(str(file.parent / _INSTANCES))
                yield record, file, None

    @staticmethod
    def _fill(spool: Spool, file: Path) -> None:
        tally = current_tally()
        refused: set[str] = set()
        for name in ("images", "annotations"):
            number = 0
            for number, item in enumerate(items(file, f"{name}.item"), 1):
                try:
                    entry = Fields(item, what=f"{name.removesuffix('s')} {number}", file=file)
                    _ADD[name](spool, entry, number)
                except FormatError as error:
                    if name == "images" and isinstance(item, dict):
                        refused.add(str(item.get("id")))
                    elif isinstance(item, dict) and str(item.get("image_id")) in refused:
                        tally.pass_over(CAPTIONS, OF_LEFT)  # it follows from the error of its image
                        continue
                    report_problem(error, NAMED_IMAGES if name == "images" else CAPTIONS)
            if not number and not has_list(file, name):
                raise FormatError(f'has no list "{name}"', file=file, expected=_SHAPE)
        for image, caption in spool.orphans():
            if image in refused:
                tally.pass_over(CAPTIONS, OF_LEFT)
                continue
            report_problem(
                FormatError(
                    f"annotation {caption or '?'} is of the image {image}, which is not among the images",
                    file=file,
                    expected='an "id" of "images" in every "image_id"',
                ),
                CAPTIONS,
            )

    def read_layer(self, path: Path) -> Iterator[SourceImage]:
        return instances_of(path)

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write `captions.json`, and `instances.json` with the images that a layer covers, if any.

        Ids are replaced by running numbers if the first is no whole number. Raises FormatError if the first
        is one, and a later one is none, or occurs twice.
        """
        written = Written(files=[out / _CAPTIONS])
        classes = _Classes()
        image_numbers, caption_numbers = Numbering(unique=True), Numbering(unique=True)
        layers = False
        with (
            _Document(out / _CAPTIONS) as captions,
            _Document(out / _INSTANCES, classes.categories) as instances,
        ):
            for record in writable(records, out, format=self, written=written):
                try:
                    number = image_numbers.number(record.external_id)
                    ids = [caption_numbers.number(caption.id) for caption in record.captions]
                except ValueError as error:
                    raise FormatError(
                        f"image {short_repr(record.id)} (or a caption of it) {error}",
                        file=out / _CAPTIONS,
                        expected="whole numbers in all, each once, or in none; or the format jsonl",
                    ) from error
                image = {
                    "id": number,
                    "file_name": record.filename,
                    "width": record.width,
                    "height": record.height,
                }
                captions.image({**image, **_ours(record)})
                written.leave_out("external_ids", record.external_id not in ("", str(number)))
                for id, caption in zip(ids, record.captions, strict=True):
                    text = caption.text.strip()
                    captions.annotation({"id": id, "image_id": number, "caption": text})
                    written.leave_out("caption_ids", caption.id not in ("", str(id)))
                written.add("images")
                written.add("captions", len(record.captions))
                if record.layer is not None:
                    layers = True
                    instances.image(image)
                    for entry in _instances(record.layer, classes):
                        instances.annotation(
                            {"id": written.counts.get("boxes", 0) + 1, "image_id": number, **entry}
                        )
                        written.add("boxes")
        if layers:
            written.files.append(out / _INSTANCES)
        else:
            (out / _INSTANCES).unlink()
        return written


def _add_image(spool: Spool, entry: Fields, number: int) -> None:
    size = (entry.integer("width", 0), entry.integer("height", 0))
    data = json.dumps((path_in_source(entry.text("file_name")), *size, entry.value.get(_OURS)))
    if spool.add_image(entry.identifier("id"), data) is not None:
        raise entry.refuse(f"the id {entry.identifier('id')} is taken", "each id once")


def _add_caption(spool: Spool, entry: Fields, number: int) -> None:
    text = entry.text("caption").strip()
    if not text:
        raise entry.refuse("the caption is empty", "a sentence")
    image, id = entry.identifier("image_id"), entry.identifier("id", "")
    spool.add_caption(image, number, text, id=id or None)


#: How an entry of each list is added to the spool; `number` is its position in the list, from 1.
_ADD = {"images": _add_image, "annotations": _add_caption}


def _ours(record: ImageRecord) -> dict[str, Any]:
    """Return an image's fields besides those of COCO."""
    words = [None if c.words == tokenise(c.text.strip()) else c.words for c in record.captions]
    ours: dict[str, Any] = {"words": words} if any(words) else {}
    if record.layer is not None:
        ours["layer"] = layer_row(record.layer)
    return {_OURS: ours} if ours else {}


def _with_ours(
    ours: Any, captions: list[SpooledCaption], filename: str, file: Path
) -> tuple[tuple[CaptionRecord, ...], LayerRecord | None]:
    """Return the captions and the layer of an image from the entry of `_ours`, or of another program. Raises
    FormatError."""
    if not ours:
        return tuple(_caption(caption.text, caption.id or "") for caption in captions), None
    entry = Fields(ours, what=f"image {short_repr(filename)}", file=file)
    entry.only("words", "layer")
    words = entry.list("words", [None for _ in captions])
    if len(words) != len(captions):
        raise entry.refuse(f"has words for {len(words)} captions", f"a list for each of {len(captions)}")
    records = []
    for caption, cut in zip(captions, words, strict=True):
        tokens = Fields({"words": cut}, what=entry.what, file=file).strings("words") if cut else None
        records.append(_caption(caption.text, caption.id or "", tokens))
    layer = entry.value.get("layer")
    if layer is None:
        return tuple(records), None
    return tuple(records), layer_of_row(Fields(layer, what=entry.what, file=file), tuple(records))


def _caption(text: str, id: str, cut: tuple[str, ...] | None = None) -> CaptionRecord:
    words = tokenise(text) if cut is None else cut
    return CaptionRecord(text, tokens=None if words == tuple(text.split()) else words, id=id)


class _Classes:
    """The categories of an instances file: those of the protocol, then labels in order of occurrence."""

    def __init__(self) -> None:
        self.categories = [
            {"id": n, "name": name, "supercategory": "entity"} for n, name in enumerate(CATEGORIES, 1)
        ]
        self._labels: dict[str, int] = {}

    def number(self, chain: Chain) -> int:
        """Return the category of a chain: its label's, else its first in the order of CATEGORIES, `other` if
        it has none."""
        if not chain.label:
            return CATEGORIES.index(first_category(chain)) + 1
        if chain.label not in self._labels:
            self._labels[chain.label] = len(self.categories) + 1
            self.categories.append(
                {"id": self._labels[chain.label], "name": chain.label, "supercategory": ""}
            )
        return self._labels[chain.label]


def _instances(layer: LayerRecord, classes: _Classes) -> Iterator[dict[str, Any]]:
    """Yield one detection per box and chain, in file order. `bbox` is x, y, width, height with x, y from 0.

    `attributes`, as in CVAT, mark the boxes that a model annotator drew.
    """
    for entry in box_entries(layer):
        box, chain = entry.box, entry.chain
        yield {
            "category_id": classes.number(chain),
            "bbox": [box.xmin - 1, box.ymin - 1, box.width, box.height],
            "area": box.area,
            "iscrowd": 0,
            "chain": chain.id,
            **({"region": entry.region} if entry.region else {}),
            **({"phrases": chain.phrases} if chain.phrases else {}),
            **({"attributes": {"by_model": True}} if entry.by_model else {}),
        }


class _Document:
    """A COCO file written in one pass: images are written directly, annotations to a temporary file first.
    Its `categories`, if any, are written last."""

    def __init__(self, path: Path, categories: list[dict[str, Any]] | None = None) -> None:
        self._images, self._categories = open_new(path), categories
        self._annotations = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")
        self._images.write(json.dumps({"info": _INFO})[:-1] + ', "images": [')
        self._separators = {"image": "\n", "annotation": "\n"}

    def image(self, entry: dict[str, Any]) -> None:
        self._images.write(self._separators["image"] + json.dumps(entry))
        self._separators["image"] = ",\n"

    def annotation(self, entry: dict[str, Any]) -> None:
        self._annotations.write(self._separators["annotation"] + json.dumps(entry))
        self._separators["annotation"] = ",\n"

    def __enter__(self) -> _Document:
        return self

    def __exit__(self, *error: object) -> None:
        with self._images, self._annotations:
            self._images.write('\n], "annotations": [')
            self._annotations.seek(0)
            shutil.copyfileobj(self._annotations, self._images)
            self._images.write("\n]")
            if self._categories is not None:
                self._images.write(f',\n"categories": {json.dumps(self._categories)}')
            self._images.write("}\n")


FORMATS.register(Coco.key, Coco())
