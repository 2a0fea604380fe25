"""Pictures from files: read once, identified by their content, scaled to one size.

A picture is identified by the SHA-256 of its file, so that renamed or repeated files are computed once.
Filters and descriptors have a fixed size in pixels, so all pictures are scaled to the same longer side.
"""

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from models_core.extras import LazyExtra

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


Pixels = NDArray[np.uint8]

#: Smallest side that has 4 x 4 cells of a few pixels each.
_SMALLEST_SIDE = 16


class BadPicture(ValueError):
    """A file that is no usable picture; the message names it."""


class Picture(NamedTuple):
    """A file's bytes, and their SHA-256 in hexadecimal."""

    path: Path
    data: bytes
    digest: str


def read_picture(path: Path) -> Picture:
    """Return the file's bytes. Raises BadPicture if it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as reason:
        raise BadPicture(f"picture {path} cannot be read: {reason.strerror}") from reason
    return Picture(path, data, hashlib.sha256(data).hexdigest())


def upright(picture: Picture) -> Image.Image:
    """Return red, green and blue, rotated by the file's EXIF data. Raises BadPicture for damaged files and
    other files."""
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as reason:
        raise BadPicture(
            f"picture {picture.path} cannot be read: {reason}; replace it or leave it out"
        ) from reason


def pixels(picture: Picture, longer_side: int) -> Pixels:
    """Return red, green and blue, shape (height, width, 3), upright and scaled to `longer_side`.

    Raises BadPicture for damaged files, other files, and pictures too thin to be divided into cells.
    """
    image = upright(picture)
    scale = longer_side / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    if min(width, height) < _SMALLEST_SIDE:
        raise BadPicture(
            f"picture {picture.path} is {image.width} x {image.height}; scaled to {longer_side}, one "
            f"side is shorter than {_SMALLEST_SIDE} pixels; leave it out"
        )
    colours = np.asarray(image)
    if (width, height) == image.size:
        return colours
    # Areas are averaged when a picture shrinks: details below a pixel must not turn into texture.
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(colours, (width, height), interpolation=way), dtype=np.uint8)
