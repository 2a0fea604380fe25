"""A page of pictures with sentences to tick: with mouse, keys, finger, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Campaign, Judgment
from annotation.task_types.relevance.rules import RELEVANCE
from tests.browser.at_work import WORKING, answered, at, in_hand, moved_on, stored, take_time
from tests.browser.conftest import Open
from tests.browser.looks import for_everybody
from tests.sizes import by_default
from tests.web import counted_desk
from tests.web.counted_desk import PICTURES, SENTENCES

PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
Ticks = set[tuple[int, int]]
TICKED: Ticks = {(0, 1), (0, 9), (2, 0), (4, 3)}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> Campaign:
    return counted_desk.campaign(tmp_path / "drawn", "relevance")


def opened(page: Page) -> None:
    at(page, RELEVANCE)
    ready(page)


def ready(page: Page) -> None:
    """Wait until every picture is visible and answers count."""
    page.wait_for_function(WORKING)
    page.evaluate(
        "Promise.all([...document.querySelectorAll('.larger img')].map(i => i.decode())).then(() => null)"
    )


def block(page: Page, number: int) -> Locator:
    return page.locator(".block").nth(number)


def sentence(page: Page, number: int, index: int) -> Locator:
    return block(page, number).locator(".tick").nth(index)


def stored_ticks() -> Ticks:
    """Return the sentences that ann's stored answer ticks, by picture and position as shown."""
    content = Judgment.objects.get(worker__pseudonym="w-ann").content
    assert content is not None
    rows = [item["yes"] for item in content["blocks"]]
    assert [len(row) for row in rows] == [SENTENCES] * PICTURES
    return {(n, k) for n, row in enumerate(rows) for k, yes in enumerate(row) if yes}


def ticked(page: Page) -> Ticks:
    boxes: list[list[int]] = page.evaluate(
        "[...document.querySelectorAll('.block')].flatMap((b, n) => [...b.querySelectorAll('.tick input')]"
        ".map((t, k) => [n, k, t.checked]).filter(([,, c]) => c))"
    )
    return {(n, k) for n, k, _ in boxes}


def by_mouse(page: Page) -> None:
    for number, index in sorted(TICKED):
        sentence(page, number, index).click()
    page.get_by_role("button", name="Send this page").click()


def by_keys(page: Page) -> None:
    for number in range(PICTURES):
        for item in (item for n, item in sorted(TICKED) if n == number):
            page.keyboard.press("1234567890"[item])
        page.keyboard.press("Enter")


def by_letters_and_arrows(page: Page) -> None:
    page.keyboard.press("n")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("1")
    page.keyboard.press("b")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("2")
    page.keyboard.press("0")
    for _ in range(PICTURES - 1):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("4")
    page.keyboard.press("Enter")


def by_finger(page: Page) -> None:
    for number in range(PICTURES):
        expect(page.locator(".block:visible")).to_have_count(1)
        expect(page.locator("[data-at]")).to_have_text(f"{number + 1} of {PICTURES}")
        for item in (item for n, item in sorted(TICKED) if n == number):
            sentence(page, number, item).tap()
        if number == 2:
            page.get_by_role("button", name="Back").tap()
            expect(block(page, 1)).to_be_visible()
            page.get_by_role("button", name="Next").tap()
        if number < PICTURES - 1:
            expect(page.get_by_role("button", name="Send this page")).to_be_hidden()
            page.get_by_role("button", name="Next").tap()
    page.get_by_role("button", name="Send this page").tap()


@pytest.mark.parametrize(
    ("answer", "device"),
    by_default(2, [(by_keys, {}), (by_finger, PHONE), (by_mouse, {}), (by_letters_and_arrows, {})]),
    ids=["digits and enter", "touch", "mouse", "letters and arrows"],
)
def test_a_page_is_ticked_by_every_means(
    work: Campaign, open_page: Open, answer: Any, device: dict[str, Any]
):
    page = open_page(**device)
    opened(page)
    held = in_hand(page)
    answer(page)
    moved_on(page, held)
    answered(page, RELEVANCE, 1)
    assert stored_ticks() == TICKED


