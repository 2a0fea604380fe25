"""A canvas that records, pixel by pixel, which part of which object it shows.

Everything is drawn at SUPERSAMPLE times the requested size and scaled down with a Lanczos filter, which gives
smooth edges. The canvas is an RGBA image whose fourth channel is not opacity but the number of the part that
was painted there last: one drawing call paints colour and identity at once, so the visible extent of an
object (after everything in front of it) can be read at the end, exactly as drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import cos, hypot, pi, radians, sin

from PIL import Image, ImageDraw

from scenes.art.colours import Colour
from scenes.terms import Box

Point = tuple[float, float]

SUPERSAMPLE = 3

#: The part number of everything that needs no identity.
_NOBODY = 0
LAST_PART = 255

_STEPS = 6
_CIRCLE = [(cos(2 * pi * k / 28), sin(2 * pi * k / 28)) for k in range(28)]


def _catmull_rom() -> list[tuple[float, float, float, float]]:
    """Return the weights of four neighbouring points at _STEPS positions between the middle two."""
    rows = []
    for step in range(_STEPS):
        t = step / _STEPS
        rows.append(
            (
                -0.5 * t + t**2 - 0.5 * t**3,
                1 - 2.5 * t**2 + 1.5 * t**3,
                0.5 * t + 2 * t**2 - 1.5 * t**3,
                -0.5 * t**2 + 0.5 * t**3,
            )
        )
    return rows


_WEIGHTS = _catmull_rom()


def smooth(points: Sequence[Point], *, closed: bool) -> list[Point]:
    """Return a curve through `points` (a Catmull-Rom spline), as a denser list of points."""
    count = len(points)
    if closed:
        ring = [points[-1], *points, points[0], points[1]]
        stretches = count
    else:
        ring = [points[0], *points, points[-1]]
        stretches = count - 1
    curve = []
    for k in range(stretches):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = ring[k : k + 4]
        for a, b, c, d in _WEIGHTS:
            curve.append((a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy))
    if not closed:
        curve.append(points[-1])
    return curve


@cache
def _falloff() -> Image.Image:
    """Return a soft round spot, 255 in the middle and 0 at the rim (mode L)."""
    # Pillow's gradient reaches 255 in the corners, so it is 180 at the middle of each side.
    fading = [max(0.0, 1 - v / 180) for v in range(256)]
    return Image.radial_gradient("L").point([round(255 * t * t * (3 - 2 * t)) for t in fading])


class Extents:
    """The visible pixels of each part in the finished picture (1-based, inclusive)."""

    def __init__(self, parts: Image.Image) -> None:
        self._parts = parts
        self._pixels = parts.histogram()

    def pixels(self, parts: Iterable[int]) -> int:
        """Return how many pixels show one of `parts`."""
        return sum(self._pixels[part] for part in parts)

    def box(self, parts: Iterable[int]) -> Box | None:
        """Return the tight box around all pixels that show one of `parts`; None if there are none."""
        visible = {part for part in parts if self._pixels[part]}
        if not visible:
            return None
        bounds = self._parts.point([255 if v in visible else 0 for v in range(256)]).getbbox()
        return Box(bounds[0] + 1, bounds[1] + 1, bounds[2], bounds[3]) if bounds else None


class Canvas:
    """A picture of `width` by `height` pixels being drawn; `mirrored` swaps left and right."""

    def __init__(self, width: int, height: int, *, mirrored: bool = False) -> None:
        self.width = width
        self.height = height
        self.mirrored = mirrored
        self.image = Image.new("RGBA", (width * SUPERSAMPLE, height * SUPERSAMPLE), (255, 255, 255, _NOBODY))
        self.draw = ImageDraw.Draw(self.image)
        self._parts = _NOBODY

    def part(self) -> int:
        """Return a new part number. Raises ValueError past LAST_PART: a picture holds no more."""
        if self._parts == LAST_PART:
            raise ValueError(f"a picture holds {LAST_PART} parts at most")
        self._parts += 1
        return self._parts

    def pen(self, part: int = _NOBODY) -> Pen:
        """Return a pen in picture coordinates: pixels from the top left corner."""
        if self.mirrored:
            return Pen(self, (-SUPERSAMPLE, 0, 0, SUPERSAMPLE, self.width * SUPERSAMPLE, 0), part)
        return Pen(self, (SUPERSAMPLE, 0, 0, SUPERSAMPLE, 0, 0), part)

    def tint(self, mask: Image.Image, corner: tuple[int, int], colour: Colour) -> None:
        """Blend `colour` over the picture through `mask` (mode L), without changing identities."""
        left, top = corner
        box = (
            max(0, left),
            max(0, top),
            min(self.image.width, left + mask.width),
            min(self.image.height, top + mask.height),
        )
        if box[0] >= box[2] or box[1] >= box[3]:
            return
        if box != (left, top, left + mask.width, top + mask.height):
            mask = mask.crop((box[0] - left, box[1] - top, box[2] - left, box[3] - top))
        region = self.image.crop(box)
        # Without its fourth band: Pillow would treat part 0 as transparent and cover the pixel completely.
        painted = region.convert("RGB")
        painted.paste(colour, (0, 0), mask)
        painted.putalpha(region.getchannel("A"))
        self.image.paste(painted, box[:2])

    def finish(self) -> tuple[Image.Image, Extents]:
        """Return the picture (mode RGB) at its own size, and the extents of its parts.

        A pixel belongs to the part that covers its centre.
        """
        size = (self.width, self.height)
        parts = self.image.getchannel("A").resize(size, Image.Resampling.NEAREST)
        return self.image.convert("RGB").resize(size, Image.Resampling.LANCZOS), Extents(parts)


class Pen:
    """Draws one part in its own coordinates, which can be moved, scaled, turned and flipped.

    Lengths are in the pen's units; x grows to the right, y downwards, angles clockwise in degrees.
    """

    __slots__ = ("canvas", "part", "matrix", "unit")

    def __init__(
        self, canvas: Canvas, matrix: tuple[float, float, float, float, float, float], part: int
    ) -> None:
        self.canvas = canvas
        self.matrix = matrix
        self.part = part
        self.unit = hypot(matrix[0], matrix[2])

    def at(self, x: float, y: float, *, scale: float = 1, flip: bool = False, angle: float = 0) -> Pen:
        """A pen whose origin is this one's (x, y)."""
        a, b, c, d, e, f = self.matrix
        mx, my = a * x + b * y + e, c * x + d * y + f
        across = -scale if flip else scale
        if angle:
            co, si = cos(radians(angle)), sin(radians(angle))
            row = (a * co + b * si, b * co - a * si, c * co + d * si, d * co - c * si)
        else:
            row = (a, b, c, d)
        return Pen(
            self.canvas, (row[0] * across, row[1] * scale, row[2] * across, row[3] * scale, mx, my), self.part
        )

    def of(self, part: int) -> Pen:
        """The same pen drawing another part."""
        return Pen(self.canvas, self.matrix, part)

    def map(self, points: Iterable[Point]) -> list[Point]:
        """`points` in the canvas's own, enlarged pixels."""
        a, b, c, d, e, f = self.matrix
        return [(a * x + b * y + e, c * x + d * y + f) for x, y in points]

    def fill(self, points: Sequence[Point], colour: Colour) -> None:
        """A polygon."""
        self.canvas.draw.polygon(self.map(points), fill=(*colour, self.part))

    def blob(self, points: Sequence[Point], colour: Colour) -> None:
        """A closed curve through `points`, filled."""
        self.canvas.draw.polygon(smooth(self.map(points), closed=True), fill=(*colour, self.part))

    def oval(self, x: float, y: float, rx: float, ry: float, colour: Colour, *, angle: float = 0) -> None:
        """An ellipse about (x, y)."""
        a, b, c, d, e, f = self.matrix
        if not angle and not b and not c:
            mx, my = a * x + e, d * y + f
            rx, ry = abs(a) * rx, abs(d) * ry
            self.canvas.draw.ellipse((mx - rx, my - ry, mx + rx, my + ry), fill=(*colour, self.part))
            return
        co, si = cos(radians(angle)), sin(radians(angle))
        self.fill(
            [(x + rx * u * co - ry * v * si, y + rx * u * si + ry * v * co) for u, v in _CIRCLE], colour
        )

    def ring(self, x: float, y: float, radius: float, width: float, colour: Colour) -> None:
        """A circle's outline, `width` wide, inside `radius`; what it encloses stays as it is."""
        ((mx, my),) = self.map([(x, y)])
        r = self.unit * radius
        self.canvas.draw.ellipse(
            (mx - r, my - r, mx + r, my + r),
            outline=(*colour, self.part),
            width=max(1, round(width * self.unit)),
        )

    def limb(self, p: Point, q: Point, rp: float, rq: float, colour: Colour) -> None:
        """A tapered bar from p to q with round ends of radius rp and rq."""
        (px, py), (qx, qy) = self.map([p, q])
        rp, rq = rp * self.unit, rq * self.unit
        fill = (*colour, self.part)
        draw = self.canvas.draw
        draw.ellipse((px - rp, py - rp, px + rp, py + rp), fill=fill)
        draw.ellipse((qx - rq, qy - rq, qx + rq, qy + rq), fill=fill)
        length = hypot(qx - px, qy - py)
        if length > abs(rp - rq):
            # The two outer tangents: their normals lean by asin((rp - rq) / length).
            si = (rp - rq) / length
            co = (1 - si * si) ** 0.5
            ux, uy = (qx - px) / length, (qy - py) / length
            n1 = (ux * si - uy * co, uy * si + ux * co)
            n2 = (ux * si + uy * co, uy * si - ux * co)
            draw.polygon(
                [
                    (px + n1[0] * rp, py + n1[1] * rp),
                    (qx + n1[0] * rq, qy + n1[1] * rq),
                    (qx + n2[0] * rq, qy + n2[1] * rq),
                    (px + n2[0] * rp, py + n2[1] * rp),
                ],
                fill=fill,
            )

    def line(self, points: Sequence[Point], width: float, colour: Colour, *, curved: bool = False) -> None:
        """A stroke through `points` with round ends and joints; `curved` smooths it."""
        mapped = self.map(points)
        if curved:
            mapped = smooth(mapped, closed=False)
        fill = (*colour, self.part)
        wide = max(1.0, width * self.unit)
        draw = self.canvas.draw
        draw.line(mapped, fill=fill, width=round(wide))
        if wide > 3:
            r = wide / 2 - 0.5
            for x, y in mapped:
                draw.ellipse((x - r, y - r, x + r, y + r), fill=fill)

    def block(self, x0: float, y0: float, x1: float, y1: float, colour: Colour, *, round_: float = 0) -> None:
        """An upright rectangle, its corners rounded by `round_`. Not for turned pens."""
        (ax, ay), (bx, by) = self.map([(x0, y0), (x1, y1)])
        shape = (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
        fill = (*colour, self.part)
        if round_:
            self.canvas.draw.rounded_rectangle(shape, round_ * self.unit, fill=fill)
        else:
            self.canvas.draw.rectangle(shape, fill=fill)

    def gradient(self, y0: float, y1: float, top: Colour, bottom: Colour) -> None:
        """The picture's full width from y0 to y1, shading from `top` to `bottom`."""
        _, _, _, d, _, f = self.matrix
        first, last = round(d * y0 + f), round(d * y1 + f)
        width = self.canvas.image.width
        band = SUPERSAMPLE
        for y in range(first, last, band):
            t = (y - first) / max(1, last - first)
            row = [round(u + (v - u) * t) for u, v in zip(top, bottom, strict=True)]
            self.canvas.draw.rectangle((0, y, width, min(y + band, last) - 1), fill=(*row, self.part))

    def glow(self, x: float, y: float, rx: float, ry: float, colour: Colour, strength: float) -> None:
        """A soft round light or shadow about (x, y); `strength` 0..1 in its middle."""
        ((mx, my),) = self.map([(x, y)])
        wide, high = round(rx * self.unit * 2), round(ry * self.unit * 2)
        if wide < 2 or high < 2:
            return
        spot = _falloff().point([round(v * strength) for v in range(256)])
        mask = spot.resize((wide, high), Image.Resampling.BILINEAR)
        self.canvas.tint(mask, (round(mx - wide / 2), round(my - high / 2)), colour)

    def veil(self, points: Sequence[Point], colour: Colour, strength: float) -> None:
        """A polygon of see-through colour; `strength` 0..1. What lies beneath keeps its identity."""
        mapped = self.map(points)
        left, top = int(min(x for x, _ in mapped)), int(min(y for _, y in mapped))
        right, bottom = int(max(x for x, _ in mapped)) + 1, int(max(y for _, y in mapped)) + 1
        left, top = max(left, 0), max(top, 0)
        right, bottom = min(right, self.canvas.image.width), min(bottom, self.canvas.image.height)
        if right <= left or bottom <= top:
            return
        mask = Image.new("L", (right - left, bottom - top), 0)
        ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in mapped], fill=round(255 * strength))
        self.canvas.tint(mask, (left, top), colour)
