"""Boxes that may contain an object: a grid, edge boxes, selective search, edges and segments.

All boxes are (xmin, ymin, xmax, ymax) in pixels of the upright picture, counted from 1 and inclusive, the
best one first, without duplicates. Edge boxes and selective search work on a copy whose longer side is at
most `LONGER` pixels: boxes are the same up to rounding, and faster.

Edge boxes score a box by the contours that lie entirely within it. The contours are those of gradients of
colour, not of the authors' structured forests, whose model cannot be part of this product.

Edges and segments: the box of a segment of similar colours, then two edge boxes, and so on, without boxes
that overlap an earlier one by more than 0.5. A box is right from an IoU of 0.5 on, so near duplicates are
wasted: with 0.75 between boxes, OpenCV's value, the first 100 find less (docs/localization.md). Segments are
ordered by their pixels times the root of the share of their box that they fill. This mixture is ours.

Sources: Zitnick and Dollar 2014 (edge boxes; section 3.4 for the overlap), Uijlings et al. 2013 (selective
search), Felzenszwalb and Huttenlocher 2004 (segments), all as in OpenCV's contributed modules.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from models_core.extras import LazyExtra

if TYPE_CHECKING:
    import cv2
else:
    cv2 = LazyExtra("cv2")


ProposalMethod = Literal["edges-and-segments", "edgeboxes", "selective-search", "grid"]
#: The method with the highest recall of 100 boxes (docs/localization.md).
BEST_PROPOSALS: ProposalMethod = "edges-and-segments"
#: Boxes of one picture, shape (boxes, 4).
ProposedBoxes = NDArray[np.int32]
#: Longer side in pixels of the copy on which edge boxes and selective search work.
LONGER = 320
#: Minimum shorter side of a box, as a share of the picture's.
_LEAST_SIDE = 0.05
#: The grid: sides as shares of the picture's, and the overlap of neighbours of the same size.
_GRID_SIDES, _GRID_OVERLAP = (0.75, 0.5, 0.35, 0.25), 0.5
#: Edges and segments: maximum overlap of two boxes, edge boxes per segment, minimum area of an edge box in
#: pixels of the copy, and maximum share of the picture that a segment's box may fill.
_APART, _EDGES_EACH, _LEAST_AREA, _LARGEST_SEGMENT = 0.5, 2, 300.0, 0.6
#: Blur, scale and minimum number of pixels of segments.
_SEGMENTS = (0.5, 400.0, 20)
#: Minimum shorter side of a segment, as a share of the picture's.
_LEAST_SEGMENT_SIDE = 0.02
#: Number of edge boxes computed per requested one.
_SPARE = 10
#: Blur in pixels of the picture before its gradients are computed.
_BLUR = 1.2


def whole_picture(width: int, height: int) -> ProposedBoxes:
    """Return the picture as one box."""
    return np.array([[1, 1, width, height]], np.int32)


def grid(width: int, height: int, limit: int) -> ProposedBoxes:
    """Return boxes of several sizes and the picture's shape, evenly spread, the largest first."""
    boxes = []
    for side in _GRID_SIDES:
        wide, high = max(1, round(side * width)), max(1, round(side * height))
        steps = int(np.ceil((1 - side) / (side * (1 - _GRID_OVERLAP)))) + 1
        for top in np.linspace(0, height - high, steps).round():
            for left in np.linspace(0, width - wide, steps).round():
                boxes.append((left + 1, top + 1, left + wide, top + high))
    return _once(np.asarray(boxes, np.int32))[:limit]


def edge_boxes(colours: NDArray[np.uint8], limit: int) -> ProposedBoxes:
    """Return the boxes that contain the most whole contours; `colours` has shape (height, width, 3)."""
    small, factor = _shrunk(colours)
    strength, direction = _edges(small)
    search = cv2.ximgproc.createEdgeBoxes()
    search.setMaxBoxes(limit * 2)  # some are too narrow
    boxes, _ = search.getBoundingBoxes(strength, direction)
    return _grown(np.asarray(boxes).reshape(-1, 4), factor, colours.shape, limit)


def selective_search(colours: NDArray[np.uint8], limit: int) -> ProposedBoxes:
    """Return boxes around segments that are merged step by step; `colours` is (height, width, 3).

    Large ones tend to come first: boxes are ordered by the rank of their area times a random number between 0
    and 1 from a fixed seed.
    """
    small, factor = _shrunk(colours)
    search = cv2.ximgproc.segmentation.createSelectiveSearchSegmentation()
    search.setBaseImage(np.ascontiguousarray(small[:, :, ::-1]))
    search.switchToSelectiveSearchFast()
    # OpenCV orders them by the C library's random numbers, which differ at each run.
    boxes = np.unique(np.asarray(search.process()).reshape(-1, 4), axis=0)
    boxes = boxes[np.argsort(-boxes[:, 2] * boxes[:, 3], kind="stable")]
    draws = np.random.default_rng(0).random(len(boxes)) * np.arange(1, len(boxes) + 1)
    return _grown(boxes[draws.argsort()], factor, colours.shape, limit)


def edges_and_segments(colours: NDArray[np.uint8], limit: int) -> ProposedBoxes:
    """Return edge boxes and segments alternately, without near duplicates; `colours` is (height, width,
    3)."""
    small, factor = _shrunk(colours)
    search = cv2.ximgproc.createEdgeBoxes()
    search.setBeta(_APART)
    search.setMinBoxArea(_LEAST_AREA)
    search.setMaxBoxes(limit * _SPARE)
    boxes, _ = search.getBoundingBoxes(*_edges(small))
    edges = _grown(np.asarray(boxes).reshape(-1, 4), factor, colours.shape, limit * _SPARE)
    segments = _segments(small, factor, colours.shape)
    turns = np.arange(len(edges) + len(segments))
    # Ranks in the alternation as if neither list ended; sorting them closes the gaps.
    of_segments = turns[: len(segments)] * (_EDGES_EACH + 1)
    of_edges = turns[: len(edges)] + turns[: len(edges)] // _EDGES_EACH + 1
    order = np.argsort(np.concatenate([of_segments, of_edges]), kind="stable")
    return _apart(_once(np.concatenate([segments, edges])[order]), limit)