def test_a_page_is_ticked_without_scripts(work: Campaign, open_page: Open):
    page = open_page(java_script_enabled=False)
    at(page, RELEVANCE)
    for number, index in sorted(TICKED):
        sentence(page, number, index).click()
    page.get_by_role("button", name="Send this page").click()
    answered(page, RELEVANCE, 1)
    assert stored_ticks() == TICKED


@pytest.mark.parametrize("by_key", by_default(1, [True, False]))
def test_a_page_with_nothing_ticked_is_sent_at_the_second_word(work: Campaign, open_page: Open, by_key: bool):
    page = open_page()
    opened(page)

    def send() -> None:
        if by_key:
            page.keyboard.press("Enter")
        else:
            page.get_by_role("button", name="Send this page").click()

    for _ in range(PICTURES - 1 if by_key else 0):
        page.keyboard.press("ArrowRight")
    held = in_hand(page)
    send()
    alert = page.get_by_role("alert").filter(has_text="Nothing is ticked. If no sentence fits")
    expect(alert).to_be_visible()
    expect(alert).to_be_focused()
    assert in_hand(page) == held and stored(RELEVANCE) == []
    sentence(page, PICTURES - 1, 0).click()
    expect(alert).to_be_hidden()
    sentence(page, PICTURES - 1, 0).click()
    if by_key:
        page.keyboard.press("Enter")
    else:
        send()
    expect(alert).to_be_visible()
    send()
    moved_on(page, held)
    answered(page, RELEVANCE, 1)
    assert stored_ticks() == set()


def test_a_held_enter_goes_one_picture_further_only(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    for _ in range(6):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(block(page, 1)).to_be_focused()
    assert stored(RELEVANCE) == []


def test_ticks_are_there_after_a_reload_and_after_an_undo(work: Campaign, open_page: Open):
    page = open_page()
    take_time(page)
    opened(page)
    for number, index in sorted(TICKED):
        sentence(page, number, index).click()
    page.reload()
    ready(page)
    assert ticked(page) == TICKED
    held = in_hand(page)
    page.get_by_role("button", name="Send this page").click()
    moved_on(page, held)
    assert ticked(page) == set()
    page.get_by_role("button", name="Undo last answer").click()
    expect(page.locator("[data-answer] [name=assignment]")).to_have_value(str(held))
    assert ticked(page) == TICKED


def test_digits_rest_where_single_keys_are_switched_off(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    page.get_by_label("Answer with single keys").uncheck()
    page.keyboard.press("1")
    page.keyboard.press("n")
    assert ticked(page) == set()
    expect(block(page, 0)).to_have_class("block is-in-hand")


def test_a_picture_is_enlarged_and_the_focus_returns(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    link = page.get_by_role("link", name="Picture 2, larger")
    for leave in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.get_by_role("button", name="Close").click(),
    ):
        link.focus()
        page.keyboard.press("Enter")
        large = page.get_by_role("dialog")
        expect(large.locator("img")).to_have_js_property("naturalWidth", 480)
        page.keyboard.press("1")
        leave()
        expect(large).to_be_hidden()
        expect(link).to_be_focused()
    assert ticked(page) == set()


def test_the_next_page_comes_with_its_pictures_ready(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    held = in_hand(page)
    page.evaluate("""() => new MutationObserver((_, seen) => {
      seen.disconnect();
      const pictures = [...document.querySelectorAll(".larger img")];
      document.documentElement.dataset.ready = `${pictures.filter((p) => p.naturalWidth).length}`;
    }).observe(document.querySelector("#main"), { childList: true })""")
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some(e => e.name.includes('part=task'))"
    )
    sentence(page, 0, 0).click()
    page.get_by_role("button", name="Send this page").click()
    moved_on(page, held)
    assert page.evaluate("document.documentElement.dataset.ready") == str(PICTURES)


def test_a_page_is_for_everybody(work: Campaign, open_page: Open):
    page = open_page(390)
    opened(page)
    for_everybody(page)
    sentence(page, 0, 0).click()
    sentence(page, 0, 0).click()
    for _ in range(PICTURES - 1):
        page.keyboard.press("n")
    page.get_by_role("button", name="Send this page").click()
    expect(page.locator("[data-reminder]")).to_be_visible()
    for_everybody(page)
    page.locator(".larger:visible").last.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    for_everybody(page)
