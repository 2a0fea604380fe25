"""Drawing with four extreme points: the tight box at once, point by point, and undo."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Judgment
from annotation.protocol import questions as q
from tests.browser.at_work import answered, at, wait_for_task
from tests.browser.box_editor import Fingers, box, by_points, click, comes_to, drag, point_at, stored_box
from tests.browser.conftest import Open
from tests.queue.world import World
from tests.web import desk

NONE = [None] * 4
#: Topmost, leftmost, lowest, rightmost pixel of something, and its tight box.
POINTS = ((90, 82), (62, 110), (100, 160), (130, 99))
TIGHT = [62, 82, 130, 160]


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn", open_kind=q.BOX_DRAWING)


@pytest.fixture
def editor(work: World, open_page: Open) -> Page:
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    by_points(page)
    return page


def marks(page: Page) -> int:
    """Return the number of points shown over the picture."""
    return page.locator(".points .light").count()


def expect_text(page: Page, text: str) -> None:
    """Check the text about the box for screen readers."""
    expect(page.locator("[data-spoken]")).to_have_text(text)


def test_four_clicks_in_any_order_give_the_tight_box(editor: Page):
    for order in list(permutations(POINTS))[::5]:
        for number, point in enumerate(order, 1):
            assert box(editor) == NONE or number == 1
            click(editor, *point)
            assert marks(editor) == number
        assert box(editor) == TIGHT
    editor.get_by_role("button", name="Send this box").click()
    answered(editor, q.BOX_DRAWING, 1)
    assert stored_box() == (TIGHT, "extreme")


def test_one_point_may_be_the_end_of_two_sides(editor: Page):
    for point in ((62, 82), (130, 82), (130, 160), (62, 160)):
        click(editor, *point)
    assert box(editor) == TIGHT


def test_undo_takes_back_one_point_and_redo_puts_it_there_again(editor: Page):
    for point in POINTS:
        click(editor, *point)
    expect_text(editor, "69 × 79 pixels")
    for left in (3, 2, 1, 0):
        editor.keyboard.press("Control+z")
        assert (marks(editor), box(editor)) == (left, NONE)
    for there in (1, 2, 3, 4):
        editor.keyboard.press("Control+y")
        assert marks(editor) == there
    assert box(editor) == TIGHT


def test_the_points_of_an_unfinished_box_are_there_after_a_reload(editor: Page):
    for point in POINTS[:3]:
        click(editor, *point)
    # Drafts are stored at the latest when a page is left.
    editor.reload()
    wait_for_task(editor)
    expect(editor.locator(".points .light")).to_have_count(3)
    editor.keyboard.press("Control+z")
    assert marks(editor) == 2
    for point in POINTS[2:]:
        click(editor, *point)
    assert box(editor) == TIGHT
    editor.get_by_role("button", name="Send this box").click()
    answered(editor, q.BOX_DRAWING, 1)
    assert stored_box() == (TIGHT, "extreme")


def test_escape_takes_back_the_points_of_an_unfinished_box(editor: Page):
    for point in POINTS[:3]:
        click(editor, *point)
    expect_text(editor, "3 of 4 points: click the others")
    editor.keyboard.press("Escape")
    assert (marks(editor), box(editor)) == (0, NONE)
    editor.keyboard.press("Control+z")
    assert marks(editor) == 3


def test_an_unfinished_box_is_not_sent_and_the_page_says_how_many_points_there_are(editor: Page):
    for point in POINTS[:2]:
        click(editor, *point)
    editor.get_by_role("button", name="Send this box").click()
    left = editor.get_by_label("Left", exact=True)
    assert left.evaluate("field => field.validationMessage") == "2 of 4 points: click the others"
    assert not Judgment.objects.filter(worker__pseudonym="w-ann").exists()


def test_points_are_set_where_the_box_before_them_has_its_handles(editor: Page):
    drag_to_draw(editor, (61, 81), (130, 160))
    assert box(editor) == TIGHT
    by_points(editor)
    for point in ((95, 82), (62, 120), (95, 160), (130, 120)):
        click(editor, *point)
    assert (box(editor), marks(editor)) == (TIGHT, 4)


def drag_to_draw(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.get_by_role("radio", name="Drag").check()
    drag(page, start, end)


def test_a_handle_changes_a_box_of_points_and_its_points_are_true_no_more(editor: Page):
    for point in POINTS:
        click(editor, *point)
    drag(editor, (130, 160), (150, 170))
    assert (box(editor), marks(editor)) == ([62, 82, 150, 170], 0)
    editor.keyboard.press("1")
    answered(editor, q.BOX_DRAWING, 1)
    assert stored_box() == ([62, 82, 150, 170], "extreme")


def test_points_of_a_line_are_too_small_to_be_meant(editor: Page):
    for x in (60, 80, 100, 120):
        click(editor, x, 90)
    assert box(editor) == [60, 90, 120, 90]
    editor.get_by_role("button", name="Send this box").click()
    left = editor.get_by_label("Left", exact=True)
    assert "too small" in left.evaluate("field => field.validationMessage")
    assert not Judgment.objects.filter(worker__pseudonym="w-ann").exists()


def test_points_beyond_the_picture_lie_at_its_edge(editor: Page):
    editor.mouse.move(*point_at(editor, 475, 300))
    editor.mouse.down()
    editor.mouse.move(*point_at(editor, 600, 300))
    editor.mouse.up()
    for point in ((450, 290), (460, 350), (440, 320)):
        click(editor, *point)
    assert box(editor) == [440, 290, 480, 350]


def test_fingers_set_points_with_a_loupe_beside_them(work: World, open_page: Open):
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    page.get_by_role("radio", name="Four points").tap()
    fingers = Fingers(page)
    loupe = page.locator(".loupe")
    for point in POINTS:
        x, y = point_at(page, point[0] - 0.5, point[1] - 0.5)
        fingers.down((x, y))
        expect(loupe).to_be_visible()
        lens = loupe.bounding_box()
        assert lens is not None
        beside = not lens["x"] < x < lens["x"] + lens["width"]
        assert beside and 0 <= lens["x"] and lens["x"] + lens["width"] <= 390 and lens["y"] >= 0
        fingers.up()
        expect(loupe).to_be_hidden()
    comes_to(page, TIGHT)
    page.wait_for_timeout(1000)  # an immediate tap would be taken for half of a double tap
    page.get_by_role("button", name="Send this box").tap()
    answered(page, q.BOX_DRAWING, 1)
    assert stored_box() == (TIGHT, "extreme")


def test_the_way_is_chosen_by_a_key_and_remembered(work: World, open_page: Open):
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    expect(page.get_by_role("radio", name="Drag")).to_be_checked()
    expect(page.get_by_text("Drag over the picture")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_role("radio", name="Four points")).to_be_checked()
    expect(page.get_by_text("Click its topmost")).to_be_visible()
    page.reload()
    wait_for_task(page)
    expect(page.get_by_role("radio", name="Four points")).to_be_checked()
    page.keyboard.press("x")
    page.reload()
    expect(page.get_by_role("radio", name="Drag")).to_be_checked()