def _segments(small: NDArray[np.uint8], factor: float, shape: tuple[int, ...]) -> ProposedBoxes:
    """Return the boxes of segments, those with the largest area and share of their box first."""
    segmentation = cv2.ximgproc.segmentation.createGraphSegmentation(*_SEGMENTS)
    labels = np.asarray(segmentation.processImage(np.ascontiguousarray(small[:, :, ::-1])))
    flat, number = labels.ravel().astype(np.intp), int(labels.max()) + 1
    rows, columns = (coordinates.ravel() for coordinates in np.indices(labels.shape))
    low, high = np.full((number, 2), labels.size), np.zeros((number, 2), np.intp)
    for axis, coordinates in enumerate((columns, rows)):
        np.minimum.at(low[:, axis], flat, coordinates)
        np.maximum.at(high[:, axis], flat, coordinates)
    sides = high - low + 1
    pixels, areas = np.bincount(flat, minlength=number), sides.prod(axis=1)
    order = np.argsort(-pixels * np.sqrt(pixels / areas), kind="stable")
    order = order[areas[order] < _LARGEST_SEGMENT * labels.size]
    boxes = np.concatenate([low, sides], axis=1)[order]
    return _grown(boxes, factor, shape, len(boxes), least=_LEAST_SEGMENT_SIDE)


def _apart(boxes: ProposedBoxes, limit: int) -> ProposedBoxes:
    """Return the first `limit` boxes that overlap no earlier one by more than `_APART`."""
    left = boxes.astype(np.float64)
    areas = np.prod(left[:, 2:] - left[:, :2] + 1, axis=1)
    retained: list[int] = []
    alive = np.ones(len(left), bool)
    for index in range(len(left)):
        if alive[index]:
            retained.append(index)
            if len(retained) == limit:
                break
            low = np.maximum(left[:, :2], left[index, :2])
            high = np.minimum(left[:, 2:], left[index, 2:])
            common = np.prod(np.maximum(high - low + 1, 0), axis=1)
            alive &= common <= _APART * (areas + areas[index] - common)
    return boxes[retained]


#: Methods by name; each returns at most the requested number of boxes of colours of shape (height, width, 3).
PROPOSALS: dict[ProposalMethod, Callable[[NDArray[np.uint8], int], ProposedBoxes]] = {
    "edges-and-segments": edges_and_segments,
    "edgeboxes": edge_boxes,
    "selective-search": selective_search,
    "grid": lambda colours, limit: grid(colours.shape[1], colours.shape[0], limit),
}


def _shrunk(colours: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], float]:
    """Return the picture at most `LONGER` pixels long, and the factor from its lengths to the original's."""
    height, width = colours.shape[:2]
    factor = max(1.0, max(height, width) / LONGER)
    if factor == 1:
        return np.ascontiguousarray(colours), factor
    size = max(1, round(width / factor)), max(1, round(height / factor))
    return np.asarray(cv2.resize(colours, size, interpolation=cv2.INTER_AREA), np.uint8), factor


def _edges(colours: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the edge strength at each pixel, from 0 to 1, and its direction; only ridges of the strength
    remain."""
    smooth = cv2.GaussianBlur(colours.astype(np.float32) / 255, (0, 0), _BLUR)
    x, y = (cv2.Sobel(smooth, cv2.CV_32F, *order) for order in ((1, 0), (0, 1)))
    strongest = (x**2 + y**2).argmax(axis=2)[..., None]
    dx, dy = (np.take_along_axis(gradient, strongest, 2)[..., 0] for gradient in (x, y))
    strength = np.hypot(dx, dy)
    rows, columns = np.indices(strength.shape, np.float32)
    length = np.where(strength > 0, strength, 1)
    for sign in (1, -1):
        # A ridge is at least as strong as its neighbours across it.
        beside = cv2.remap(
            strength,
            (columns + sign * dx / length).astype(np.float32),
            (rows + sign * dy / length).astype(np.float32),
            cv2.INTER_LINEAR,
        )
        strength = np.where(strength >= beside, strength, 0)
    highest = float(np.quantile(strength, 0.999)) or 1.0
    direction = np.arctan2(dy, dx) % np.pi
    return np.minimum(strength / highest, 1).astype(np.float32), direction.astype(np.float32)


def _grown(
    proposals: NDArray[Any], factor: float, shape: tuple[int, ...], limit: int, *, least: float = _LEAST_SIDE
) -> ProposedBoxes:
    """Scale boxes (x, y, width, height) of the copy to the picture, and remove those that are too narrow."""
    height, width = shape[:2]
    if not len(proposals):
        return np.empty((0, 4), np.int32)
    left, top, wide, high = (proposals.astype(np.float64) * factor).T
    boxes = np.column_stack([left + 1, top + 1, left + wide, top + high]).round()
    boxes = np.clip(boxes, 1, (width, height, width, height)).astype(np.int32)
    sides = boxes[:, 2:] - boxes[:, :2] + 1
    return _once(boxes[(sides >= (least * width, least * height)).all(axis=1)])[:limit]


def _once(boxes: ProposedBoxes) -> ProposedBoxes:
    """Remove duplicates; the first of equal boxes stays."""
    return boxes[np.sort(np.unique(boxes, axis=0, return_index=True)[1])]
