"""The box editor: exact to the pixel at any zoom, with pointer, keys, fields and finger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Judgment
from annotation.protocol import questions as q
from tests.browser.at_work import answered, ask_for_a_second_box, at, unfold_edges, wait_for_task
from tests.browser.box_editor import EDGES, box, drag, point_at, stored_box
from tests.browser.conftest import Open
from tests.queue.world import World
from tests.sizes import by_default
from tests.web import desk

#: In addition to those of the tests of zooming.
SCREENS: list[dict[str, Any]] = [
    {"width": 853, "height": 533, "device_scale_factor": 1.5},  # a browser zoomed to 150 %
    {"width": 390, "height": 844, "device_scale_factor": 3},
    {"width": 3000, "height": 1700},
]


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn", open_kind=q.BOX_DRAWING)


@pytest.fixture
def editor(work: World, open_page: Open) -> Page:
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    return page


@pytest.mark.parametrize(
    "screen", by_default(1, SCREENS), ids=lambda s: f"{s['width']}x{s.get('device_scale_factor', 1)}"
)
def test_a_box_is_stored_to_the_pixel_on_every_screen(work: World, open_page: Open, screen: dict[str, Any]):
    page = open_page(**screen)
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    page.evaluate("scrollTo(0, 0)")
    drag(page, (59, 79), (130, 330))
    assert box(page) == [60, 80, 130, 330]
    page.get_by_role("button", name="Send this box").click()
    answered(page, q.BOX_DRAWING, 1)
    assert stored_box() == ([60, 80, 130, 330], "drag")


def test_a_box_can_be_drawn_from_any_corner(editor: Page):
    for start, end in (((130, 330), (59, 79)), ((59, 330), (130, 79)), ((130, 79), (59, 330))):
        drag(editor, start, end)
        assert box(editor) == [60, 80, 130, 330]
        editor.keyboard.press("Delete")


def test_a_new_box_replaces_the_old_one_even_inside_it(editor: Page):
    drag(editor, (10, 10), (400, 300))
    drag(editor, (50, 60), (120, 140))
    assert box(editor) == [51, 61, 120, 140]


def test_a_box_is_drawn_inside_one_that_is_accepted(work: World, open_page: Open):
    accepted = ask_for_a_second_box(work)
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    drag(page, (accepted.xmin + 9, accepted.ymin + 9), (accepted.xmax - 10, accepted.ymax - 10))
    assert box(page) == [accepted.xmin + 10, accepted.ymin + 10, accepted.xmax - 10, accepted.ymax - 10]
    expect(page.get_by_role("button", name="No further box")).to_be_visible()


def test_a_click_draws_nothing_and_takes_nothing_away(editor: Page):
    drag(editor, (100, 100), (102, 101))
    assert box(editor) == [None] * 4
    drag(editor, (59, 79), (130, 330))
    drag(editor, (200, 100), (201, 101))
    assert box(editor) == [60, 80, 130, 330]


def test_what_is_drawn_beyond_the_picture_ends_at_its_edge(editor: Page):
    drag(editor, (300, 200), (700, 500))
    assert box(editor) == [301, 201, 480, 360]
    drag(editor, (100, 100), (-80, -50))
    assert box(editor) == [1, 1, 100, 100]


def test_handles_change_one_corner_or_side_each(editor: Page):
    drag(editor, (99, 99), (200, 200))
    drag(editor, (200, 200), (250, 230))
    assert box(editor) == [100, 100, 250, 230]
    drag(editor, (99, 99), (49, 59))
    assert box(editor) == [50, 60, 250, 230]
    drag(editor, (149.5, 59), (149.5, 39))
    assert box(editor) == [50, 40, 250, 230]
    drag(editor, (250, 134.5), (300, 134.5))
    assert box(editor) == [50, 40, 300, 230]


def test_a_corner_stops_where_the_box_would_vanish(editor: Page):
    drag(editor, (99, 99), (200, 200))
    drag(editor, (200, 200), (20, 20))
    assert box(editor) == [100, 100, 103, 103]


def test_the_middle_moves_the_box_within_the_picture(editor: Page):
    drag(editor, (99, 99), (200, 200))
    drag(editor, (149.5, 149.5), (159.5, 169.5))
    assert box(editor) == [110, 120, 210, 220]
    drag(editor, (159.5, 169.5), (900, 900))
    assert box(editor) == [380, 260, 480, 360]


def test_arrows_place_move_and_resize_a_box(editor: Page):
    editor.keyboard.press("ArrowRight")
    assert box(editor) == [120, 90, 360, 270]
    editor.keyboard.press("ArrowLeft")
    editor.keyboard.press("ArrowDown")
    assert box(editor) == [119, 91, 359, 271]
    editor.keyboard.press("Shift+ArrowRight")
    editor.keyboard.press("Shift+ArrowUp")
    assert box(editor) == [119, 91, 360, 270]
    editor.keyboard.press("Delete")
    assert box(editor) == [None] * 4


def test_a_held_arrow_goes_faster_and_stops_at_the_edge(editor: Page):
    drag(editor, (99, 99), (200, 200))
    for _ in range(60):
        editor.keyboard.down("ArrowLeft")
    editor.keyboard.up("ArrowLeft")
    assert box(editor) == [1, 100, 101, 200]


def test_the_keyboard_alone_draws_and_sends_a_box(editor: Page):
    editor.keyboard.press("ArrowUp")
    editor.keyboard.press("1")
    answered(editor, q.BOX_DRAWING, 1)
    assert stored_box() == ([120, 90, 360, 270], "keys")


def test_fields_and_picture_show_the_same_box(editor: Page):
    unfold_edges(editor)
    for name, value in zip(EDGES, (11, 21, 110, 220), strict=True):
        editor.get_by_label(name, exact=True).fill(str(value))
    edge = editor.locator(".sheet .edge")
    expect(edge).to_be_visible()
    assert [edge.get_attribute(name) for name in ("x", "y", "width", "height")] == ["10", "20", "100", "200"]
    editor.get_by_label("Left", exact=True).fill("")
    expect(edge).to_be_hidden()


def test_arrows_in_a_field_change_the_field(editor: Page):
    unfold_edges(editor)
    drag(editor, (99, 99), (200, 200))
    editor.get_by_label("Right", exact=True).press("ArrowUp")
    assert box(editor) == [100, 100, 201, 200]


def test_sending_without_a_box_says_what_is_missing(editor: Page):
    editor.get_by_role("button", name="Send this box").click()
    left = editor.get_by_label("Left", exact=True)
    assert left.evaluate("field => field.validationMessage") == "Draw a box first."
    expect(left).to_be_visible()
    assert not Judgment.objects.filter(worker__pseudonym="w-ann").exists()
    for name, edge in zip(EDGES, (50, 21, 40, 220), strict=True):
        editor.get_by_label(name, exact=True).fill(str(edge))
    assert "Left must come before right" in left.evaluate("field => field.validationMessage")


def test_number_fields_stay_as_one_left_them_over_a_reload(editor: Page):
    left = editor.get_by_label("Left", exact=True)
    expect(left).to_be_hidden()
    unfold_edges(editor)
    editor.keyboard.press("Escape")
    editor.reload()
    wait_for_task(editor)
    expect(left).to_be_visible()


def test_escape_takes_a_box_back_that_is_being_drawn(editor: Page):
    drag(editor, (99, 99), (200, 200))
    editor.mouse.move(*point_at(editor, 300, 100))
    editor.mouse.down()
    editor.mouse.move(*point_at(editor, 400, 300))
    assert box(editor) == [301, 101, 400, 300]
    editor.keyboard.press("Escape")
    editor.mouse.up()
    assert box(editor) == [100, 100, 200, 200]


def test_the_remove_button_takes_the_box_away(editor: Page):
    drag(editor, (99, 99), (200, 200))
    editor.get_by_role("button", name="Remove").click()
    assert box(editor) == [None] * 4
    expect(editor.get_by_role("button", name="Remove")).to_be_hidden()


def test_the_box_stays_on_the_picture_when_the_window_changes(editor: Page):
    drag(editor, (99, 99), (200, 200))
    editor.set_viewport_size({"width": 700, "height": 900})
    editor.evaluate("scrollTo(0, 0)")
    drawn = editor.locator(".sheet .edge").bounding_box()
    left, top = point_at(editor, 99, 99)
    assert drawn is not None
    assert abs(drawn["x"] - left) < 2 and abs(drawn["y"] - top) < 2
