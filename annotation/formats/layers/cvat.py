"""CVAT for images 1.1: boxes with labels and attributes, in annotations.xml.

    <image id="0" name="a.jpg" width="640" height="480">
      <box label="dog" source="manual" occluded="0" xtl="10.00" ytl="20.00" xbr="110.50" ybr="220.00">
        <attribute name="phrase">a brown dog</attribute>
      </box>
    </image>

Attributes named `phrase` are phrases. `chain` and `region` are our extensions: boxes of one thing, and one
box of several. A rotated box becomes the upright one around it. Source of the notation: the manual of CVAT,
annotation formats.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import escape, quoteattr

import defusedxml.ElementTree
from defusedxml.common import DefusedXmlException

from annotation.formats.base import FORMATS, Format, SourceBox, SourceImage, Written
from annotation.formats.checks import writable
from annotation.formats.layers.contents import BOX_CHAIN, BOX_PHRASE, BOX_REGION, pass_over
from annotation.formats.layers.exports import BoxEntry, box_entries, leave_out_of_boxes
from annotation.formats.layers.frames import around_turned
from annotation.formats.names import only_file, path_in_source
from annotation.protocol.terms import ImageRecord
from phrasebox import balance
from phrasebox.names import FILE
from phrasebox.text_files import FormatError, decimal_number, open_bytes, open_new, short_repr

_FILE = "annotations.xml"
_SHAPE = "an export “CVAT for images 1.1” with <image> elements"
#: Elements of an image that are no boxes, and the word under which they are counted.
_SHAPES = {
    "polygon": balance.OUTLINES,
    "polyline": balance.LINES,
    "points": balance.POINTS,
    "ellipse": balance.ELLIPSES,
    "cuboid": balance.CUBOIDS,
    "mask": balance.MASKS,
    "skeleton": balance.SKELETONS,
    "tag": balance.IMAGE_LABELS,
}


class Cvat(Format):
    """Boxes with labels and phrases. Only images that the layer covers are written."""

    key = "cvat"
    title = "CVAT for images 1.1 (annotations.xml); a layer of a corpus"
    writes = True
    loading = (
        'from xml.etree import ElementTree\nimages = ElementTree.parse("annotations.xml").findall("image")'
    )
    reads_layers = True
    says = frozenset({"sizes", "layers", "labels", "model_boxes"})

    def read_layer(self, path: Path) -> Iterator[SourceImage]:
        """Yield the images of a file, or of a folder's only annotations.xml."""
        file = only_file(path, _FILE) if path.is_dir() else path
        images = tracks = 0
        try:
            with open_bytes(file) as stream:
                open_elements: list[Any] = []
                events = defusedxml.ElementTree.iterparse(stream, events=("start", "end"), forbid_dtd=True)
                for event, element in events:
                    if event == "start":
                        open_elements.append(element)
                        continue
                    open_elements.pop()
                    if len(open_elements) != 1:
                        continue
                    if element.tag == "image":
                        images += 1
                        yield _image(element, file)
                    tracks += element.tag == "track"
                    open_elements[0].clear()
        except ParseError as error:
            raise FormatError(
                f"is not XML ({error.msg})", file=file, line=error.position[0], expected="well-formed XML"
            ) from error
        except DefusedXmlException as error:
            raise FormatError(
                "declares a DTD or an entity, which is refused", file=file, expected="plain elements and text"
            ) from error
        except (LookupError, UnicodeError) as error:
            raise FormatError(f"has an unreadable encoding ({error})", file=file, expected="UTF-8") from error
        if not images:
            problem = "holds the tracks of a video, and no images" if tracks else "holds no images"
            raise FormatError(problem, file=file, expected=_SHAPE)
        pass_over(balance.TRACKS, tracks)

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write annotations.xml with the labels in use."""
        written = Written(files=[out / _FILE])
        labels: dict[str, None] = {}
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as body:
            for record in writable(records, out, format=self, written=written):
                written.leave_out("captions", len(record.captions))
                if record.layer is None:
                    continue
                number = written.counts.get("images", 0)
                size = f'width="{record.width}" height="{record.height}"'
                body.write(f'  <image id="{number}" name={quoteattr(record.filename)} {size}>\n')
                leave_out_of_boxes(record.layer, written)
                for entry in box_entries(record.layer):
                    labels[entry.label] = None
                    body.write(_element(entry))
                    written.add("boxes")
                body.write("  </image>\n")
                written.add("images")
            body.seek(0)
            with open_new(out / _FILE) as file:
                named = "".join(f"<label><name>{escape(label)}</name></label>" for label in labels)
                file.write('<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n')
                file.write("  <version>1.1</version>\n")
                file.write(f"  <meta><task><labels>{named}</labels></task></meta>\n")
                shutil.copyfileobj(body, file)
                file.write("</annotations>\n")
        return written


def _image(element: Any, file: Path) -> SourceImage:
    name = element.get("name", "")
    what = f"image {short_repr(name)}"
    boxes = []
    for shape in element:
        if shape.tag == "box":
            boxes.append(_box(shape, what, file))
        elif shape.tag in _SHAPES:
            pass_over(_SHAPES[shape.tag])
    width, height = (int(_number(element, side, what, file, "0")) for side in ("width", "height"))
    return SourceImage(((FILE, path_in_source(name)),), width, height, tuple(boxes))


def _box(shape: Any, what: str, file: Path) -> SourceBox:
    left, top, right, bottom = (_number(shape, edge, what, file) for edge in ("xtl", "ytl", "xbr", "ybr"))
    edges = left, top, right, bottom
    if rotation := _number(shape, "rotation", what, file, "0"):
        pass_over(balance.ROTATIONS)
        edges = around_turned(edges, rotation, ((edges[0] + edges[2]) / 2, (edges[1] + edges[3]) / 2))
    pass_over(balance.ATTRIBUTES, shape.get("occluded", "0") != "0")
    pass_over(balance.GROUPS, shape.get("group_id", "0") != "0")
    ours, phrases = {BOX_CHAIN: "", BOX_REGION: ""}, []
    for attribute in shape.iter("attribute"):
        name, text = attribute.get("name", ""), attribute.text or ""
        if name == BOX_PHRASE:
            phrases.append(text)
        elif name in ours:
            ours[name] = text
        elif text:
            pass_over(balance.ATTRIBUTES)
    by_model = shape.get("source") == "auto"
    label = shape.get("label", "")
    left, top, right, bottom = edges
    return SourceBox(
        left, top, right, bottom, label, tuple(phrases), ours[BOX_CHAIN], ours[BOX_REGION], by_model
    )


def _number(element: Any, name: str, what: str, file: Path, usual: str = "") -> float:
    text = element.get(name, usual)
    if (number := decimal_number(text)) is None:
        raise FormatError(f"{what}: {name} is {short_repr(text)}", file=file, expected="a number of pixels")
    return number


def _element(entry: BoxEntry) -> str:
    box, source = entry.box, "auto" if entry.by_model else "manual"
    edges = f'xtl="{box.xmin - 1:.2f}" ytl="{box.ymin - 1:.2f}" xbr="{box.xmax:.2f}" ybr="{box.ymax:.2f}"'
    named = [(BOX_PHRASE, phrase) for phrase in entry.phrases]
    named += [(BOX_CHAIN, entry.chain.id), *([(BOX_REGION, entry.region)] if entry.region else [])]
    attributes = "".join(f'<attribute name="{name}">{escape(text)}</attribute>' for name, text in named)
    about = f'label={quoteattr(entry.label)} source="{source}" occluded="0" {edges} z_order="0"'
    return f"    <box {about}>{attributes}</box>\n"


FORMATS.register(Cvat.key, Cvat())
