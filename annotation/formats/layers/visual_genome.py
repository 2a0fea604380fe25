"""Visual Genome's region descriptions: a phrase for each box.

    region_descriptions.json [{"id": 1, "regions": [{"x": 1, "y": 1, "width": 9, "height": 9, "phrase": ""}]}]
    image_data.json          [{"image_id": 1, "width": 640, "height": 480, "coco_id": 7}]; may be missing

A picture is the file `ID.jpg`. With image_data.json, one that is also in COCO matches the image of that id in
the source, too. Source: Krishna et al. 2017, Visual Genome, and its published data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from annotation.formats.base import FORMATS, Format, SourceBox, SourceImage
from annotation.formats.fields import Fields
from annotation.formats.files.json_stream import items
from annotation.formats.names import only_file
from phrasebox.names import FILE, SOURCE
from phrasebox.text_files import FormatError

_DATA = "image_data.json"
_SHAPE = '[{"id": 1, "regions": [{"x": 0, "y": 0, "width": 10, "height": 20, "phrase": "a dog"}]}]'


class _Picture(NamedTuple):
    width: int
    height: int
    coco: str


class VisualGenome(Format):
    """Boxes with the phrase that describes each."""

    key = "visual_genome"
    title = "Visual Genome region descriptions; a layer of a corpus"
    reads_layers = True

    def read_layer(self, path: Path) -> Iterator[SourceImage]:
        """Yield the images with their regions."""
        file = only_file(path, "region_descriptions*.json")
        pictures = _pictures(file.parent / _DATA)
        number = 0
        for number, value in enumerate(items(file, "item"), 1):
            entry = Fields(value, what=f"image {number}", file=file)
            id = entry.identifier("id" if "id" in entry.value else "image_id")
            boxes = tuple(
                _box(Fields(region, what=f"image {id}, region {at}", file=file))
                for at, region in enumerate(entry.list("regions"), 1)
            )
            picture = pictures.get(id, _Picture(0, 0, ""))
            names = ((FILE, f"{id}.jpg"), *(((SOURCE, picture.coco),) if picture.coco else ()))
            yield SourceImage(names, picture.width, picture.height, boxes)
        if not number:
            raise FormatError("holds no images", file=file, expected=_SHAPE)


def _pictures(file: Path) -> dict[str, _Picture]:
    pictures = {}
    for number, value in enumerate(items(file, "item") if file.is_file() else (), 1):
        entry = Fields(value, what=f"image {number}", file=file)
        coco = entry.value.get("coco_id")
        size = entry.integer("width"), entry.integer("height")
        pictures[entry.identifier("image_id")] = _Picture(*size, "" if coco is None else str(coco))
    return pictures


def _box(region: Fields) -> SourceBox:
    x, y, width, height = (region.number(side) for side in ("x", "y", "width", "height"))
    return SourceBox(x, y, x + width, y + height, phrases=(region.text("phrase"),))


FORMATS.register(VisualGenome.key, VisualGenome())
