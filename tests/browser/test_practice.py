"""Practice in a browser: from the instructions to the work, on the page's own frame; its pages pass axe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Judgment
from annotation.protocol import questions as q
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.practice import PRACTICE, PracticeItem, practice_scene
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from tests.browser.at_work import unfold_edges
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import assert_accessible, for_everybody, overflow
from tests.sizes import by_default
from tests.web import counted_desk, desk

EDGES = ("Left", "Top", "Right", "Bottom")
pytestmark = pytest.mark.usefixtures("transactional_db")


def begin(page: Page, kind: str, number: int = 1) -> None:
    """Sign ann in and open an item."""
    sign_in(page, "ann", then=f"{desk.address(kind)}practice/?n={number}")
    ready(page)


def ready(page: Page) -> None:
    """Wait until the page's script works: it then shows the switch of the keys."""
    page.wait_for_load_state("load")
    expect(page.locator("[data-keys]")).to_have_js_property("hidden", False)


def verdict(page: Page) -> str:
    """Return the page's response to the answer, once it is shown."""
    heading = page.locator(".verdict h2")
    expect(heading).to_be_focused()
    return heading.inner_text()


def gold(item: PracticeItem) -> tuple[int, int, int, int]:
    box = practice_scene(item.scene).boxes(item.mentions[0])[0]
    return (box.xmin, box.ymin, box.xmax, box.ymax)


def drag(page: Page, item: PracticeItem, corners: tuple[float, float, float, float]) -> None:
    """Drag a box over the picture: left, top, right and bottom, in its own pixels."""
    bounds = page.locator("[data-frame]").bounding_box()
    assert bounds
    image = practice_scene(item.scene).image
    wide, high = bounds["width"] / image.width, bounds["height"] / image.height
    left, top, right, bottom = corners
    page.mouse.move(bounds["x"] + left * wide, bounds["y"] + top * high)
    page.mouse.down()
    page.mouse.move(bounds["x"] + (left + right) / 2 * wide, bounds["y"] + (top + bottom) / 2 * high)
    page.mouse.move(bounds["x"] + right * wide, bounds["y"] + bottom * high)
    page.mouse.up()


def test_all_of_it_goes_by_keys_alone_and_ends_at_the_work(open_page: Open, tmp_path: Path):
    desk.campaign(tmp_path / "drawn")
    page = open_page()
    sign_in(page, "ann", then=f"{desk.address()}instructions/")
    page.get_by_role("link", name="Practise first").focus()
    page.keyboard.press("Enter")
    for number, item in enumerate(PRACTICE.get(q.COREF_LINK).items, 1):
        expect(page.get_by_text(f"Practice, {number} of 5")).to_be_visible()
        ready(page)
        page.keyboard.press("1" if (item.right == "yes") != (number == 2) else "2")
        assert verdict(page) == ("Not correct" if number == 2 else "Correct")
        expect(page.locator(".because")).to_have_text(str(item.why))
        ready(page)
        page.keyboard.press("Enter")
    expect(page.get_by_text("4 of 5 were correct.")).to_be_visible()
    page.get_by_role("button", name="Begin").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"{desk.address()}$"))
    expect(page.locator("[data-answer]")).to_be_visible()
    assert not Judgment.objects.exists()


@pytest.mark.slow  # the default run practises boxes in `test_practice_ways`
def test_a_box_is_drawn_by_mouse_and_compared_with_the_right_one(open_page: Open, tmp_path: Path):
    desk.campaign(tmp_path / "drawn")
    page = open_page()
    begin(page, q.BOX_DRAWING)
    expect(page.locator("[data-frame].is-drawn-on")).to_be_visible()
    first, second, *_others = PRACTICE.get(q.BOX_DRAWING).items
    xmin, ymin, xmax, ymax = gold(first)
    drag(page, first, (xmin - 1, ymin - 1, xmax, ymax))
    page.get_by_role("button", name="Send this box").click()
    assert verdict(page) == "Correct"
    expect(page.locator(".verdict")).to_contain_text(re.compile(r"overlap by (9\d|100) %"))
    expect(page.locator(".stage .overlay .tag text")).to_have_text(["A", "?"])
    page.get_by_role("link", name="Next").click()
    ready(page)
    expect(page.locator("[data-frame].is-drawn-on")).to_be_visible()
    xmin, ymin, xmax, ymax = gold(second)
    drag(page, second, (xmin - 1, ymin - 1, xmax, (ymin + ymax) / 2))
    page.get_by_role("button", name="Send this box").click()
    assert verdict(page) == "Not correct"
    expect(page.locator(".verdict")).to_contain_text("A good box reaches 80 %.")


def test_the_pages_of_the_chain_are_for_everybody(open_page: Open, tmp_path: Path):
    desk.campaign(tmp_path / "drawn")
    page = open_page(390)
    sign_in(page, "ann")
    for kind in (q.COREF_LINK, q.BOX_DRAWING):
        page.goto(f"{desk.address(kind)}practice/?n=1")
        ready(page)
        for_everybody(page)
        if kind == q.BOX_DRAWING:
            unfold_edges(page)
            for name, edge in zip(EDGES, (1, 1, 90, 90), strict=True):
                page.get_by_label(name, exact=True).fill(str(edge))
        page.locator("[data-key='1']").click()
        verdict(page)
        for_everybody(page)
    for address in ("instructions/", "practice/?n=9"):
        page.goto(f"{desk.address(q.BOX_QUALITY)}{address}")
        for_everybody(page)


@pytest.mark.parametrize(
    ("tasks", "kind", "width", "scheme"),
    by_default(
        2,
        [
            ("relevance", RELEVANCE, 390, "dark"),
            ("regions", REGION_DESCRIPTION, 1280, "light"),
            ("graded", GRADED_RELEVANCE, 1280, "dark"),
            ("captions", CAPTION_WRITING, 390, "light"),
        ],
    ),
)
def test_the_pages_that_judge_write_and_describe_are_accessible(
    tasks: str, kind: str, width: int, scheme: str, open_page: Open, tmp_path: Path
):
    counted_desk.campaign(tmp_path / "drawn", tasks)
    page = open_page(width, color_scheme=scheme)
    begin(page, kind, number=4 if kind == CAPTION_WRITING else 1)
    looked_at(page)
    if kind == RELEVANCE:
        for _name, sentences in PRACTICE.get(kind).items[0].blocks:
            page.get_by_label(sentences[1][0]).check()
            if page.locator("[data-step='1']").is_visible():
                page.locator("[data-step='1']").click()
        page.get_by_role("button", name="Send this page").click()
        assert verdict(page) == "Not correct"
        expect(page.locator(".ticks li")).to_have_count(4)
    elif kind == GRADED_RELEVANCE:
        page.keyboard.press("4")
        assert verdict(page) == "Correct"
        expect(page.locator(".judged")).to_have_text(PRACTICE.get(kind).items[0].sentence)
    elif kind == CAPTION_WRITING:
        page.get_by_label("Your sentence").fill("A boy throws a frisbee for his dog.")
        page.get_by_role("button", name="Send this sentence").click()
        assert verdict(page) == "A good answer"
        expect(page.locator(".models li")).to_have_count(2)
    looked_at(page)
    page.goto(f"{desk.address(kind)}instructions/")
    looked_at(page)


def looked_at(page: Page) -> None:
    assert_accessible(page)
    assert overflow(page) <= 0
