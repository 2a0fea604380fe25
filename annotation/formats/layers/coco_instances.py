"""COCO instances: boxes with classes from a list, in any order. The format `coco` reads and writes them.

Extensions are read if present: `chain`, `region` and `phrases` of a box are ours, `attributes` is CVAT's.
Source of the notation: the COCO data format (object detection).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.formats.base import SourceBox, SourceImage
from annotation.formats.fields import Fields
from annotation.formats.files.json_stream import has_list, items
from annotation.formats.files.spool import Spool
from annotation.formats.layers.contents import BOX_CHAIN, BOX_PHRASE, BOX_REGION, pass_over
from annotation.formats.names import only_file, path_in_source
from phrasebox import balance
from phrasebox.names import FILE, SOURCE, image_id
from phrasebox.text_files import FormatError

_SHAPE = (
    '{"images": [{"id": 1, "file_name": ...}], "categories": [{"id": 1, "name": ...}], '
    '"annotations": [{"image_id": 1, "category_id": 1, "bbox": [x, y, width, height]}]}'
)
#: Names of COCO's own pictures end in their id there, padded with zeros.
_NUMBERED = re.compile(r"(?:.*_)?0*(\d+)")


def instances_of(path: Path) -> Iterator[SourceImage]:
    """Yield the images of an instances file, or of a folder's only `instances*.json`, with their boxes."""
    file = only_file(path, "instances*.json", "*instances*.json")
    labels = category_names(file)
    with Spool(file) as spool:
        for number, value in enumerate(items(file, "images.item"), 1):
            entry = Fields(value, what=f"image {number}", file=file)
            id, name = entry.identifier("id"), path_in_source(entry.text("file_name"))
            data = json.dumps((name, entry.integer("width", 0), entry.integer("height", 0)))
            if spool.add_image(id, data) is not None:
                raise entry.refuse(f"the id {id} is taken", "each id once")
        number = 0
        for number, value in enumerate(items(file, "annotations.item"), 1):
            entry = Fields(value, what=f"annotation {number}", file=file)
            if value.get("iscrowd") == 1:
                pass_over(balance.CROWDS)
                continue
            content = json.dumps(_content(entry, labels), ensure_ascii=False)
            spool.add_caption(entry.identifier("image_id"), number, content)
        for name in () if number else ("images", "annotations"):
            if not has_list(file, name):
                raise FormatError(f'has no list "{name}"', file=file, expected=_SHAPE)
        if orphan := next(spool.orphans(), None):
            raise FormatError(
                f"an annotation is of the image {orphan[0]}, which is not among the images",
                file=file,
                expected='an "id" of "images" in every "image_id"',
            )
        for id, data, _, annotations in spool:
            filename, width, height = json.loads(data)
            boxes = []
            for annotation in annotations:
                content = json.loads(annotation.text)
                boxes.append(SourceBox(**{**content, "phrases": tuple(content["phrases"])}))
            yield SourceImage(names_of_file(filename, id), width, height, tuple(boxes))


def names_of_file(filename: str, id: str) -> tuple[tuple[str, str], ...]:
    """Return the names of an image of COCO: its file name, and its id if that is the number in the file name.

    Ids in other tools' files only count their entries.
    """
    numbered = _NUMBERED.fullmatch(image_id(filename))
    return ((FILE, filename), *(((SOURCE, id),) if numbered and numbered[1] == id else ()))


def category_names(file: Path) -> dict[str, str]:
    """Return the classes of a file by their id."""
    labels = {}
    for number, value in enumerate(items(file, "categories.item"), 1):
        entry = Fields(value, what=f"category {number}", file=file)
        labels[entry.identifier("id")] = entry.text("name")
    return labels


def label_in(entry: Fields, labels: Mapping[str, str]) -> str:
    """Return the class of an annotation; "" if it has none."""
    id = entry.identifier("category_id", "")
    if id and id not in labels:
        raise entry.refuse(f"the category {id} is not among the categories", "an id of the list")
    return labels.get(id, "")


def bbox_edges(entry: Fields) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of `bbox`."""
    bbox = entry.list("bbox")
    numbers = all(type(side) in (int, float) and math.isfinite(side) for side in bbox)
    if len(bbox) != 4 or not numbers:
        raise entry.refuse(f"'bbox' is {str(bbox)[:60]}", "four numbers: x, y, width, height")
    x, y, width, height = map(float, bbox)
    return x, y, x + width, y + height


def _content(entry: Fields, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of an annotation's SourceBox."""
    value = entry.value
    pass_over(balance.OUTLINES, bool(value.get("segmentation")))
    pass_over(balance.POINTS, bool(value.get("keypoints")))
    phrases = list(entry.strings("phrases")) if "phrases" in value else []
    by_model = False
    attributes = value.get("attributes") or {}
    for name, content in Fields(attributes, what=entry.what, file=entry.file).value.items():
        if name == "by_model" and content is True:
            by_model = True
        elif name == BOX_PHRASE and isinstance(content, str):
            phrases.append(content)
        elif name == "rotation":
            pass_over(balance.ROTATIONS, bool(content))
        elif content or name != "occluded":
            pass_over(balance.ATTRIBUTES)
    ours = (value.get(name) for name in (BOX_CHAIN, BOX_REGION))
    chain, region = (text if isinstance(text, str) else "" for text in ours)
    edges = zip(("left", "top", "right", "bottom"), bbox_edges(entry), strict=True)
    return {
        **dict(edges),
        "label": label_in(entry, labels),
        "phrases": phrases,
        "chain": chain,
        "region": region,
        "by_model": by_model,
    }
