"""Frames: boxes in the pixels of a picture as its file has them, made those of the picture turned upright.

A camera may store a picture lying, and say in EXIF how it is to be turned. Pictures are stored upright here,
and boxes are of the upright picture. Whether a source means the lying one is seen from the size that it
states: only the orientations 5 to 8 swap width and height.
Source: EXIF 2.3, tag 0x0112.
"""

import cmath
import math
from collections.abc import Callable
from dataclasses import replace

from annotation.formats.base import SourceBox
from annotation.protocol.terms import Box, LayerRecord

#: Left, top, right, bottom, in pixels from the upper left corner.
Edges = tuple[float, float, float, float]

#: Orientation -> where a point (x, y) of the lying picture, `w` wide and `h` high, is in the upright one.
_UPRIGHT: dict[int, Callable[[float, float, int, int], tuple[float, float]]] = {
    5: lambda x, y, w, h: (y, x),
    6: lambda x, y, w, h: (h - y, x),
    7: lambda x, y, w, h: (h - y, w - x),
    8: lambda x, y, w, h: (y, w - x),
}


def is_raw_frame(stated: tuple[int, int], size: tuple[int, int], orientation: int) -> bool:
    """Whether the size that a source states is that of the picture before it was turned; `size` is the
    upright picture's."""
    return orientation in _UPRIGHT and stated != size and stated == (size[1], size[0])


def upright_edges(edges: Edges, stated: tuple[int, int], orientation: int) -> Edges:
    """The box in the upright picture, of one in the lying picture of the size `stated`."""
    (left, top), (right, bottom) = (_UPRIGHT[orientation](x, y, *stated) for x, y in (edges[:2], edges[2:]))
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def upright_box(box: SourceBox, stated: tuple[int, int], orientation: int) -> SourceBox:
    """The box of another tool, in the upright picture."""
    left, top, right, bottom = upright_edges((box.left, box.top, box.right, box.bottom), stated, orientation)
    return replace(box, left=left, top=top, right=right, bottom=bottom)


def around_turned(edges: Edges, degrees: float, pivot: tuple[float, float]) -> Edges:
    """Return the upright box around one that is turned clockwise about `pivot`."""
    left, top, right, bottom = edges
    rotation = cmath.rect(1, math.radians(degrees))
    corners = [complex(x - pivot[0], y - pivot[1]) * rotation for x in (left, right) for y in (top, bottom)]
    across, down = [c.real + pivot[0] for c in corners], [c.imag + pivot[1] for c in corners]
    return min(across), min(down), max(across), max(down)


def upright_layer(layer: LayerRecord, stated: tuple[int, int], orientation: int) -> LayerRecord:
    """The layer with its boxes in the upright picture."""

    def upright(box: Box) -> Box:
        edges = (box.xmin - 1, box.ymin - 1, box.xmax, box.ymax)
        left, top, right, bottom = map(int, upright_edges(edges, stated, orientation))
        return Box(left + 1, top + 1, right, bottom)

    objects = (
        thing if thing.box is None else replace(thing, box=upright(thing.box)) for thing in layer.objects
    )
    return replace(layer, objects=tuple(objects))
