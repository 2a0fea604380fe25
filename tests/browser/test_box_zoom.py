"""The box editor with zoom and pan: the stored box is exact to the pixel, whatever part is visible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.protocol import questions as q
from tests.browser.at_work import answered, at, eventually, unfold_edges, wait_for_task
from tests.browser.box_editor import (
    Fingers,
    box,
    by_points,
    click,
    comes_to,
    drag,
    point_at,
    stored_box,
    under,
    zoom,
    zoomed,
)
from tests.browser.conftest import Open
from tests.queue.world import World
from tests.sizes import THOROUGH, by_default
from tests.web import desk
from tests.web.world import SIZE

DRAWN = [72, 92, 130, 160]
MIDDLE = (95.0, 120.0)
LAPTOP: dict[str, Any] = {"width": 1280, "height": 800}
PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn", open_kind=q.BOX_DRAWING)


@pytest.fixture
def editor(work: World, open_page: Open) -> Page:
    return opened(open_page)


def opened(open_page: Open, **screen: Any) -> Page:
    page = open_page(**{**LAPTOP, **screen})
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    page.evaluate("scrollTo(0, 0)")
    return page


def near(result: tuple[float, float], expected: tuple[float, float], by: float = 0.7) -> bool:
    return all(abs(a - b) <= by for a, b in zip(result, expected, strict=True))


# To the pixel


#: The magnification of the picture, and the density of the screen: each value once, all in the slow run.
SCREENS = [
    (0.5, 2),
    (1, 1),
    (3, 2),
    *(pytest.param(*screen, marks=pytest.mark.slow) for screen in ((0.5, 1), (1, 2), (3, 1))),
]


@pytest.mark.parametrize(("times", "ratio"), SCREENS if THOROUGH else SCREENS[:1])
def test_a_dragged_box_is_stored_to_the_pixel(work: World, open_page: Open, times: float, ratio: int):
    page = opened(open_page, device_scale_factor=ratio)
    zoom(page, times, MIDDLE)
    drag(page, (71, 91), (130, 160))
    assert box(page) == DRAWN
    page.keyboard.press("1")
    answered(page, q.BOX_DRAWING, 1)
    assert stored_box() == (DRAWN, "drag")


@pytest.mark.parametrize(("times", "ratio"), SCREENS if THOROUGH else SCREENS[2:])
def test_four_extreme_points_are_stored_to_the_pixel(work: World, open_page: Open, times: float, ratio: int):
    page = opened(open_page, device_scale_factor=ratio)
    by_points(page)
    zoom(page, times, MIDDLE)
    for point in ((90, 92), (72, 110), (100, 160), (130, 99)):
        click(page, *point)
    assert box(page) == DRAWN
    page.keyboard.press("1")
    answered(page, q.BOX_DRAWING, 1)
    assert stored_box() == (DRAWN, "extreme")


@pytest.mark.parametrize(("times", "taps"), by_default(1, [(3, 3), (1, 0)]))
def test_a_finger_draws_to_the_pixel(work: World, open_page: Open, times: float, taps: int):
    page = opened(open_page, **PHONE, device_scale_factor=2)
    for _ in range(taps):
        page.get_by_role("button", name="Zoom in").tap()
    assert zoomed(page) == times
    left, top = (round(value) for value in under(page, *point_of_frame(page, 0.2, 0.2)))
    Fingers(page).drag((left, top), (left + 70, top + 60))
    comes_to(page, [left + 1, top + 1, left + 70, top + 60])
    page.wait_for_timeout(1000)  # an immediate tap would be taken for half of a double tap
    page.get_by_role("button", name="Send this box").tap()
    answered(page, q.BOX_DRAWING, 1)
    assert stored_box() == ([left + 1, top + 1, left + 70, top + 60], "drag")


def point_of_frame(page: Page, u: float, v: float) -> tuple[float, float]:
    """Return a point of the window from shares of the frame."""
    frame = page.locator("[data-frame]").bounding_box()
    assert frame is not None
    return frame["x"] + u * frame["width"], frame["y"] + v * frame["height"]


@pytest.mark.parametrize("times", by_default(1, [3, 0.5]))
def test_handles_work_at_every_zoom(editor: Page, times: float):
    drag(editor, (71, 91), (130, 160))
    zoom(editor, times, MIDDLE)
    drag(editor, (130, 160), (141, 151))
    assert box(editor) == [72, 92, 141, 151]
    drag(editor, (106.5, 121.5), (116.5, 131.5))
    assert box(editor) == [82, 102, 151, 161]


@pytest.mark.parametrize("times", [pytest.param(0.5, marks=pytest.mark.slow), 3])
def test_edges_clamp_at_every_zoom(editor: Page, times: float):
    zoom(editor, times, (470, 350))
    drag(editor, (440, 330), (900, 700))
    assert box(editor) == [441, 331, *SIZE]
    drag(editor, (470, 345), (480, 360))
    editor.keyboard.press("Shift+ArrowRight")
    assert box(editor)[2:] == list(SIZE)


def test_a_box_begins_beyond_the_picture_where_that_is_smaller_than_the_frame(editor: Page):
    zoom(editor, 0.5, MIDDLE)
    drag(editor, (-60, -40), (120, 90))
    assert box(editor) == [1, 1, 120, 90]


# Zoom


@pytest.mark.parametrize("held", [None, "Control"])
def test_the_wheel_zooms_at_the_pointer(editor: Page, held: str | None):
    spot = point_at(editor, 300, 200)
    editor.mouse.move(*spot)
    if held:
        editor.keyboard.down(held)
    for turned in (-120, -120, -240, 120):
        before = zoomed(editor)
        editor.mouse.wheel(0, turned)
        editor.wait_for_function(
            "was => parseInt(document.querySelector('[data-zoom]').textContent) !== was",
            arg=round(100 * before),
        )
        assert (zoomed(editor) > before) == (turned < 0)
        assert near(under(editor, *spot), (300, 200))


def test_keys_and_buttons_zoom_and_show_the_whole_picture_again(editor: Page):
    spot = point_at(editor, 100, 300)
    editor.mouse.move(*spot)
    for key, expected in (("+", 1.5), ("+", 2), ("-", 1.5)):
        editor.keyboard.press(key)
        assert zoomed(editor) == expected
        assert near(under(editor, *spot), (100, 300))
    editor.keyboard.press("0")
    assert zoomed(editor) == 1
    editor.get_by_role("button", name="Zoom in").click()
    editor.get_by_role("button", name="show the whole picture").click()
    assert zoomed(editor) == 1 and near(under(editor, *point_of_frame(editor, 0, 0)), (0, 0))


def test_zoom_ends_where_there_is_nothing_more_to_see(editor: Page):
    for _ in range(20):
        editor.keyboard.press("+")
    assert zoomed(editor) == 16
    for _ in range(20):
        editor.keyboard.press("-")
    assert zoomed(editor) == 0.5
    assert near(under(editor, *point_of_frame(editor, 0.5, 0.5)), (240, 180))


def test_the_wheel_scrolls_the_page_where_the_whole_picture_is_seen(work: World, open_page: Open):
    page = opened(open_page, width=800, height=500)
    page.mouse.move(*point_at(page, 100, 100))
    page.mouse.wheel(0, 200)
    page.wait_for_function("() => scrollY > 0")
    assert zoomed(page) == 1
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => scrollY <= 110")
    assert zoomed(page) == 1


def test_two_fingers_zoom_and_pan_and_take_back_what_the_first_began(work: World, open_page: Open):
    page = opened(open_page, **PHONE)
    fingers = Fingers(page)
    first, second = point_of_frame(page, 0.4, 0.5), point_of_frame(page, 0.6, 0.5)
    spot = under(page, *point_of_frame(page, 0.5, 0.5))
    fingers.down(point_of_frame(page, 0.6, 0.8))
    fingers.move(first)
    expect(page.get_by_label("Left", exact=True)).not_to_have_value("")
    fingers.down(first, second)
    comes_to(page, [None] * 4)
    apart = point_of_frame(page, 0.2, 0.5), point_of_frame(page, 0.8, 0.5)
    fingers.move(*apart)
    eventually(page, lambda: zoomed(page) == pytest.approx(3, abs=0.1))
    assert near(under(page, *point_of_frame(page, 0.5, 0.5)), spot, 2)
    fingers.move(*((x + 40, y + 20) for x, y in apart))
    middle = point_of_frame(page, 0.5, 0.5)
    eventually(page, lambda: near(under(page, middle[0] + 40, middle[1] + 20), spot, 2))
    fingers.up()
    comes_to(page, [None] * 4)
    expect(page.locator(".loupe")).to_be_hidden()


# Pan


@pytest.mark.parametrize("how", ["space", "middle"])
def test_the_space_bar_and_the_middle_button_pan(editor: Page, how: str):
    zoom(editor, 3, (240, 180))
    start = point_at(editor, 240, 180)
    editor.mouse.move(*start)
    if how == "space":
        editor.keyboard.down(" ")
        editor.mouse.down()
    else:
        editor.mouse.down(button="middle")
    editor.mouse.move(start[0] + 100, start[1] - 60)
    editor.mouse.up(button="middle" if how == "middle" else "left")
    if how == "space":
        editor.keyboard.up(" ")
    assert near(under(editor, start[0] + 100, start[1] - 60), (240, 180))
    assert box(editor) == [None] * 4
    drag(editor, (240, 180), (280, 220))
    assert box(editor) == [241, 181, 280, 220]


def test_keys_pan_as_far_as_the_picture_goes(editor: Page):
    zoom(editor, 3, (240, 180))
    before = under(editor, *point_of_frame(editor, 0, 0))
    for key, axis, sign in (("d", 0, 1), ("s", 1, 1), ("a", 0, -1), ("w", 1, -1)):
        editor.keyboard.press(key)
        after = under(editor, *point_of_frame(editor, 0, 0))
        assert (after[axis] - before[axis]) * sign > 10
        before = after
    for _ in range(30):
        editor.keyboard.press("d")
        editor.keyboard.press("s")
    assert near(under(editor, *point_of_frame(editor, 1, 1)), SIZE)


def test_what_is_seen_follows_a_box_that_is_moved_by_keys(editor: Page):
    drag(editor, (221, 161), (260, 200))
    zoom(editor, 4, (240, 180))
    for _ in range(40):
        editor.keyboard.down("ArrowRight")
    editor.keyboard.up("ArrowRight")
    right = box(editor)[2]
    assert right is not None and right > 350
    edge = point_at(editor, right, 180)[0]
    assert edge <= point_of_frame(editor, 1, 0)[0]


def test_letters_count_only_where_single_keys_do_and_never_while_one_types(editor: Page):
    unfold_edges(editor)
    editor.get_by_label("Left", exact=True).press("0")
    editor.get_by_label("Answer with single keys").uncheck()
    editor.keyboard.press("+")
    editor.keyboard.press("x")
    assert zoomed(editor) == 1
    expect(editor.get_by_role("radio", name="Drag")).to_be_checked()
    editor.get_by_label("Answer with single keys").check()
    editor.keyboard.press("+")
    assert zoomed(editor) == 1.5
