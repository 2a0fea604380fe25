"""Zoom into a picture, instructions beside the question, and a clipped caption."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Judgment
from annotation.protocol import questions as q
from annotation.task_types.relevance.rules import RELEVANCE
from tests.browser.at_work import (
    answer_next,
    answered,
    at,
    both_in_hand,
    close_sheet,
    in_hand,
    moved_on,
    open_sheet,
    read,
    stored,
    wait_for_task,
)
from tests.browser.box_editor import Fingers, zoomed
from tests.browser.conftest import Open
from tests.queue.world import World
from tests.web import counted_desk, desk

PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


def picture(page: Page) -> dict[str, float]:
    """Return the picture's position in shares of its frame: its left, its top, its width."""
    return page.evaluate("""() => {
        const [inner, outer] = ["[data-picture]", "[data-frame]"].map((name) =>
            document.querySelector(name).getBoundingClientRect());
        return { left: (inner.left - outer.left) / outer.width, top: (inner.top - outer.top) / outer.height,
            wide: inner.width / outer.width };
    }""")


def middle(page: Page) -> tuple[float, float]:
    box = page.locator("[data-frame]").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_picture_is_looked_at_by_wheel_mouse_keys_and_buttons(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    held = in_hand(page)
    x, y = middle(page)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.wait_for_function("() => document.querySelector('[data-zoom]').textContent !== '100 %'")
    assert picture(page)["wide"] == pytest.approx(zoomed(page), abs=0.02) and zoomed(page) > 1.5
    before = picture(page)
    page.mouse.down()
    page.mouse.move(x + 60, y + 30)
    page.mouse.up()
    assert picture(page)["left"] > before["left"] and picture(page)["top"] > before["top"]
    page.keyboard.press("0")
    assert picture(page) == pytest.approx({"left": 0, "top": 0, "wide": 1}, abs=0.01)
    page.keyboard.press("+")
    page.get_by_role("button", name="Zoom in").click()
    assert zoomed(page) == 2
    seen = picture(page)["left"]
    page.keyboard.press("d")
    assert picture(page)["left"] < seen
    page.get_by_role("button", name="show the whole picture").click()
    assert zoomed(page) == 1
    # None of it was an answer, and the next question is shown completely.
    assert in_hand(page) == held
    page.keyboard.press("+")
    moved_on(page, answer_next(page))
    assert zoomed(page) == 1


def test_two_fingers_look_closer_on_a_phone(work: World, open_page: Open):
    page = open_page(**PHONE)
    at(page, q.COREF_LINK)
    wait_for_task(page)
    x, y = middle(page)
    fingers = Fingers(page)
    fingers.down((x - 30, y), (x + 30, y))
    for far in (45, 60, 75, 90):
        fingers.move((x - far, y), (x + far, y))
        page.wait_for_timeout(50)
    fingers.up()
    page.wait_for_function("() => parseInt(document.querySelector('[data-zoom]').textContent) > 200")


def test_the_box_in_question_fills_the_frame_until_one_says_otherwise(work: World, open_page: Open):
    desk.open_questions_for(work, q.BOX_QUALITY, 2)
    page = open_page()
    at(page, q.BOX_QUALITY)
    wait_for_task(page)
    both_in_hand(page)
    fills = page.get_by_role("button", name="Fill the frame with the box")
    expect(fills).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("f")
    expect(fills).to_have_attribute("aria-pressed", "true")
    assert zoomed(page) > 1
    # The whole box is visible, with a margin.
    assert page.evaluate("""() => {
        const inner = document.querySelector(".outline.hue-2").getBoundingClientRect();
        const outer = document.querySelector("[data-frame]").getBoundingClientRect();
        const share = Math.max(inner.width / outer.width, inner.height / outer.height);
        return inner.left > outer.left && inner.right < outer.right && inner.top > outer.top
            && inner.bottom < outer.bottom && share > 0.75 && share < 0.85;
    }""")
    moved_on(page, answer_next(page, "Good"))
    expect(fills).to_have_attribute("aria-pressed", "true")
    assert zoomed(page) > 1
    fills.click()
    expect(fills).to_have_attribute("aria-pressed", "false")
    assert zoomed(page) == 1


@pytest.mark.usefixtures("transactional_db")
def test_a_picture_of_a_page_is_enlarged_and_looked_at(tmp_path: Path, open_page: Open):
    counted_desk.campaign(tmp_path / "drawn", "relevance")
    page = open_page()
    at(page, RELEVANCE)
    page.get_by_role("link", name="Picture 2, larger").click()
    large = page.get_by_role("dialog")
    page.keyboard.press("+")
    page.keyboard.press("+")
    expect(large.locator("[data-zoom]")).to_have_text("200 %")
    large.locator("img").click()
    expect(large).to_be_visible()
    large.get_by_role("button", name="show the whole picture").click()
    large.locator("img").click()
    expect(large).to_be_hidden()


def test_instructions_open_beside_the_question_and_no_key_means_what_lies_behind(
    work: World, open_page: Open
):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    question = page.locator(".question").bounding_box()
    page.locator(".question").focus()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Instructions")
    expect(sheet.get_by_role("heading", name="Instructions")).to_be_focused()
    at_left, behind = sheet.bounding_box(), page.locator(".question").bounding_box()
    seen = page.locator("[data-picture]").bounding_box()
    assert at_left is not None and behind is not None and seen is not None
    assert question == behind and at_left["x"] + at_left["width"] <= seen["x"]
    for key in ("1", "+", "r"):
        page.keyboard.press(key)
    read(page)
    assert zoomed(page) == 1 and stored(q.COREF_LINK) == []
    for _ in range(6):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || "
            "document.querySelector('dialog[open]').contains(document.activeElement)")  # fmt: skip
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    expect(page.locator(".question")).to_be_focused()
    open_sheet(page, "Report a problem")
    expect(page.get_by_label("The phrase is cut off")).to_be_focused()
    close_sheet(page)
    expect(page.get_by_role("button", name="Report a problem")).to_be_focused()
    page.keyboard.press("2")
    answered(page, q.COREF_LINK, 1)


def test_the_last_answers_are_opened_by_a_key_and_one_is_changed(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    held = in_hand(page)
    page.keyboard.press("2")
    moved_on(page, held)
    answered(page, q.COREF_LINK, 1)
    page.keyboard.press("h")
    page.get_by_role("link", name=re.compile("Change.*Different")).click()
    expect(page.get_by_text("You answered: Different")).to_be_visible()
    wait_for_task(page)
    page.keyboard.press("1")
    expect(page.get_by_text("Your answer is changed.")).to_be_visible()
    assert Judgment.objects.get(assignment=held).answer == "yes"
