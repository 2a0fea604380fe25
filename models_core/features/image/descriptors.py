"""Descriptors of the points of a picture: colour, texture and shape.

Source: Hodosh et al. 2013, section 3.3.1. Colours are the three CIELAB coordinates. Textures are the eight
maximum responses (MR8) of Varma and Zisserman 2005, section 2: edges and bars at three scales, each the
largest of six orientations, a Gaussian and its Laplacian. Shapes are upright SIFT descriptors (Lowe 2004) on
a dense grid. Each function returns an array (rows, columns, dimensions) of points in reading order that cover
the picture evenly, so shares of points are shares of pixels.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models_core.extras import LazyExtra
from models_core.features.image.pictures import Pixels

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


Field = NDArray[np.float32]

#: Scales of the filters in pixels: across and along an edge or bar; of the two round ones.
_SCALES = ((1.0, 3.0), (2.0, 6.0), (4.0, 12.0))
_ROUND = 10.0
_ORIENTATIONS = 6
_SUPPORT = 49
#: Constant of Weber's law in Varma and Zisserman 2005: responses are scaled by log(1 + |F| / 0.03) / |F|.
_WEBER = 0.03

#: Pixels between points of the SIFT grid, and diameter of a keypoint: each of OpenCV's 4 x 4 histograms is
#: 1.5 times as wide, here 6 pixels.
_STEP = 4
_DIAMETER = 4.0


def colour(picture: Pixels) -> Field:
    """Return CIELAB, a point for each pixel: L in 0..100, a and b within about -128..127; shape (h, w, 3)."""
    return np.asarray(cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_RGB2Lab), dtype=np.float32)


def texture(picture: Pixels) -> Field:
    """Return MR8, a point for each pixel, shape (h, w, 8).

    Brightness is first normalized to mean 0 and variance 1, so that illumination and contrast have no effect;
    a picture of uniform brightness has a texture of 0 throughout. Borders are mirrored.
    """
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    grey -= grey.mean()
    spread = float(grey.std())
    if spread > 0:
        grey /= spread
    result = np.empty((*grey.shape, len(bank())), dtype=np.float32)
    for index, oriented in enumerate(bank()):
        responses = [cv2.filter2D(grey, -1, kernel, borderType=cv2.BORDER_REFLECT_101) for kernel in oriented]
        # Edges and bars count independent of the lighter side; the round filters keep their sign.
        result[..., index] = responses[0] if len(oriented) == 1 else np.max(np.abs(responses), axis=0)
    strength = np.linalg.norm(result, axis=2, keepdims=True)
    result *= np.log1p(strength / _WEBER) / np.maximum(strength, np.finfo(np.float32).tiny)
    return result


def shape(picture: Pixels) -> Field:
    """Return upright SIFT, a point for each 4 x 4 pixels, shape (about h / 4, about w / 4, 128).

    Descriptors are OpenCV's: whole numbers 0..255 of length about 512, or zeros where nothing changes.
    """
    return dense_sift(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), _STEP, _DIAMETER)


def dense_sift(channel: NDArray[Any], step: int, diameter: float) -> Field:
    """Return upright SIFT of one channel, shape (h, w) of 8 bits, a point for each `step` x `step` pixels.

    The result has shape (about h / step, about w / step, 128); each of a point's 4 x 4 histograms is 1.5
    diameters wide.
    """
    down, across = (range(step // 2, side, step) for side in channel.shape)
    points = [cv2.KeyPoint(float(x), float(y), diameter, 0.0) for y in down for x in across]
    _, descriptors = cv2.SIFT.create().compute(channel, points)
    return np.asarray(descriptors, dtype=np.float32).reshape(len(down), len(across), 128)


#: The kinds of words in the order of eq. 6: their descriptor, and the paper's number of words.
DESCRIPTORS: dict[str, tuple[Callable[[Pixels], Field], int]] = {
    "colour": (colour, 128),
    "texture": (texture, 256),
    "sift": (shape, 256),
}


@cache
def bank() -> list[list[NDArray[np.float32]]]:
    """Return the 38 filters of `texture`, (49, 49) each: six lists of six orientations, and two of one
    filter.

    Each has sum 0 (except the Gaussian) and absolute sum 1, so that all responses have the same scale.
    """
    half = _SUPPORT // 2
    y, x = np.mgrid[-half : half + 1, -half : half + 1].astype(float)
    bank = []
    for derivative in (1, 2):
        for across, along in _SCALES:
            oriented = []
            for step in range(_ORIENTATIONS):
                angle = math.pi * step / _ORIENTATIONS
                u, v = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
                slope = -u / across**2 if derivative == 1 else u**2 / across**4 - 1 / across**2
                oriented.append(_normalised(slope * np.exp(-((u / across) ** 2 + (v / along) ** 2) / 2)))
            bank.append(oriented)
    square = (x**2 + y**2) / _ROUND**2
    gaussian = np.exp(-square / 2)
    bank.append([(gaussian / gaussian.sum()).astype(np.float32)])
    bank.append([_normalised((square - 2) * gaussian)])
    return bank


def _normalised(kernel: NDArray[np.float64]) -> NDArray[np.float32]:
    kernel = kernel - kernel.mean()
    return np.asarray(kernel / np.abs(kernel).sum(), dtype=np.float32)
