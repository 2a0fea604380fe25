"""A canvas records what it shows."""

from __future__ import annotations

import pytest

from scenes.art.canvas import LAST_PART, Canvas
from scenes.terms import Box


def drawn(*, mirrored: bool = False) -> tuple[Canvas, int, int]:
    canvas = Canvas(40, 30, mirrored=mirrored)
    back, front = canvas.part(), canvas.part()
    canvas.pen(back).fill([(5, 5), (25, 5), (25, 20), (5, 20)], (200, 0, 0))
    canvas.pen(front).fill([(15, 0), (35, 0), (35, 30), (15, 30)], (0, 0, 200))
    return canvas, back, front


def test_a_box_holds_what_is_to_be_seen_and_not_what_is_hidden():
    canvas, back, front = drawn()
    _, extents = canvas.finish()
    assert extents.box([back]) == Box(6, 6, 15, 20)
    assert extents.box([front]) == Box(16, 1, 35, 30)
    assert extents.box([back, front]) == Box(6, 1, 35, 30)


def test_what_is_wholly_hidden_has_no_box():
    canvas, back, _ = drawn()
    canvas.pen(canvas.part()).block(0, 0, 40, 30, (1, 2, 3))
    _, extents = canvas.finish()
    assert extents.box([back]) is None
    assert extents.pixels([back]) == 0


def test_a_mirrored_canvas_swaps_left_and_right():
    canvas, back, _ = drawn(mirrored=True)
    _, extents = canvas.finish()
    assert extents.box([back]) == Box(26, 6, 35, 20)


def test_light_and_shadow_change_colours_and_leave_identities():
    canvas, back, _ = drawn()
    plain_value, before = canvas.finish()
    canvas.pen().glow(12, 12, 20, 20, (255, 255, 255), 0.8)
    canvas.pen().veil([(0, 0), (40, 0), (40, 30)], (0, 0, 0), 0.5)
    lit, after = canvas.finish()
    assert after.box([back]) == before.box([back])
    assert after.pixels([back]) == before.pixels([back])
    assert lit.getpixel((12, 12)) != plain_value.getpixel((12, 12))


def test_light_on_nobodys_ground_fades_out_to_its_rim():
    canvas = Canvas(60, 60)
    canvas.pen().block(0, 0, 60, 60, (0, 0, 0))
    canvas.pen().glow(30, 30, 20, 20, (255, 255, 255), 1.0)
    picture, _ = canvas.finish()
    red = [picture.getchannel("R").crop((x, 30, x + 1, 31)).tobytes()[0] for x in (30, 40, 48, 52)]
    assert red == sorted(red, reverse=True)
    assert red[0] > 240
    assert red[-1] == 0


def test_a_canvas_that_is_out_of_part_numbers_says_so():
    canvas = Canvas(4, 4)
    for _ in range(LAST_PART):
        canvas.part()
    with pytest.raises(ValueError, match=f"holds {LAST_PART} parts at most"):
        canvas.part()


def test_a_flipped_and_turned_pen_draws_where_it_should():
    canvas = Canvas(40, 40)
    part = canvas.part()
    canvas.pen().at(20, 20, scale=2, flip=True, angle=90).of(part).fill(
        [(0, 0), (5, 0), (5, 2), (0, 2)], (9, 9, 9)
    )
    _, extents = canvas.finish()
    assert extents.box([part]) == Box(17, 11, 20, 20)
