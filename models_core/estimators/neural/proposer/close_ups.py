"""Close-ups of boxes: small squares with the box in the middle and a margin around it.

All boxes get the same size, so that what is learned from large objects helps with small ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models_core.extras import LazyExtra

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


@dataclass(frozen=True, slots=True)
class CloseView:
    """The side of a close-up in pixels, and its width relative to the box's."""

    side: int
    around: float


#: The view of the second stage, which finds the object, and of the last stage, which finds its edges.
SECOND_VIEW, LAST_VIEW = CloseView(32, 2.0), CloseView(64, 1.5)
#: The smallest side of a close-up, in pixels of the picture.
_LEAST = 12
#: Grey, for pixels outside the picture.
_OUTSIDE = (128, 128, 128)


def close_ups(
    colours: Sequence[NDArray[np.uint8]],
    boxes: NDArray[Any],
    pictures: Sequence[int] | NDArray[Any],
    view: CloseView = SECOND_VIEW,
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the close-ups (n, view.side, view.side, 3) of boxes (n, 4; shares), each of the picture with
    that index; and their windows, (n, 4), as shares, which may extend beyond the picture."""
    boxes = np.asarray(boxes, np.float64).reshape(-1, 4)
    pixels = np.empty((len(boxes), view.side, view.side, 3), np.uint8)
    windows = np.empty((len(boxes), 4))
    of = np.asarray(pictures, int)
    for index in np.unique(of):
        picture = colours[index]
        side = picture.shape[0]
        # A window is at most twice as wide as the picture, and its centre is in the picture.
        margin = side + _LEAST
        wider = cv2.copyMakeBorder(
            picture, margin, margin, margin, margin, cv2.BORDER_CONSTANT, value=_OUTSIDE
        )
        for row in np.flatnonzero(of == index):
            left, top, right, bottom = _window(np.clip(boxes[row], 0, 1) * side, view.around)
            windows[row] = np.array([left, top, right, bottom]) / side
            window = wider[top + margin : bottom + margin, left + margin : right + margin]
            shrinks = min(window.shape[:2]) > view.side
            how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
            pixels[row] = cv2.resize(window, (view.side, view.side), interpolation=how)
    return pixels, windows


def _window(box: NDArray[np.float64], around: float) -> tuple[int, int, int, int]:
    """Return the window of a box's close-up in whole pixels."""
    middle, extent = (box[:2] + box[2:]) / 2, np.maximum((box[2:] - box[:2]) * around, _LEAST)
    low, high = np.floor(middle - extent / 2).astype(int), np.ceil(middle + extent / 2).astype(int)
    return int(low[0]), int(low[1]), int(high[0]), int(high[1])
