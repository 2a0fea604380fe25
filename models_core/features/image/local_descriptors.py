"""Local descriptors on a regular grid: SIFT of colours, and histograms of oriented gradients.

CSIFT is SIFT of three channels: red against green and yellow against blue, each over the brightness, so that
shadows have no effect, and the brightness itself; RGBSIFT is SIFT of red, green and blue. Source: van de
Sande, Gevers and Snoek 2010, section 3.3, from memory. HOG: Dalal and Triggs 2005, section 6: blocks of 2 x 2
cells of 8 pixels, 9 orientations without sign, of the colour with the strongest gradient.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models_core.extras import LazyExtra
from models_core.features.image.descriptors import Field, dense_sift
from models_core.features.image.pictures import Pixels

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


#: Pixels of a HOG cell, and its number of orientations.
_CELL, _ORIENTATIONS = 8, 9
#: Length of OpenCV's SIFT descriptors.
_SIFT_LENGTH = 512.0
#: SIFT needs 8 bits: quotients of colours from -0.75 to 0.75 are spread over them, others are clipped.
_WIDEST_QUOTIENT = 0.75


def hog(picture: Pixels) -> Field:
    """Return a descriptor for each block, 8 pixels apart, shape (rows, columns, 36), of length about 1.

    The picture, at least 16 x 16 pixels, is cropped to whole cells, equally on each side.
    """
    down, across = (side // _CELL * _CELL for side in picture.shape[:2])
    top, left = (picture.shape[0] - down) // 2, (picture.shape[1] - across) // 2
    inside = np.ascontiguousarray(picture[top : top + down, left : left + across])
    block, cell = (2 * _CELL, 2 * _CELL), (_CELL, _CELL)
    descriptors = np.asarray(
        cv2.HOGDescriptor((across, down), block, cell, cell, _ORIENTATIONS).compute(inside)
    )
    # OpenCV's order is column by column.
    return descriptors.reshape(across // _CELL - 1, down // _CELL - 1, -1).transpose(1, 0, 2)


def rgb_sift(picture: Pixels, step: int, diameter: float) -> Field:
    """Return SIFT of red, green and blue, a point for each `step` x `step` pixels: shape (rows, columns,
    384).

    The part of each colour has length about 1, or is all zeros where nothing changes; likewise in `c_sift`.
    """
    return _of_channels(picture, step, diameter)


def c_sift(picture: Pixels, step: int, diameter: float) -> Field:
    """Return SIFT of the channels of `brightness_free`, shape (rows, columns, 384)."""
    return _of_channels(brightness_free(picture), step, diameter)


def brightness_free(picture: Pixels) -> Pixels:
    """Return red against green and yellow against blue, both over the brightness, and the brightness: 8 bits
    each."""
    red, green, blue = np.moveaxis(picture.astype(np.float32), 2, 0)
    brightness = (red + green + blue) / math.sqrt(3)
    opponents = ((red - green) / math.sqrt(2), (red + green - 2 * blue) / math.sqrt(6))
    # Adding one step of colour prevents division by zero for black.
    quotients = [
        np.clip(opponent / (brightness + 1), -_WIDEST_QUOTIENT, _WIDEST_QUOTIENT) for opponent in opponents
    ]
    scaled = [(opponent / _WIDEST_QUOTIENT + 1) * 127.5 for opponent in quotients]
    return np.stack([*scaled, brightness / math.sqrt(3)], axis=2).round().astype(np.uint8)


def local_descriptors(step: int, diameter: float) -> dict[str, Callable[[Pixels], NDArray[np.float32]]]:
    """Return descriptors of a picture's points, shape (rows, columns, dimensions), by name; SIFT uses this
    grid."""
    return {
        "csift": partial(c_sift, step=step, diameter=diameter),
        "rgbsift": partial(rgb_sift, step=step, diameter=diameter),
        "hog": hog,
    }


def _of_channels(channels: Pixels, step: int, diameter: float) -> Field:
    descriptors = [
        dense_sift(np.ascontiguousarray(channel), step, diameter) for channel in np.moveaxis(channels, 2, 0)
    ]
    return np.concatenate(descriptors, axis=2) / np.float32(_SIFT_LENGTH)
