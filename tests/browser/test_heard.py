"""What screen readers announce, and where the keyboard's focus goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.models import Assignment
from annotation.protocol import questions as q
from tests.browser.at_work import (
    answer_next,
    at,
    both_in_hand,
    in_hand,
    let_go,
    moved_on,
    read,
    stored,
    take_time,
    wait_for_task,
)
from tests.browser.box_editor import point_at
from tests.browser.conftest import Open
from tests.queue.world import World
from tests.web import desk

#: Records what is put into the live region of the current page.
LISTEN = """() => {
  window.heard = [];
  const note = (changes) => changes.forEach((change) =>
    change.addedNodes.forEach((node) => window.heard.push(node.textContent.trim())));
  const region = document.querySelector("main [role=status]:not(.reading)");
  new MutationObserver(note).observe(region, { childList: true });
}"""


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


def at_a_question(page: Page, kind: str = q.COREF_LINK) -> None:
    take_time(page)
    at(page, kind)
    wait_for_task(page)
    both_in_hand(page)


def test_what_the_page_says_is_heard_whichever_task_it_shows(work: World, open_page: Open):
    page = open_page()
    at_a_question(page)
    page.evaluate(LISTEN)
    moved_on(page, answer_next(page))
    wait_for_task(page)
    both_in_hand(page)
    read(page)
    page.keyboard.press("r")
    status = page.get_by_role("status")
    expect(status).to_contain_text("Skipped: somebody else will answer it.")
    page.get_by_role("button", name="Undo last answer").click()
    expect(status).to_contain_text("Last answer undone")
    assert page.evaluate("window.heard") == [
        "Skipped: somebody else will answer it.",
        "Last answer undone: answer again.",
    ]


def test_what_was_said_is_not_said_again_when_something_else_comes(work: World, open_page: Open):
    page = open_page(faults=True)
    at_a_question(page)
    page.evaluate(LISTEN)
    page.route("**/api/assignments/*/answer", lambda route: route.abort())
    moved_on(page, answer_next(page))
    let_go(page)
    expect(page.get_by_role("status")).to_contain_text("Answers kept in this browser: 1")
    wait_for_task(page)
    read(page)
    page.get_by_role("button", name="Try now").focus()
    let_go(page)
    page.wait_for_timeout(1_000)
    expect(page.get_by_role("button", name="Try now")).to_be_focused()
    assert sum("Answers kept in this browser: 1" in item for item in page.evaluate("window.heard")) == 1
    page.unroute("**/api/assignments/*/answer")
    page.keyboard.press("Enter")
    expect(page.locator("[data-notices]")).to_be_empty()
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_a_word_that_is_dismissed_gives_the_focus_to_the_question(work: World, open_page: Open):
    page = open_page(faults=True)
    at_a_question(page)
    first = answer_next(page)
    Assignment.objects.filter(pk=first).delete()
    moved_on(page, first)
    let_go(page)
    right = page.get_by_role("button", name="OK")
    right.focus()
    page.keyboard.press("Enter")
    expect(right).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_on_the_list_of_tasks_it_gives_the_focus_to_the_page(work: World, open_page: Open):
    page = open_page(faults=True)
    at_a_question(page)
    first = answer_next(page)
    Assignment.objects.filter(pk=first).delete()
    page.goto("/tasks/")
    right = page.get_by_role("button", name="OK")
    right.focus()
    page.keyboard.press("Enter")
    expect(right).to_be_hidden()
    expect(page.locator("#main")).to_be_focused()


def test_a_tab_that_rests_has_the_focus_on_why(work: World, open_page: Open):
    page = open_page()
    at_a_question(page)
    other_page = page.context.new_page()
    other_page.goto(desk.address(q.COREF_LINK))
    why = "You are working on this task in another tab"
    expect(other_page.get_by_role("heading", name=why)).to_be_focused()
    other_page.get_by_role("button", name="Continue here").click()
    expect(page.get_by_role("heading", name=why)).to_be_focused()


def test_until_its_picture_can_be_seen_a_question_shows_that_it_takes_no_answer(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    pictures: list[Route] = []
    page.route("**/pictures/**", lambda route: pictures.append(route))
    page.reload(wait_until="commit")
    choice = page.get_by_role("button", name="Different")
    expect(choice).to_be_disabled()
    expect(page.locator("[data-answer]")).to_have_attribute("aria-busy", "true")
    expect(page.get_by_role("status")).to_contain_text("Loading the picture.")
    held = in_hand(page)
    choice.click(force=True)
    page.route("**/pictures/**", lambda route: route.continue_())  # also the next question's
    for picture in pictures:
        picture.continue_()
    expect(choice).to_be_enabled()
    expect(page.locator("[data-notices]")).to_be_empty()
    assert (in_hand(page), stored(q.COREF_LINK)) == (held, [])
    moved_on(page, answer_next(page))


def test_escape_gives_up_a_box_in_the_making_before_it_closes_the_help(work: World, open_page: Open):
    desk.open_questions_for(work, q.BOX_DRAWING, 2)
    page = open_page()
    at_a_question(page, q.BOX_DRAWING)
    # On the next task, whose editor was loaded after the page's own keys.
    moved_on(page, answer_next(page, "No box"))
    wait_for_task(page)
    how = page.locator(".box-keys")
    how.locator("summary").click()
    expect(how).to_have_attribute("open", "")
    page.mouse.move(*point_at(page, 59, 79))
    page.mouse.down()
    page.mouse.move(*point_at(page, 130, 330), steps=4)
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.get_by_label("Left", exact=True)).to_have_value("")
    expect(how).to_have_attribute("open", "")
    page.keyboard.press("Escape")
    expect(how).not_to_have_attribute("open", "")
    expect(how.locator("summary")).to_be_focused()
