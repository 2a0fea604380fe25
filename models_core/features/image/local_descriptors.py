"""Local descriptors on a regular grid: SIFT of colours, and histograms of oriented gradients.

CSIFT is SIFT of three channels: red against green and yellow against blue, each over the brightness, so that
shadows count for nothing, and the brightness itself; RGBSIFT is SIFT of red, green and blue. Source: van de
Sande, Gevers and Snoek 2010, section 3.3, from memory. HOG: Dalal and Triggs 2005, section 6: blocks of 2 x 2
cells of 8 pixels, 9 orientations without sign, of the colour that changes most.
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


#: Pixels of a cell of HOG's, and how many orientations each tells apart.
_CELL, _ORIENTATIONS = 8, 9
#: Length of OpenCV's SIFT descriptors.
_SIFT_LENGTH = 512.0
#: SIFT takes 8 bits: quotients of colours from -0.75 to 0.75 are spread over them, others are cut off.
_WIDEST_QUOTIENT = 0.75


def hog(picture: Pixels) -> Field:
    """A descriptor for each block, 8 pixels apart, shape (rows, columns, 36), of length about 1.

    The picture, at least 16 x 16 pixels, is cut to whole cells, as much on each side.
    """
    down, across = (side // _CELL * _CELL for side in picture.shape[:2])
    top, left = (picture.shape[0] - down) // 2, (picture.shape[1] - across) // 2
    inside = np.ascontiguousarray(picture[top : top + down, left : left + across])
    block, cell = (2 * _CELL, 2 * _CELL), (_CELL, _CELL)
    descriptors = np.asarray(
        cv2.HOGDescriptor((across, down), block, cell, cell, _ORIENTATIONS).compute(inside)
    )
    # OpenCV goes down each column of blocks first.
    return descriptors.reshape(across // _CELL - 1, down // _CELL - 1, -1).transpose(1, 0, 2)


def rgb_sift(picture: Pixels, step: int, diameter: float) -> Field:
    """SIFT of red, green and blue, a point for each `step` x `step` pixels: shape (rows, columns, 384).

    Each colour's share is of length about 1, or all zeros where nothing changes; so with `c_sift`.
    """
    return _of_channels(picture, step, diameter)


def c_sift(picture: Pixels, step: int, diameter: float) -> Field:
    """SIFT of the channels of `brightness_free`, shape (rows, columns, 384)."""
    return _of_channels(brightness_free(picture), step, diameter)


def brightness_free(picture: Pixels) -> Pixels:
    """Red against green, yellow against blue, each over the brightness, and the brightness: 8 bits each."""
    red, green, blue = np.moveaxis(picture.astype(np.float32), 2, 0)
    brightness = (red + green + blue) / math.sqrt(3)
    opponents = ((red - green) / math.sqrt(2), (red + green - 2 * blue) / math.sqrt(6))
    # One step of colour more keeps black from being divided by.
    quotients = [
        np.clip(opponent / (brightness + 1), -_WIDEST_QUOTIENT, _WIDEST_QUOTIENT) for opponent in opponents
    ]
    scaled = [(opponent / _WIDEST_QUOTIENT + 1) * 127.5 for opponent in quotients]
    return np.stack([*scaled, brightness / math.sqrt(3)], axis=2).round().astype(np.uint8)


def local_descriptors(step: int, diameter: float) -> dict[str, Callable[[Pixels], NDArray[np.float32]]]:
    """By name, what describes a picture's points, shape (rows, columns, dimensions): SIFT with this grid."""
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
