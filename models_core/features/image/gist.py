"""GIST: the energy of each orientation and scale in each part of a picture.

The colours of a picture are normalized to equal local contrast and filtered by Gabor filters in the Fourier
domain; the magnitudes of the responses are averaged over square blocks. Filters of 8, 8 and 4 orientations
from fine to coarse, 4 x 4 blocks and three colours give the 960 numbers of Gong et al. 2014, table 1.

Source: Oliva and Torralba 2001, sections 3 and 4. The constants (frequencies 0.3 / 1.85^scale, widths, the
low-pass of 4 cycles, 0.2 added to the local contrast) are those of the authors' program, from memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from phrasebox.lazy import fft

#: Frequency of the finest filters in cycles per pixel, and the ratio between the frequencies of successive
#: scales.
_FINEST, _RATIO = 0.3, 1.85
#: Narrowness of filters along the frequency, and in angle (with the square of the number of orientations).
_RADIAL, _ANGULAR = 3.5, math.pi / 32
#: Of local contrast: cycles where the low-pass is at a half, pixels of mirrored border, minimum contrast.
_CYCLES, _BORDER, _LEAST_CONTRAST = 4.0, 5, 0.2


def gist(
    colours: NDArray[np.uint8], orientations: Sequence[int] = (8, 8, 4), blocks: int = 4
) -> NDArray[np.float32]:
    """Return GIST of a square picture, shape (side, side, colours), each colour from 0 to 255.

    `orientations` has the number of filters of each scale, the finest first. The result is one row of colours
    x filters x blocks x blocks numbers, in this order.
    """
    side = colours.shape[0]
    border = side // 4
    even = local_contrast(colours)
    padded = np.pad(even, ((border, border), (border, border), (0, 0)), mode="symmetric")
    spectrum = fft.fft2(padded.transpose(2, 0, 1).astype(np.float32))
    edges = np.arange(blocks + 1) * side // blocks
    energies = []
    for gabor_filter in gabor_filters(side + 2 * border, tuple(orientations)):
        responses = np.abs(fft.ifft2(spectrum * gabor_filter))[
            :, border : border + side, border : border + side
        ]
        sums = np.add.reduceat(np.add.reduceat(responses, edges[:-1], axis=1), edges[:-1], axis=2)
        energies.append(sums / np.outer(np.diff(edges), np.diff(edges)))
    return np.stack(energies, axis=1).astype(np.float32).ravel()


def local_contrast(colours: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return logarithms of colours less their low frequencies, over the local contrast; same shape.

    The contrast is that of the mean over colours, so that relations between colours stay. Light and shade
    across the picture have no effect.
    """
    logs = np.log1p(colours.astype(np.float64))
    padded = np.pad(logs, ((_BORDER, _BORDER), (_BORDER, _BORDER), (0, 0)), mode="symmetric")
    height, width = padded.shape[:2]
    down, across = fft.fftfreq(height, 1 / height), fft.fftfreq(width, 1 / width)
    low = np.exp(-(down[:, None] ** 2 + across**2) * math.log(2) / _CYCLES**2)
    high = padded - fft.ifft2(fft.fft2(padded, axes=(0, 1)) * low[:, :, None], axes=(0, 1)).real
    power = fft.ifft2(fft.fft2(high.mean(axis=2) ** 2) * low).real
    even = high / (_LEAST_CONTRAST + np.sqrt(np.abs(power)))[:, :, None]
    return np.asarray(even[_BORDER:-_BORDER, _BORDER:-_BORDER])


@lru_cache(maxsize=4)
def gabor_filters(side: int, orientations: tuple[int, ...]) -> NDArray[np.float32]:
    """Return transfer functions of all filters, shape (filters, side, side), frequencies in FFT order.

    Filter k of n in a scale responds to gratings whose brightness changes along the angle -k pi / n, measured
    from the x axis towards increasing y.
    """
    frequencies = fft.fftfreq(side)
    radius = np.hypot(frequencies[:, None], frequencies)
    angle = np.arctan2(frequencies[:, None], frequencies)
    filters = []
    for scale, number in enumerate(orientations):
        ring = np.exp(-_RADIAL * (radius * _RATIO**scale / _FINEST - 1) ** 2)
        for index in range(number):
            turned = angle + math.pi * index / number
            turned -= 2 * math.pi * np.round(turned / (2 * math.pi))
            filters.append(ring * np.exp(-_ANGULAR * number**2 * turned**2))
    return np.stack(filters).astype(np.float32)
