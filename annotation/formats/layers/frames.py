"""Frames: convert boxes in the pixels of a picture's file to those of the picture rotated upright.

A camera may store a picture rotated or mirrored, with its orientation in EXIF. Pictures are stored upright
here, and boxes refer to the upright picture. Whether a source refers to the picture before rotation can only
be seen from the size in the source: only the orientations 5 to 8 swap width and height, and a square stays
one. If the size does not decide, the user must. Source: EXIF 2.3, tag 0x0112.
"""

import cmath
import math
from collections.abc import Callable
from dataclasses import replace

from annotation.formats.base import SourceBox
from annotation.protocol.terms import Box, LayerRecord

#: Left, top, right, bottom, in pixels from the upper left corner.
Edges = tuple[float, float, float, float]

#: Frames: of the upright picture, of the picture as in its file, and either.
UPRIGHT, RAW, EITHER = "upright", "raw", "either"

#: By orientation, the position in the upright picture of a point (x, y) of the stored one, `w` wide and `h`
#: high.
_UPRIGHT: dict[int, Callable[[float, float, int, int], tuple[float, float]]] = {
    2: lambda x, y, w, h: (w - x, y),
    3: lambda x, y, w, h: (w - x, h - y),
    4: lambda x, y, w, h: (x, h - y),
    5: lambda x, y, w, h: (y, x),
    6: lambda x, y, w, h: (h - y, x),
    7: lambda x, y, w, h: (h - y, w - x),
    8: lambda x, y, w, h: (y, w - x),
}


def frame_of(stated: tuple[int, int], size: tuple[int, int], orientation: int) -> str | None:
    """Return the frame that matches the `stated` size of a source, in which 0 is unknown; None if none
    matches.

    `size` is that of the upright picture, 0 if unknown.
    """
    sizes = {UPRIGHT: size, RAW: _raw_size(size, orientation)}
    if not all((*stated, *size)):
        frames = list(sizes)
    else:
        frames = [frame for frame, of_frame in sizes.items() if of_frame == stated]
    if orientation == 1 and frames:
        return UPRIGHT
    return EITHER if len(frames) == 2 else next(iter(frames), None)


def _raw_size(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    """Return the size of a picture as in its file."""
    return (size[1], size[0]) if orientation > 4 else size


def upright_edges(edges: Edges, size: tuple[int, int], orientation: int) -> Edges:
    """Return the box in the upright picture, which has this size, for one in the picture as in its file."""
    rotated, raw = _UPRIGHT[orientation], _raw_size(size, orientation)
    (left, top), (right, bottom) = (rotated(x, y, *raw) for x, y in (edges[:2], edges[2:]))
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def upright_box(box: SourceBox, size: tuple[int, int], orientation: int) -> SourceBox:
    """Return the box of another tool, in the upright picture."""
    left, top, right, bottom = upright_edges((box.left, box.top, box.right, box.bottom), size, orientation)
    return replace(box, left=left, top=top, right=right, bottom=bottom)


def around_turned(edges: Edges, degrees: float, pivot: tuple[float, float]) -> Edges:
    """Return the upright box around one that is rotated clockwise about `pivot`."""
    left, top, right, bottom = edges
    rotation = cmath.rect(1, math.radians(degrees))
    corners = [complex(x - pivot[0], y - pivot[1]) * rotation for x in (left, right) for y in (top, bottom)]
    across, down = [c.real + pivot[0] for c in corners], [c.imag + pivot[1] for c in corners]
    return min(across), min(down), max(across), max(down)


def has_boxes(layer: LayerRecord | None) -> bool:
    """Whether a layer has a box."""
    return layer is not None and any(thing.box is not None for thing in layer.objects)


def upright_layer(layer: LayerRecord, size: tuple[int, int], orientation: int) -> LayerRecord:
    """Return the layer with its boxes in the upright picture."""

    def upright(box: Box) -> Box:
        edges = (box.xmin - 1, box.ymin - 1, box.xmax, box.ymax)
        left, top, right, bottom = map(int, upright_edges(edges, size, orientation))
        return Box(left + 1, top + 1, right, bottom)

    objects = (
        thing if thing.box is None else replace(thing, box=upright(thing.box)) for thing in layer.objects
    )
    return replace(layer, objects=tuple(objects))
