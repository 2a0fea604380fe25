"""Label Studio's JSON export: a list of tasks, each with a picture and its annotations.

    [{"data": {"image": "/data/upload/1/3f2a9c1b-a.jpg"}, "annotations": [{"result": [
        {"id": "r1", "type": "rectanglelabels", "original_width": 640, "original_height": 480,
         "value": {"x": 10, "y": 20, "width": 30, "height": 40, "rectanglelabels": ["dog"]}}]}]}]

Sides are per cent of the picture's. A text area of a region contains its phrases. Of several annotations of a
task the ground truth counts, else the first that was not cancelled. `chain` and `region` in `meta` are our
extensions: boxes of one thing, and one box of several. A rotated box becomes the upright one around it.
Source of the notation: the documentation of Label Studio, export formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from annotation.formats.base import FORMATS, Format, SourceBox, SourceImage, Written
from annotation.formats.checks import writable
from annotation.formats.fields import Fields
from annotation.formats.files.json_stream import items
from annotation.formats.layers.contents import BOX_CHAIN, BOX_REGION, pass_over
from annotation.formats.layers.exports import BoxEntry, box_entries, leave_out_of_boxes
from annotation.formats.layers.frames import around_turned
from annotation.formats.names import only_file, path_in_source
from annotation.protocol.terms import ImageRecord
from phrasebox import balance
from phrasebox.names import FILE, extension
from phrasebox.text_files import FormatError, open_new, short_repr

_FILE = "label_studio.json"
_SHAPE = '[{"data": {"image": ...}, "annotations": [{"result": [...]}]}]: the export JSON, not JSON-MIN'
#: Label Studio's prefix of an uploaded file's name.
_UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
_RECTANGLES = ("rectanglelabels", "rectangle")
#: Types of results that are no boxes, and the word under which they are counted.
_SHAPES = {
    "polygonlabels": balance.OUTLINES,
    "polygon": balance.OUTLINES,
    "brushlabels": balance.MASKS,
    "brush": balance.MASKS,
    "bitmask": balance.MASKS,
    "bitmasklabels": balance.MASKS,
    "keypointlabels": balance.POINTS,
    "keypoint": balance.POINTS,
    "ellipselabels": balance.ELLIPSES,
    "ellipse": balance.ELLIPSES,
    "vectorlabels": balance.LINES,
    "vector": balance.LINES,
    "relation": balance.RELATIONS,
}


class LabelStudio(Format):
    """Boxes with labels and phrases; each task has the captions as data."""

    key = "label_studio"
    title = "Label Studio JSON; a layer of a corpus"
    writes = True
    loading = 'import json\ntasks = json.load(open("label_studio.json"))'
    reads_layers = True
    says = frozenset({"sizes", "layers", "labels", "model_boxes"})

    def read_layer(self, path: Path) -> Iterator[SourceImage]:
        """Yield the tasks of a file, or of a folder's only JSON file."""
        file = only_file(path, "*.json")
        number = 0
        for number, value in enumerate(items(file, "item"), 1):
            image = _image(Fields(value, what=f"task {number}", file=file))
            if image is not None:
                yield image
        if not number:
            raise FormatError("holds no tasks", file=file, expected=_SHAPE)

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write the tasks; images that the layer does not cover have no annotation."""
        written = Written(files=[out / _FILE])
        with open_new(out / _FILE) as file:
            for number, record in enumerate(writable(records, out, format=self, written=written), 1):
                captions = [caption.text for caption in record.captions]
                annotations = []
                if record.layer is not None:
                    leave_out_of_boxes(record.layer, written)
                    entries = list(box_entries(record.layer))
                    if entries and not (record.width and record.height):
                        raise FormatError(
                            f"the size of image {short_repr(record.id)} is not known, and boxes are per cent "
                            "of it",
                            file=out / _FILE,
                            expected="pictures, or the format coco",
                        )
                    result = [part for at, entry in enumerate(entries) for part in _result(at, entry, record)]
                    written.add("boxes", len(entries))
                    annotations = [{"id": number, "was_cancelled": False, "result": result}]
                data = {"image": record.filename, "captions": captions}
                task = {"id": number, "data": data, "annotations": annotations}
                file.write(("[\n" if number == 1 else ",\n") + json.dumps(task, ensure_ascii=False))
                written.add("images")
                written.add("captions", len(captions))
            file.write("\n]\n")
        return written


def _image(task: Fields) -> SourceImage | None:
    pass_over(balance.PREDICTIONS, len(task.list("predictions", [])))
    annotations = [
        Fields(value, what=task.what, file=task.file)
        for value in task.list("annotations")
        if not (isinstance(value, dict) and value.get("was_cancelled"))
    ]
    if not annotations:
        return None
    pass_over(balance.FURTHER_ANNOTATIONS, len(annotations) - 1)
    chosen = next((row for row in annotations if row.value.get("ground_truth") is True), annotations[0])
    results = [Fields(value, what=task.what, file=task.file) for value in chosen.list("result")]
    phrases: dict[str, list[str]] = {}
    rectangles = {row.text("id", "") for row in results if row.text("type", "") in _RECTANGLES}
    for row in results:
        if row.text("type", "") == "textarea" and row.text("id", "") in rectangles:
            texts = _value(row).value.get("text", [])
            phrases.setdefault(row.text("id"), []).extend([texts] if isinstance(texts, str) else texts)
    boxes: list[SourceBox] = []
    width = height = 0
    for row in results:
        kind = row.text("type", "")
        if kind in _RECTANGLES:
            width, height = row.integer("original_width"), row.integer("original_height")
            boxes += _boxes(row, (width, height), tuple(phrases.get(row.text("id", ""), ())))
        elif kind in _SHAPES:
            pass_over(_SHAPES[kind])
        elif row.text("id", "") not in rectangles:
            pass_over(balance.IMAGE_LABELS)
        elif kind != "textarea":
            pass_over(balance.ATTRIBUTES)
    return SourceImage(tuple(_names(task)), width, height, tuple(boxes))


def _names(task: Fields) -> Iterator[tuple[str, str]]:
    """Yield the file names by which a task may name its picture; last, that of its upload without its
    prefix."""
    data = Fields(task.value.get("data"), what=task.what, file=task.file)
    texts = [value for value in data.value.values() if isinstance(value, str)]
    image = data.value.get("image")
    address = image if isinstance(image, str) else next(filter(extension, map(_path, texts)), None)
    if address is None:
        raise task.refuse("has no picture in its data", _SHAPE)
    path = path_in_source(_path(address))
    yield FILE, path
    name = path.rpartition("/")[2]
    if _UPLOADED.match(name):
        yield FILE, _UPLOADED.sub("", name, count=1)


def _path(address: str) -> str:
    """Return the path in an address of a picture: of a local file, of a storage, or of the web."""
    parts = urlsplit(address) if "://" in address or "?d=" in address else None
    if parts is None:
        return unquote(address)
    local = parse_qs(parts.query).get("d")
    return local[0] if local else unquote(parts.path)


def _value(row: Fields) -> Fields:
    return Fields(row.value.get("value"), what=row.what, file=row.file)


def _boxes(row: Fields, size: tuple[int, int], phrases: tuple[str, ...]) -> Iterator[SourceBox]:
    """Yield the box of a result, once for each of its labels."""
    value = _value(row)
    shares = (value.number(side) for side in ("x", "y", "width", "height"))
    x, y, wide, high = (share * side / 100 for share, side in zip(shares, (*size, *size), strict=True))
    rotation = value.value.get("rotation") or 0
    edges = (x, y, x + wide, y + high)
    if type(rotation) in (int, float) and rotation % 360:
        pass_over(balance.ROTATIONS)
        edges = around_turned(edges, rotation, (x, y))
    meta: Any = row.value.get("meta")
    ours: Mapping[str, Any] = meta if isinstance(meta, dict) else {}
    chain, region = (
        text if isinstance(text := ours.get(name), str) else "" for name in (BOX_CHAIN, BOX_REGION)
    )
    labels = value.strings("rectanglelabels") if "rectanglelabels" in value.value else ()
    if len(labels) > 1:
        region = region or row.text("id", "")
    for label in labels or ("",):
        by_model = row.value.get("origin") == "prediction"
        yield SourceBox(*edges, label, phrases, chain, region, by_model)


def _result(number: int, entry: BoxEntry, record: ImageRecord) -> Iterator[dict[str, Any]]:
    """Yield the results of a box: the rectangle, and its phrases."""
    box, size = entry.box, {"original_width": record.width, "original_height": record.height}
    geometry = {
        "x": 100 * (box.xmin - 1) / record.width,
        "y": 100 * (box.ymin - 1) / record.height,
        "width": 100 * box.width / record.width,
        "height": 100 * box.height / record.height,
        "rotation": 0,
    }
    shared = {"id": f"box{number}", "to_name": "image", "image_rotation": 0, **size}
    meta = {BOX_CHAIN: entry.chain.id, **({BOX_REGION: entry.region} if entry.region else {})}
    yield {
        **shared,
        "type": "rectanglelabels",
        "from_name": "label",
        "origin": "prediction" if entry.by_model else "manual",
        "value": {**geometry, "rectanglelabels": [entry.label]},
        "meta": meta,
    }
    if entry.phrases:
        text = {**geometry, "text": list(entry.phrases)}
        yield {**shared, "type": "textarea", "from_name": "phrase", "origin": "manual", "value": text}


FORMATS.register(LabelStudio.key, LabelStudio())
