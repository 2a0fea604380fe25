"""The box editor beside the picture: its rows, texts and tools; and how it closes."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Judgment, Task
from annotation.protocol import questions as q
from annotation.protocol.terms import Box
from annotation.queue.leases import Lease
from tests.browser.at_work import answer_next, answered, ask_for_a_second_box, at, moved_on, wait_for_task
from tests.browser.box_editor import box, by_points, click, drag, point_at, zoomed
from tests.browser.conftest import Open
from tests.browser.looks import WIDTHS, for_everybody, overflow
from tests.web import desk
from tests.web.world import SIZE


@pytest.fixture
def second(transactional_db: None, tmp_path: Path, open_page: Open) -> tuple[Page, Box]:
    """The page that asks for a box beside an accepted one, and that box."""
    accepted = ask_for_a_second_box(desk.campaign(tmp_path / "drawn"))
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    return page, accepted


def test_accepted_boxes_are_rows_that_light_them_in_the_picture(second: tuple[Page, Box]):
    page, accepted = second
    row = page.get_by_role("button", name=f"{accepted.xmin}, {accepted.ymin} to {accepted.xmax}")
    halo = page.locator(".sheet .halo")
    expect(halo).to_be_hidden()
    row.focus()
    expect(halo).to_be_visible()
    assert [int(halo.get_attribute(name) or 0) for name in ("x", "y", "width", "height")] == [
        accepted.xmin - 1,
        accepted.ymin - 1,
        accepted.width,
        accepted.height,
    ]
    page.keyboard.press("Enter")
    large = 0.6 * min(SIZE[0] / accepted.width, SIZE[1] / accepted.height)
    assert zoomed(page) == pytest.approx(max(1, large), abs=0.01)
    left, top = point_at(page, accepted.xmin - 1, accepted.ymin - 1)
    frame = page.locator("[data-frame]").bounding_box()
    right, bottom = point_at(page, accepted.xmax, accepted.ymax)
    assert frame is not None and frame["x"] < left < right < frame["x"] + frame["width"]
    assert frame["y"] < top < bottom < frame["y"] + frame["height"]
    page.keyboard.press("Tab")
    expect(halo).to_be_hidden()


def test_a_box_in_a_box_is_drawn_while_the_outer_one_is_seen_large(second: tuple[Page, Box]):
    page, accepted = second
    page.locator("[data-box] button").click()
    inner = (accepted.xmin + 9, accepted.ymin + 9), (accepted.xmax - 10, accepted.ymax - 10)
    drag(page, *inner)
    assert box(page) == [accepted.xmin + 10, accepted.ymin + 10, accepted.xmax - 10, accepted.ymax - 10]


def test_a_screen_reader_is_told_the_size_once_it_rests(second: tuple[Page, Box]):
    page, _accepted = second
    message = page.locator("[data-spoken]")
    assert message.get_attribute("aria-live") == "polite"
    page.evaluate("""() => {
        const told = document.querySelector("[data-spoken]");
        window.heard = [];
        new MutationObserver(() => window.heard.push(told.textContent)).observe(told, { childList: true });
        for (let press = 0; press < 3; press += 1) {
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
        }
    }""")
    expect(message).to_have_text("241 × 181 pixels")
    assert page.evaluate("window.heard") == ["241 × 181 pixels"]
    page.keyboard.press("Shift+ArrowRight")
    expect(message).to_have_text("242 × 181 pixels")
    page.keyboard.press("Delete")
    expect(message).to_have_text("")


def test_every_state_of_the_editor_is_for_everybody(second: tuple[Page, Box]):
    page, _accepted = second
    page.get_by_text("Keys and wheel").click()
    drag(page, (59, 79), (130, 330))
    for_everybody(page)
    by_points(page)
    page.evaluate("scrollTo(0, 0)")
    click(page, 200, 120)
    page.keyboard.press("+")
    page.locator("[data-box] button").focus()
    for_everybody(page)


def test_the_tools_are_large_enough_and_stay_on_the_page_at_any_width(second: tuple[Page, Box]):
    page, _accepted = second
    drag(page, (59, 79), (130, 330))
    sizes = """[...document.querySelectorAll(".tools :is(button, input), [data-box] button, [data-clear]")]
        .map(each => each.getBoundingClientRect()).map(({width, height}) => Math.min(width, height))"""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert overflow(page) <= 0, width
        assert min(page.evaluate(sizes)) >= 24, width


def test_a_pressed_tool_leaves_the_focus_to_the_picture(second: tuple[Page, Box]):
    page, _accepted = second
    page.get_by_role("button", name="Zoom in").click()
    page.mouse.move(*point_at(page, 240, 180))
    page.keyboard.down(" ")
    page.keyboard.up(" ")
    assert zoomed(page) == 1.5


def test_what_is_mounted_is_taken_away_and_mounted_again(second: tuple[Page, Box]):
    page, accepted = second
    boxes = page.evaluate("[...document.scripts].find(script => script.src.includes('boxes')).src")
    assert page.evaluate(f"import('{boxes}').then(({{mount}}) => mount() === mount())") is False
    assert page.locator(".sheet").count() == 1
    drag(page, (59, 79), (130, 330))
    page.keyboard.press("+")
    held = page.evaluate(f"import('{boxes}').then(({{mount}}) => mount()()).then(() => null)")
    assert held is None
    for gone in (".sheet", ".loupe", "[data-box] button", ".is-zoomed", ".is-drawn-on"):
        expect(page.locator(gone)).to_have_count(0)
    expect(page.locator("[data-tools]")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Delete")
    assert box(page) == [60, 80, 130, 330]
    page.evaluate(f"import('{boxes}').then(({{mount}}) => mount()).then(() => null)")
    expect(page.locator("[data-tools]")).to_be_visible()
    page.keyboard.press("ArrowRight")
    assert box(page) == [61, 80, 131, 330]
    page.keyboard.press("Delete")
    drag(page, (accepted.xmin, accepted.ymin), (accepted.xmin + 20, accepted.ymin + 20))
    assert box(page)[0] == accepted.xmin + 1


def test_task_after_task_has_its_own_editor_without_another_page(
    transactional_db: None, tmp_path: Path, open_page: Open
):
    work = desk.campaign(tmp_path / "drawn")
    while Task.objects.filter(kind=q.BOX_DRAWING, state=Task.OPEN).count() < 3:
        for worker, kind in product((1, 2, 3), desk.BEFORE[q.BOX_DRAWING]):
            if isinstance(result := work.take(worker, kind), Lease):
                work.submit(worker, result, then=False)
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    page.evaluate("window.stays = true")
    drawn: list[list[int | None]] = []
    for number in range(3):
        expect(page.locator(".sheet")).to_have_count(1)
        expect(page.locator("[data-tools]")).to_have_count(1)
        assert box(page) == [None] * 4
        page.mouse.move(*point_at(page, 100, 100))
        page.keyboard.press("+")
        assert zoomed(page) == 1.5
        drag(page, (90 + number, 90), (130, 120 + number))
        drawn.append([91 + number, 91, 130, 120 + number])
        assert box(page) == drawn[-1]
        page.keyboard.press("Control+z")
        assert box(page) == [None] * 4
        page.keyboard.press("Control+y")
        held = answer_next(page, "Send this box")
        if number < 2:
            moved_on(page, held)
            wait_for_task(page)
    answered(page, q.BOX_DRAWING, 3)
    # The last two may be sent at the same time.
    rows = Judgment.objects.filter(worker__pseudonym="w-ann").order_by("xmin")
    assert [[row.xmin, row.ymin, row.xmax, row.ymax] for row in rows] == drawn
    assert {row.way for row in rows} == {"drag"}
    assert page.evaluate("window.stays") is True


def test_a_box_that_was_not_sent_is_there_again_after_a_reload(
    transactional_db: None, tmp_path: Path, open_page: Open
):
    desk.campaign(tmp_path / "drawn", open_kind=q.BOX_DRAWING)
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    drag(page, (59, 79), (130, 330))
    page.reload()
    wait_for_task(page)
    expect(page.locator(".sheet .edge")).to_be_visible()
    assert box(page) == [60, 80, 130, 330]
    drag(page, (130, 330), (140, 340))
    assert box(page) == [60, 80, 140, 340]
    assert page.locator("[name=way]").input_value() == "drag"
