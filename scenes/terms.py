"""Terms of gold: the eight categories of Plummer et al. (2015, section 2.1), and boxes."""

from __future__ import annotations

from typing import NamedTuple

PEOPLE = "people"
CLOTHING = "clothing"
BODYPARTS = "bodyparts"
ANIMALS = "animals"
VEHICLES = "vehicles"
INSTRUMENTS = "instruments"
SCENE = "scene"
OTHER = "other"


class Box(NamedTuple):
    """A rectangle in pixels, 1-based and inclusive on all four sides."""

    xmin: int
    ymin: int
    xmax: int
    ymax: int

    @property
    def width(self) -> int:
        """Pixels from left to right, both edges counted."""
        return self.xmax - self.xmin + 1

    @property
    def height(self) -> int:
        """Pixels from top to bottom, both edges counted."""
        return self.ymax - self.ymin + 1

    @property
    def area(self) -> int:
        """Pixels covered; a box of one pixel has area 1."""
        return self.width * self.height

    def iou(self, other: Box) -> float:
        """Intersection over union of the two pixel sets, in 0..1."""
        wide = min(self.xmax, other.xmax) - max(self.xmin, other.xmin) + 1
        high = min(self.ymax, other.ymax) - max(self.ymin, other.ymin) + 1
        shared = wide * high if wide > 0 and high > 0 else 0
        return shared / (self.area + other.area - shared)
