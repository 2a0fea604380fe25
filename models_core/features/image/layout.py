"""A cheap vector for each region of a picture: colour layout, colour histogram, gradients, and position of
the region. It needs no network and no file of weights.

    colour layout        mean red, green and blue of `cells` x `cells` parts
    colour histogram     shares of pixels in `bins` cubed parts of the colour cube, their roots
    gradients            shares of gradient strength by direction in 2 x 2 parts, their roots
    surroundings         mean colour of a frame around the region, less that of the region
    place                left, top, right and low edge, width, height and area, as shares of the picture

The parts are scaled so that none outweighs the others. These choices are ours, modelled on MPEG-7's colour
layout and on HOG.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models_core.checked_fields import CheckedRecord
from models_core.extras import LazyExtra
from models_core.features.image.pictures import Picture, upright

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


#: Side in pixels of the square to which a region is scaled.
_SIDE = 24
#: Width of the frame around a region, as a share of its side.
_FRAME = 0.25
_GRADIENT_PARTS = 2


@dataclass(frozen=True, slots=True)
class LayoutSettings(CheckedRecord):
    """Resolution of the parts of a region's vector. Raises BadField."""

    cells: Annotated[int, Field(ge=1, le=_SIDE, description="Parts along each side of the colour layout")] = 4
    bins: Annotated[int, Field(ge=1, le=16, description="Of each colour in the histogram")] = 4
    orientations: Annotated[int, Field(ge=1, le=64, description="Directions of gradients")] = 8


class RegionLayout:
    """Describes regions by `dimensions` numbers each; `digest` identifies the settings."""

    def __init__(self, settings: LayoutSettings | None = None) -> None:
        self.settings = settings or LayoutSettings()
        text = json.dumps(["layout", 1, asdict(self.settings)], sort_keys=True)
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        settings = self.settings
        return 3 * settings.cells**2 + settings.bins**3 + _GRADIENT_PARTS**2 * settings.orientations + 3 + 7

    def describe_regions(
        self, picture: Picture, boxes: Sequence[tuple[int, int, int, int]]
    ) -> NDArray[np.float32]:
        """Return a vector for each box (x1, y1, x2, y2), 1-based and inclusive, shape (boxes, dimensions).

        Raises BadPicture for an invalid picture, ValueError for a box outside it.
        """
        colours = np.asarray(upright(picture), np.uint8)
        height, width = colours.shape[:2]
        sums = np.asarray(cv2.integral(colours, sdepth=cv2.CV_64F), np.float64)
        vectors = np.empty((len(boxes), self.dimensions), np.float32)
        for row, (x1, y1, x2, y2) in enumerate(boxes):
            if not (1 <= x1 <= x2 <= width and 1 <= y1 <= y2 <= height):
                raise ValueError(
                    f"box {(x1, y1, x2, y2)} is not within picture {picture.path} of {width} x {height}"
                )
            part = colours[y1 - 1 : y2, x1 - 1 : x2]
            scaled = cv2.resize(part, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
            small = np.asarray(scaled, np.float32) / np.float32(255)
            frame = _frame_colour(sums, (x1, y1, x2, y2), (width, height))
            position = (
                *(x1 - 1, y1 - 1, x2, y2),
                *(x2 - x1 + 1, y2 - y1 + 1),
                np.sqrt((x2 - x1 + 1) * (y2 - y1 + 1)),
            )
            size = (width, height, width, height, width, height, np.sqrt(width * height))
            vectors[row] = np.concatenate(
                [
                    self._layout(small) / self.settings.cells,
                    self._histogram(small),
                    self._gradients(small),
                    frame - small.mean(axis=(0, 1)),
                    np.divide(position, size) / 2,
                ]
            )
        return vectors

    def describe(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """Return a vector for each picture as one region, shape (pictures, dimensions). Raises BadPicture."""
        vectors = np.empty((len(pictures), self.dimensions), np.float32)
        for row, picture in enumerate(pictures):
            image = upright(picture)
            vectors[row] = self.describe_regions(picture, [(1, 1, image.width, image.height)])[0]
        return vectors

    def _layout(self, small: NDArray[np.float32]) -> NDArray[np.float32]:
        size = (self.settings.cells, self.settings.cells)
        return np.asarray(cv2.resize(small, size, interpolation=cv2.INTER_AREA), np.float32).ravel()

    def _histogram(self, small: NDArray[np.float32]) -> NDArray[np.float32]:
        bins = self.settings.bins
        bins_of_pixels = np.minimum((small * bins).astype(np.intp), bins - 1) @ np.array(
            [bins * bins, bins, 1]
        )
        return np.sqrt(np.bincount(bins_of_pixels.ravel(), minlength=bins**3) / bins_of_pixels.size).astype(
            np.float32
        )

    def _gradients(self, small: NDArray[np.float32]) -> NDArray[np.float32]:
        grey = small @ np.array([0.299, 0.587, 0.114], np.float32)
        down, across = np.gradient(grey)
        strength, number = np.hypot(down, across), self.settings.orientations
        direction = np.arctan2(down, across) % np.pi
        bin_of = np.minimum((direction / np.pi * number).astype(np.intp), number - 1)
        half = np.arange(_SIDE) * _GRADIENT_PARTS // _SIDE
        part_of = half[:, None] * _GRADIENT_PARTS + half
        counted = np.bincount(
            (part_of * number + bin_of).ravel(), strength.ravel(), minlength=_GRADIENT_PARTS**2 * number
        )
        total = counted.sum()
        return np.sqrt(counted / total if total > 0 else counted).astype(np.float32)


def _frame_colour(
    sums: NDArray[np.float64], box: tuple[int, int, int, int], size: tuple[int, int]
) -> NDArray[np.float32]:
    """Return the mean colour around a box, from 0 to 1; that of the box itself if it fills the picture."""
    x1, y1, x2, y2 = box
    wide, high = _FRAME * (x2 - x1 + 1), _FRAME * (y2 - y1 + 1)
    left, top = max(0, round(x1 - 1 - wide)), max(0, round(y1 - 1 - high))
    right, low = min(size[0], round(x2 + wide)), min(size[1], round(y2 + high))

    def total(a: int, b: int, c: int, d: int) -> NDArray[np.float64]:
        return np.asarray(sums[d, c] - sums[b, c] - sums[d, a] + sums[b, a])

    inner_area, around = (x2 - x1 + 1) * (y2 - y1 + 1), (right - left) * (low - top)
    inner = total(x1 - 1, y1 - 1, x2, y2)
    if around == inner_area:
        return np.asarray(inner / inner_area / 255, np.float32)
    return np.asarray((total(left, top, right, low) - inner) / (around - inner_area) / 255, np.float32)
