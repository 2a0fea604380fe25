"""A sentence about a picture, checked for misspelt words before it is sent; and the entry test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Campaign, Judgment
from annotation.quality import controls
from annotation.selectors import spelling
from annotation.task_types.caption_writing import rules
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from tests.browser.at_work import (
    WORKING,
    answered,
    at,
    eventually,
    in_hand,
    moved_on,
    read,
    stored,
    take_time,
    wait_for_task,
)
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import assert_accessible, for_everybody
from tests.sizes import by_default
from tests.web import counted_desk, desk

PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
RIGHT = "Two people walk with two dogs."
MISSPELT = "Two peopel walk with two doggs."


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> Campaign:
    spelling.load_dictionary()  # as in a server, from its start
    return counted_desk.campaign(tmp_path / "drawn", "captions", images=4)


def opened(page: Page) -> int:
    """Wait until the user can write and send; return the assignment."""
    at(page, CAPTION_WRITING)
    wait_for_task(page)
    return in_hand(page)


def written() -> str:
    content = Judgment.objects.get(worker__pseudonym="w-ann").content
    assert content is not None
    return str(content["text"])


def field(page: Page) -> Any:
    return page.get_by_label("Your sentence")


def send(page: Page) -> None:
    page.get_by_role("button", name="Send this sentence").click()


def test_one_writes_at_once_and_sends_with_enter(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    expect(field(page)).to_be_focused()
    page.keyboard.type(RIGHT)
    expect(page.locator(".now")).to_have_text("Words: 6")
    page.keyboard.press("Enter")
    moved_on(page, held)
    expect(field(page)).to_be_focused()
    answered(page, CAPTION_WRITING, 1)
    assert written() == RIGHT


def test_how_a_sentence_is_written_is_measured(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    start, rest = RIGHT[:11], RIGHT[11:]
    page.keyboard.type(start, delay=20)
    field(page).evaluate(
        """(field, text) => {
            field.value += text;
            field.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
        }""",
        rest,
    )
    page.keyboard.press("Enter")
    moved_on(page, held)
    answered(page, CAPTION_WRITING, 1)
    content = Judgment.objects.get().content
    assert content is not None and content.pop("text") == RIGHT
    assert content.pop("pasted") == len(rest)
    assert 0 <= content.pop("first_key") < 60 and 0.15 < content.pop("typing") < 60
    assert not content


def test_a_sentence_is_sent_by_finger(work: Campaign, open_page: Open):
    page = open_page(**PHONE)
    held = opened(page)
    field(page).tap()
    page.keyboard.insert_text(RIGHT)
    page.get_by_role("button", name="Send this sentence").tap()
    moved_on(page, held)
    answered(page, CAPTION_WRITING, 1)
    assert written() == RIGHT


def test_a_sentence_is_sent_without_scripts(work: Campaign, open_page: Open):
    page = open_page(java_script_enabled=False)
    at(page, CAPTION_WRITING)
    field(page).fill(MISSPELT)
    send(page)
    answered(page, CAPTION_WRITING, 1)
    assert written() == MISSPELT


def test_misspelt_words_are_shown_and_put_right_by_mouse(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    field(page).fill(MISSPELT)
    send(page)
    odd = page.get_by_role("region", name="Are these words spelled right?")
    expect(odd).to_be_focused()
    assert odd.locator(".word").all_text_contents() == ["peopel", "doggs"]
    assert stored(CAPTION_WRITING) == [] and in_hand(page) == held
    page.get_by_role("button", name="Write “people” instead of “peopel”").click()
    expect(field(page)).to_have_value("Two people walk with two doggs.")
    page.get_by_role("button", name="Write “dogs” instead of “doggs”").click()
    expect(odd).to_be_hidden()
    expect(field(page)).to_have_value(RIGHT)
    send(page)
    moved_on(page, held)
    answered(page, CAPTION_WRITING, 1)
    assert written() == RIGHT


def test_misspelt_words_are_put_right_by_keys_alone(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    page.keyboard.type("Two peopel walk home.")
    page.keyboard.press("Enter")
    expect(page.locator("[data-odd]")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(field(page)).to_have_value("Two people walk home.")
    expect(page.get_by_role("button", name="Send this sentence")).to_be_focused()
    page.keyboard.press("Enter")
    moved_on(page, held)
    answered(page, CAPTION_WRITING, 1)
    assert written() == "Two people walk home."


def test_a_sentence_goes_as_it_is_where_one_says_so(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    field(page).fill(MISSPELT)
    send(page)
    page.get_by_role("button", name="Send it as it is").click()
    moved_on(page, held)
    answered(page, CAPTION_WRITING, 1)
    assert written() == MISSPELT


def test_a_word_that_is_written_again_is_not_pointed_at_any_more(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    field(page).fill(MISSPELT)
    send(page)
    expect(page.locator(".odd .word")).to_have_count(2)
    field(page).fill("Two peopel walk with two dogs.")
    expect(page.locator(".odd .word")).to_have_count(1)


def test_too_few_words_are_said_before_anything_is_sent(work: Campaign, open_page: Open):
    page = open_page()
    held = opened(page)
    field(page).fill("Two people")
    send(page)
    alert = page.get_by_role("alert").filter(has_text="at least 3 words")
    expect(alert).to_be_visible()
    expect(field(page)).to_be_focused()
    assert in_hand(page) == held
    field(page).fill("Two people walk")
    expect(alert).to_be_hidden()


def test_words_are_looked_at_while_one_writes_and_the_focus_stays(work: Campaign, open_page: Open):
    page = open_page()
    opened(page)
    questions: list[str] = []
    page.on(
        "request",
        lambda request: questions.append(request.post_data or "") if "spelling" in request.url else None,
    )
    expect(page.locator("[data-spelling]")).to_contain_text("The spelling is checked while you write.")
    page.keyboard.type("Two peopel wal")
    expect(page.locator("[data-spelling]")).to_have_text(re.compile("Words to look at: 1"))
    assert page.locator(".odd .word").all_text_contents() == ["peopel"]
    expect(field(page)).to_be_focused()
    # The word that is being typed is not checked.
    assert not any("peopel wal" in text for text in questions)
    page.keyboard.type("k with two dogs. ")
    for _ in range(len("Two peopel walk with two dogs. ") - len("Two peop")):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    page.keyboard.press("Delete")
    page.keyboard.type("le")
    expect(page.locator("[data-spelling]")).to_contain_text("all words are known")
    expect(page.locator(".odd .word")).to_have_count(0)
    expect(field(page)).to_be_focused()


@pytest.mark.parametrize("trouble", by_default(1, ["no network", "a failing server"]))
def test_what_cannot_be_looked_at_is_sent_by_who_says_so_alone(work: Campaign, open_page: Open, trouble: str):
    page = open_page(faults=True)
    held = opened(page)
    if trouble == "no network":
        page.route("**/api/spelling", lambda route: route.abort())
    else:
        page.route("**/api/spelling", lambda route: route.fulfill(status=503))
    field(page).fill(MISSPELT)
    expect(page.locator("[data-spelling]")).to_contain_text("not checked: the server does not answer")
    send(page)
    region = page.get_by_role("region", name="Spelling not checked")
    expect(region).to_be_focused()
    assert in_hand(page) == held and stored(CAPTION_WRITING) == []
    if trouble == "no network":
        page.unroute("**/api/spelling")
        region.get_by_role("button", name="Check again").click()
        expect(page.locator(".odd .word")).to_have_count(2)
        page.get_by_role("button", name="Send it as it is").click()
    else:
        region.get_by_role("button", name="Send it unchecked").click()
    moved_on(page, held)
    answered(page, CAPTION_WRITING, 1)
    assert written() == MISSPELT


def test_what_one_wrote_is_there_after_a_reload_and_after_an_undo(work: Campaign, open_page: Open):
    page = open_page()
    take_time(page)
    held = opened(page)
    field(page).fill(RIGHT)
    page.reload()
    wait_for_task(page)
    expect(field(page)).to_have_value(RIGHT)
    expect(page.locator(".now")).to_have_text("Words: 6")
    send(page)
    moved_on(page, held)
    expect(field(page)).to_have_value("")
    page.get_by_role("button", name="Undo last answer").click()
    expect(field(page)).to_have_value(RIGHT)
    expect(page.locator(".now")).to_have_text("Words: 6")


@pytest.fixture
def test_first(transactional_db: None, tmp_path: Path) -> Campaign:
    """A campaign that lets nobody write before they have passed the test of spelling."""
    campaign = counted_desk.campaign(tmp_path / "drawn", "captions", settings={}, images=4)
    controls.install_sentences(campaign=campaign, kind=rules.CAPTION_WRITING)
    return campaign


def test_the_test_shows_a_sentence_with_two_choices_and_no_picture(test_first: Campaign, open_page: Open):
    page = open_page()
    sign_in(page, "ann", then=desk.address(CAPTION_WRITING))
    page.get_by_role("button", name="Take the test").click()
    page.get_by_role("button", name="I have read this: begin").click()
    page.wait_for_selector("blockquote")
    page.wait_for_function(WORKING)
    sentences = {*rules.CORRECT, *(sentence for sentence, _ in rules.INCORRECT)}
    assert page.locator("blockquote").text_content() in sentences
    expect(page.locator(".stage, .writing")).to_have_count(0)
    assert_accessible(page)
    for number in range(3):
        held = in_hand(page)
        read(page)
        page.keyboard.press("1" if number % 2 else "2")
        moved_on(page, held)
        page.wait_for_function(WORKING)
    eventually(page, lambda: stored(CAPTION_WRITING) == ["incorrect", "correct", "incorrect"])


def test_the_page_is_for_everybody(work: Campaign, open_page: Open):
    page = open_page(390)
    opened(page)
    for_everybody(page)
    field(page).fill("Two peopel walk with qxzvwkqpjz and doggs.")
    send(page)
    expect(page.locator(".odd .word")).to_have_count(3)
    for_everybody(page)
