"""Boxes with a few words each: with mouse, keys only, finger, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Campaign, Judgment
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from tests.browser.at_work import answered, at, in_hand, moved_on, read, stored, take_time, wait_for_task
from tests.browser.box_editor import Fingers, by_points, click, drag
from tests.browser.conftest import Open
from tests.browser.looks import for_everybody
from tests.web import counted_desk

PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
#: Where regions are dragged, their words, and their content. The third lies within the first.
PLACES = [((60, 80), (130, 330)), ((150, 90), (220, 330)), ((75, 85), (115, 130)), ((250, 240), (330, 320))]
WORDS = ["person in green", "person in yellow", "round head", "purple dog"]
BOXES = [[x1 + 1, y1 + 1, x2, y2] for (x1, y1), (x2, y2) in PLACES]
SETTINGS: dict[str, Any] = {**counted_desk.TRUSTING, "answers": {"regions": len(PLACES)}}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> Campaign:
    return counted_desk.campaign(tmp_path / "drawn", "regions", settings=SETTINGS, images=4)


def opened(page: Page) -> int:
    """Wait until the user can draw and send; return the assignment."""
    at(page, REGION_DESCRIPTION)
    wait_for_task(page)
    return in_hand(page)


def stored_regions() -> list[dict[str, Any]]:
    content = Judgment.objects.get(worker__pseudonym="w-ann").content
    assert content is not None
    return list(content["regions"])


def says(page: Page, number: int) -> Any:
    return page.get_by_label(f"Region {number}: what it shows")


def corners(page: Page, number: int) -> list[str]:
    return [
        page.locator(f"[name=region-{number - 1}-{e}]").input_value()
        for e in ("xmin", "ymin", "xmax", "ymax")
    ]


def send(page: Page) -> None:
    page.get_by_role("button", name="Send these regions").click()


def all_drawn(page: Page) -> None:
    for number, (item, words) in enumerate(zip(PLACES, WORDS, strict=True), 1):
        drag(page, *item)
        expect(says(page, number)).to_be_focused()
        page.keyboard.type(words)


def test_regions_are_drawn_and_told_by_mouse_and_the_words_typed_at_once(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    all_drawn(page)
    expect(page.locator("[data-lacking]")).to_have_text("Everything is complete: send it.")
    send(page)
    moved_on(page, held)
    expect(says(page, 1)).to_have_value("")
    answered(page, REGION_DESCRIPTION, 1)
    assert stored_regions() == [
        {"box": b, "text": t, "way": "drag"} for b, t in zip(BOXES, WORDS, strict=True)
    ]


def test_regions_are_drawn_by_their_extreme_points(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    by_points(page)
    for number, (left, top, right, bottom) in enumerate(BOXES[:2], 1):
        middle = ((left + right) // 2, (top + bottom) // 2)
        for x, y in ((left, middle[1]), (middle[0], top), (right, middle[1]), (middle[0], bottom)):
            click(page, x, y)
        expect(says(page, number)).to_be_focused()
        assert corners(page, number) == [str(edge) for edge in BOXES[number - 1]]


def test_regions_are_drawn_and_told_by_keys_alone(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    for number, words in enumerate(WORDS, 1):
        for _ in range(number):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowDown")
        page.keyboard.press("Enter")
        expect(says(page, number)).to_be_focused()
        page.keyboard.type(words)
        page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Send these regions")).to_be_focused()
    page.keyboard.press("Enter")
    moved_on(page, held)
    answered(page, REGION_DESCRIPTION, 1)
    assert [(item["text"], item["way"]) for item in stored_regions()] == [(words, "keys") for words in WORDS]
    assert len({tuple(item["box"]) for item in stored_regions()}) == len(WORDS)


def test_regions_are_drawn_and_told_by_finger(work: Campaign, open_page: Open):
    page = open_page(**PHONE)
    held = opened(page)
    fingers = Fingers(page)
    for number, (entry, words) in enumerate(zip(PLACES, WORDS, strict=True), 1):
        fingers.drag(*entry)
        expect(says(page, number)).to_be_focused()
        page.keyboard.insert_text(words)
    page.get_by_role("button", name="Send these regions").tap()
    moved_on(page, held)
    answered(page, REGION_DESCRIPTION, 1)
    assert [item["text"] for item in stored_regions()] == WORDS
    for item, box in zip(stored_regions(), BOXES, strict=True):
        assert all(abs(a - b) <= 3 for a, b in zip(item["box"], box, strict=True)), (item, box)


def test_regions_are_typed_without_scripts(work: Campaign, open_page: Open):
    page = open_page(java_script_enabled=False)
    at(page, REGION_DESCRIPTION)
    for number, (box, words) in enumerate(zip(BOXES, WORDS, strict=True), 1):
        row = page.get_by_role("group", name=f"Region {number}", exact=True)
        says(page, number).fill(words)
        for name, edge in zip(("Left", "Top", "Right", "Bottom"), box, strict=True):
            row.get_by_label(name, exact=True).fill(str(edge) if number < 4 else "")
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("Draw a box for “purple dog” first.")
    row = page.get_by_role("group", name="Region 4", exact=True)
    for name, edge in zip(("Left", "Top", "Right", "Bottom"), BOXES[3], strict=True):
        row.get_by_label(name, exact=True).fill(str(edge))
    send(page)
    answered(page, REGION_DESCRIPTION, 1)
    assert stored_regions() == [{"box": b, "text": t, "way": ""} for b, t in zip(BOXES, WORDS, strict=True)]


def test_what_is_missing_is_said_and_nothing_is_sent(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    text = page.locator("[data-lacking]")
    expect(text).to_have_text("Region 1: draw its box.")
    send(page)
    expect(text).to_have_class("lacking hint wrong")
    drag(page, *PLACES[0])
    expect(text).to_have_text("Region 1: say what it shows.")
    page.keyboard.type("one")
    expect(text).to_have_text("Region 2: draw its box.")
    for number in (2, 3, 4):
        drag(page, *PLACES[number - 1])
        page.keyboard.type(WORDS[number - 1])
    page.locator(".region summary").nth(3).click()
    for edge, value in zip(("xmin", "ymin", "xmax", "ymax"), BOXES[0], strict=True):
        page.locator(f"[name=region-3-{edge}]").fill(str(value))
    expect(text).to_have_text("Regions 1 and 4 have the same box: draw another one.")
    send(page)
    assert in_hand(page) == held and stored(REGION_DESCRIPTION) == []
    page.locator("[name=region-3-xmax]").fill("200")
    expect(text).to_have_text("Everything is complete: send it.")


def test_undo_and_redo_lead_over_boxes_and_words(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    drag(page, *PLACES[0])
    page.keyboard.type("one")
    drag(page, *PLACES[1])
    undo, redo = (page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    undo.click()
    assert corners(page, 2) == [""] * 4
    expect(says(page, 1)).to_have_value("one")
    undo.click()
    expect(says(page, 1)).to_have_value("")
    undo.click()
    assert corners(page, 1) == [""] * 4
    for _ in range(3):
        redo.click()
    expect(says(page, 1)).to_have_value("one")
    assert corners(page, 2) == [str(edge) for edge in BOXES[1]]


def test_a_region_is_taken_in_hand_by_its_outline_or_its_row_and_changed(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    drag(page, *PLACES[0])
    drag(page, *PLACES[1])
    rows = page.locator(".region")
    expect(rows.nth(1)).to_have_class("region is-in-hand")
    click(page, 61, 150)
    expect(rows.nth(0)).to_have_class("region is-in-hand")
    page.keyboard.press("ArrowRight")
    assert corners(page, 1) == [str(edge) for edge in (BOXES[0][0] + 1, 81, 131, 330)]
    says(page, 2).focus()
    expect(rows.nth(1)).to_have_class("region is-in-hand")
    drag(page, (220, 330), (210, 300))
    assert corners(page, 2) == ["151", "91", "210", "300"]


def test_a_box_is_drawn_from_the_outline_of_another(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    drag(page, *PLACES[0])
    page.keyboard.type("one")
    page.keyboard.press("Enter")
    drag(page, (70, 80), (120, 140))
    assert corners(page, 1) == [str(edge) for edge in BOXES[0]]
    assert corners(page, 2) == ["71", "81", "120", "140"]


def test_a_region_is_removed_and_its_place_is_drawn_next(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    drag(page, *PLACES[0])
    page.keyboard.type("one")
    drag(page, *PLACES[1])
    page.get_by_role("button", name="Remove region 1").click()
    expect(says(page, 1)).to_be_focused()
    expect(says(page, 1)).to_have_value("")
    assert corners(page, 1) == [""] * 4
    drag(page, *PLACES[3])
    assert corners(page, 1) == [str(edge) for edge in BOXES[3]]


def test_what_was_drawn_is_there_after_a_reload_and_after_an_undo(work: Campaign, open_page: Open):
    page = open_page()
    take_time(page)
    held = opened(page)
    all_drawn(page)
    page.reload()
    wait_for_task(page)
    assert [corners(page, n) for n in range(1, 5)] == [[str(edge) for edge in box] for box in BOXES]
    assert [says(page, n).input_value() for n in range(1, 5)] == WORDS
    send(page)
    moved_on(page, held)
    page.get_by_role("button", name="Undo last answer").click()
    expect(says(page, 4)).to_have_value(WORDS[3])
    read(page)
    send(page)
    moved_on(page, held)
    answered(page, REGION_DESCRIPTION, 1)
    assert stored_regions() == [
        {"box": b, "text": t, "way": "drag"} for b, t in zip(BOXES, WORDS, strict=True)
    ]


def test_the_page_is_for_everybody(work: Campaign, open_page: Open):
    page = open_page(390)
    opened(page)
    for_everybody(page)
    drag(page, *PLACES[0])
    page.keyboard.type("one")
    page.locator(".region summary").first.click()
    send(page)
    for_everybody(page)


@pytest.mark.slow  # the default run has those of a first box, in `test_box_points`
def test_half_set_points_of_a_second_region_are_there_after_a_reload(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    drag(page, *PLACES[0])
    page.keyboard.type(WORDS[0])
    by_points(page)
    left, top, right, bottom = BOXES[1]
    middle = ((left + right) // 2, (top + bottom) // 2)
    points = ((left, middle[1]), (middle[0], top), (right, middle[1]), (middle[0], bottom))
    for point in points[:2]:
        click(page, *point)
    page.reload()
    wait_for_task(page)
    expect(page.locator(".points .light")).to_have_count(2)
    for point in points[2:]:
        click(page, *point)
    assert [corners(page, number) for number in (1, 2)] == [[str(edge) for edge in box] for box in BOXES[:2]]
