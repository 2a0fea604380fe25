"""A trunk as an outline between hip and neck, so that clothes can follow it."""

from scenes.art.anatomy import Build
from scenes.art.canvas import Pen, Point, smooth
from scenes.art.colours import Colour, darker

Joints = tuple[Point, Point, Point]


class Trunk:
    """The outline of a body between hip (0) and base of the neck (1), as a pen turned with it draws it."""

    def __init__(self, pen: Pen, build: Build, view: float) -> None:
        self.pen = pen
        self.build = build
        self.view = view
        wide = 0.74 + 0.26 * view
        tall = build.torso
        swell = (1 - view) * 0.012
        heights = (-0.14, 0.0, 0.34, 0.72, 0.90, 0.975, 1.02)
        halves = (
            build.hip * 0.94, build.hip, build.waist, build.chest, build.shoulder * 0.97,
                build.shoulder * 0.62,
            build.head * 0.2,
        )  # fmt: skip
        self._left = smooth(
            [(-w * wide, -v * tall) for v, w in zip(heights, halves, strict=True)], closed=False
        )
        fronts = [w * wide + (swell if 0.2 < v < 0.8 else 0) for v, w in zip(heights, halves, strict=True)]
        self._right = smooth([(w, -v * tall) for v, w in zip(heights, fronts, strict=True)], closed=False)

    def band(self, part: int, colour: Colour, *, low: float, high: float, ease: float = 0.0) -> None:
        """The trunk from `low` to `high`, `ease` wider than the body on both sides."""
        left, right = self._between(low, high, ease)
        if len(left) > 1:
            self.pen.of(part).fill(left + right[::-1], colour)

    def shade(self, part: int, colour: Colour, *, low: float, high: float, ease: float = 0.0) -> None:
        """A strip of shadow down the back of the trunk."""
        left, right = self._between(low, high, ease)
        inner = [(x + (r - x) * 0.2, y) for (x, y), (r, _) in zip(left, right, strict=True)]
        if len(left) > 1:
            self.pen.of(part).fill(left + inner[::-1], darker(colour, 0.1))

    def stripes(self, part: int, colour: Colour, *, low: float, high: float, ease: float = 0.0) -> None:
        """Stripes across the trunk, following its outline."""
        count = 5
        step = (high - low) / (2 * count)
        for k in range(count):
            self.band(
                part, colour, low=low + (2 * k + 0.6) * step, high=low + (2 * k + 1.6) * step, ease=ease
            )

    def dots(self, part: int, colour: Colour, *, low: float, high: float) -> None:
        """Polka dots over the trunk."""
        for row, v in enumerate((low + 0.12, low + 0.32, low + 0.52, low + 0.72)):
            if v < high - 0.1:
                left, right = self._between(v, v + 0.02, -0.012)
                across = (-0.5, 0.0, 0.5) if row % 2 else (-0.75, -0.25, 0.25, 0.75)
                middle, half = (left[0][0] + right[0][0]) / 2, (right[0][0] - left[0][0]) / 2
                for t in across:
                    self.pen.of(part).oval(middle + t * half, left[0][1], 0.009, 0.009, colour)

    def width(self, v: float) -> tuple[float, float]:
        """Left and right edge at height `v`."""
        left, right = self._between(v, v + 0.01, 0)
        return left[0][0], right[0][0]

    def _between(self, low: float, high: float, ease: float) -> tuple[list[Point], list[Point]]:
        tall = self.build.torso
        return (
            _cut(self._left, -low * tall, -high * tall, -ease),
            _cut(self._right, -low * tall, -high * tall, ease),
        )


def _cut(side: list[Point], first: float, last: float, ease: float) -> list[Point]:
    """The stretch of an outline from y = first up to y = last, both ends interpolated."""

    def at(y: float) -> float:
        for (ax, ay), (bx, by) in zip(side, side[1:], strict=False):
            if ay >= y >= by:
                return ax + (bx - ax) * ((ay - y) / (ay - by) if ay > by else 0.0)
        return side[-1][0] if y < side[-1][1] else side[0][0]

    inner = [(x + ease, y) for x, y in side if first > y > last]
    return [(at(first) + ease, first), *inner, (at(last) + ease, last)]


def along_limb(leg: Joints, share: float) -> Point:
    """A point of the leg: 1 at the knee, 2 at the ankle."""
    (a, b), t = ((leg[0], leg[1]), share) if share <= 1 else ((leg[1], leg[2]), share - 1)
    return (a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t)
