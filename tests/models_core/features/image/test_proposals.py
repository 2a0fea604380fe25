"""Boxes that may contain something."""

import numpy as np
import pytest

from models_core.features.image.proposals import LONGER, PROPOSALS, grid, whole_picture

METHODS = sorted(PROPOSALS)


def thing(width=200, height=120, box=(61, 31, 120, 90)):
    """Return a dark thing on a bright ground with some noise."""
    colours = np.full((height, width, 3), 220.0) + np.random.default_rng(0).normal(0, 3, (height, width, 3))
    left, top, right, bottom = box
    colours[top - 1 : bottom, left - 1 : right] = (40, 60, 160)
    return np.clip(colours, 0, 255).astype(np.uint8), box


def overlap(first, second):
    """Return the intersection of both boxes over their union."""
    left, top = np.maximum(first[:2], second[:2])
    right, bottom = np.minimum(first[2:], second[2:])
    both = max(0, right - left + 1) * max(0, bottom - top + 1)
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (first, second)]
    return both / (sum(areas) - both)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [(200, 120), (37, 300), (3 * LONGER, 2 * LONGER)])
def test_boxes_lie_in_the_picture_each_once_the_same_each_time_and_no_more_than_asked_for(method, size):
    width, height = size
    patches = np.random.default_rng(1).integers(0, 256, (8, 8, 3), np.uint8)
    colours = patches[np.arange(height) * 8 // height][:, np.arange(width) * 8 // width]
    colours[height // 4 : height // 2, width // 4 : width // 2] = 250
    boxes = PROPOSALS[method](colours, 12)
    assert boxes.dtype == np.int32 and 1 <= len(boxes) <= 12
    assert (boxes[:, :2] >= 1).all() and (boxes[:, 2:] <= size).all() and (boxes[:, :2] <= boxes[:, 2:]).all()
    assert len(np.unique(boxes, axis=0)) == len(boxes)
    np.testing.assert_array_equal(PROPOSALS[method](colours, 12), boxes)


@pytest.mark.parametrize("method", ["edgeboxes", "selective-search"])
@pytest.mark.parametrize("factor", [1, 4])
def test_a_thing_is_found_at_any_size_of_its_picture(method, factor):
    colours, box = thing()
    colours = colours.repeat(factor, axis=0).repeat(factor, axis=1)
    box = (np.array([box[0] - 1, box[1] - 1, box[2], box[3]]) * factor) + (1, 1, 0, 0)
    assert max(overlap(result, box) for result in PROPOSALS[method](colours, 19)) > 0.6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [(1, 1), (2, 5), (64, 48)])
def test_pictures_without_anything_in_them_give_boxes_or_none(method, size):
    boxes = PROPOSALS[method](np.full((size[1], size[0], 3), 128, np.uint8), 19)
    assert boxes.shape[1:] == (4,) and (boxes[:, 2:] <= size).all() and (boxes >= 1).all()


def test_a_grid_covers_the_picture_from_large_to_small():
    boxes = grid(100, 60, 1000)
    sides = boxes[:, 2:] - boxes[:, :2] + 1
    assert (np.diff(sides.prod(axis=1)) <= 0).all()
    seen = np.zeros((60, 100), bool)
    for left, top, right, bottom in boxes[sides[:, 0] == sides[:, 0].min()]:
        seen[top - 1 : bottom, left - 1 : right] = True
    assert seen.all()
    np.testing.assert_array_equal(grid(100, 60, 5), boxes[:5])
    np.testing.assert_array_equal(whole_picture(100, 60), [[1, 1, 100, 60]])


def test_boxes_of_edges_and_segments_keep_apart():
    patches = np.random.default_rng(1).integers(0, 256, (8, 8, 3), np.uint8)
    colours = patches[np.arange(160) * 8 // 160][:, np.arange(240) * 8 // 240]
    boxes = PROPOSALS["edges-and-segments"](colours, 60)
    assert len(boxes) > 20
    near = [overlap(box, another) for index, box in enumerate(boxes) for another in boxes[:index]]
    assert max(near) <= 0.5
