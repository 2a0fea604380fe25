"""Boxes over a picture: their relative positions, their order, and the positions of their tags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Box
from annotation.web.common.overlay import DASH, NOMINAL_WIDTH, TAG_HEIGHT, DrawnBox, Frame, Tag, draw_overlay

FRAME = Frame(400, 300)


def box(xmin: int, ymin: int, xmax: int, ymax: int) -> Box:
    return Box(xmin=xmin, ymin=ymin, xmax=xmax, ymax=ymax)


def patch(drawn_box: DrawnBox, frame: Frame) -> tuple[float, float, float, float]:
    """Return the rectangle of a box's tags, in pixels of a picture `NOMINAL` wide."""
    x, y = (float(corner.rstrip("%")) / 100 for corner in (drawn_box.corner_x, drawn_box.corner_y))
    left = x * NOMINAL_WIDTH + drawn_box.placed[0].dx
    top = y * NOMINAL_WIDTH * frame.height / frame.width + drawn_box.placed[0].dy
    return left, top, left + sum(p.tag.width for p in drawn_box.placed), top + TAG_HEIGHT


def test_the_whole_picture_is_a_hundred_per_cent():
    [item] = draw_overlay([(box(1, 1, 400, 300), [Tag(1, "1")])], FRAME)
    assert (item.x, item.y, item.width, item.height) == ("0.000%", "0.000%", "100.000%", "100.000%")


def test_small_boxes_lie_over_large_ones():
    drawn = draw_overlay([(box(1, 1, 9, 9), [Tag(1, "1")]), (box(1, 1, 90, 90), [Tag(2, "2")])], FRAME)
    assert [item.chains for item in drawn] == ["2", "1"]


def test_a_box_of_one_chain_has_a_plain_outline():
    [item] = draw_overlay([(box(1, 1, 9, 9), [Tag(1, "1")])], FRAME)
    assert [(line.hue, line.dash) for line in item.outlines] == [(1, "")]


def test_the_outline_of_a_shared_box_gives_each_chain_its_turn():
    [item] = draw_overlay([(box(1, 1, 9, 9), [Tag(1, "1"), Tag(9, "9a"), Tag(4, "4")])], FRAME)
    lines = [(line.hue, line.dash, line.offset) for line in item.outlines]
    dash = f"{DASH} {2 * DASH}"
    assert lines == [(1, dash, 0), (1, dash, -DASH), (4, dash, -2 * DASH)]


def test_tags_of_a_shared_box_stand_side_by_side():
    [item] = draw_overlay([(box(100, 100, 200, 200), [Tag(1, "1a"), Tag(12, "12")])], FRAME)
    assert [placed.dx for placed in item.placed] == [0, item.placed[0].tag.width]


@pytest.mark.parametrize(
    "corners", [(1, 1, 400, 300), (1, 1, 5, 5), (396, 296, 400, 300), (1, 290, 5, 300), (390, 1, 400, 4)]
)
def test_a_tag_stays_on_the_picture(corners: tuple[int, int, int, int]):
    [item] = draw_overlay([(box(*corners), [Tag(1, "1"), Tag(2, "2b")])], FRAME)
    left, top, right, bottom = patch(item, FRAME)
    assert left >= -0.01 and top >= -0.01
    assert right <= NOMINAL_WIDTH + 0.01 and bottom <= NOMINAL_WIDTH * 0.75 + 0.01


def test_tags_of_boxes_at_one_corner_do_not_cover_each_other():
    drawn = draw_overlay([(box(100, 100, 200 + i, 200 + i), [Tag(i, str(i))]) for i in range(1, 5)], FRAME)
    patches = [patch(item, FRAME) for item in drawn]
    for i, (left, top, right, bottom) in enumerate(patches):
        for entry in patches[i + 1 :]:
            assert right <= entry[0] or entry[2] <= left or bottom <= entry[1] or entry[3] <= top


@given(
    st.lists(st.tuples(*[st.integers(1, 400)] * 4), min_size=1, max_size=30),
    st.sampled_from([(400, 400), (1, 1), (400, 1), (1, 400), (500, 333)]),
)
def test_every_box_is_drawn_once_with_all_its_tags(raw: list[tuple[int, ...]], size: tuple[int, int]):
    boxes = [
        (box(min(a, c), min(b, d), max(a, c), max(b, d)), [Tag(i, f"{i}")])
        for i, (a, b, c, d) in enumerate(raw, start=1)
    ]
    drawn = draw_overlay(boxes, Frame(*size))
    assert sorted(item.numbers for item in drawn) == [[i] for i in range(1, len(boxes) + 1)]
    assert all(len(item.placed) == 1 for item in drawn)
