"""From question to question: answers wait in the browser for a moment, can be undone, and arrive once."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Assignment, Control, Judgment
from annotation.protocol import questions as q
from annotation.quality import controls
from annotation.quality.controls import ControlItem
from tests.browser.at_work import (
    answer_next,
    answered,
    at,
    both_in_hand,
    close_sheet,
    eventually,
    in_hand,
    let_go,
    moved_on,
    open_sheet,
    read,
    stored,
    take_time,
    wait_for_task,
)
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import assert_accessible
from tests.queue.world import TRUSTING, World
from tests.web import desk

UNDO = "Undo last answer"
#: Delays requests, so that the next task is requested before an answer arrives.
SLOW_TO_ARRIVE = """{
  const real = window.fetch;
  window.fetch = async (address, options) => {
    if (options?.method === "POST") await new Promise((resolve) => setTimeout(resolve, 1500));
    return real(address, options);
  };
}"""
#: Delays responses, so that an answer is given while the next task is requested.
SLOW_TO_COME = """{
  const real = window.fetch;
  window.fetch = async (address, options) => {
    const response = await real(address, options);
    if (address.includes("part=task")) await new Promise((resolve) => setTimeout(resolve, 1500));
    return response;
  };
}"""
#: Whether the page recorded a user's presence less than half a minute ago.
SAW_THE_POINTER = "() => Date.now() - JSON.parse(localStorage.getItem('phrasebox:at-work')).last < 30_000"


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


@pytest.fixture
def page(work: World, open_page: Open) -> Page:
    """ann at a link question, with the next one fetched; no answer is sent by time."""
    page = open_page()
    take_time(page)
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    return page


def test_the_next_question_comes_without_a_page_and_its_answer_sends_the_one_before(page: Page):
    page.evaluate("window.loaded = 'once'")
    first = answer_next(page)
    moved_on(page, first)
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert stored(q.COREF_LINK) == []
    both_in_hand(page)
    answer_next(page)
    eventually(page, lambda: len(stored(q.COREF_LINK)) == 1)
    assert Judgment.objects.get().assignment_id == first
    assert page.evaluate("window.loaded") == "once"


def test_an_answer_goes_by_itself_after_ten_seconds(work: World, open_page: Open):
    page = open_page()
    page.clock.install()
    at(page, q.COREF_LINK)
    both_in_hand(page)
    wait_for_task(page)
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 60)
    page.get_by_role("button", name="Different").click()
    page.clock.run_for(9_900)
    expect(page.get_by_role("button", name=UNDO)).to_be_visible()
    assert stored(q.COREF_LINK) == []
    page.clock.run_for(200)
    eventually(page, lambda: stored(q.COREF_LINK) == ["no"])
    expect(page.get_by_role("button", name=UNDO)).to_be_hidden()


def test_leaving_sends_the_last_answer(page: Page):
    answer_next(page)
    page.goto("/tasks/")
    eventually(page, lambda: stored(q.COREF_LINK) == ["no"])


def test_the_last_answer_is_taken_back_by_key_and_given_again(page: Page):
    first = answer_next(page)
    moved_on(page, first)
    second = in_hand(page)
    wait_for_task(page)
    page.keyboard.press("u")
    moved_on(page, second)
    expect(page.get_by_role("status")).to_contain_text("Last answer undone")
    expect(page.get_by_text("0 done today")).to_be_visible()
    assert_accessible(page)
    assert in_hand(page) == first
    answer_next(page, "The same")
    moved_on(page, first)
    assert in_hand(page) == second
    answered(page, q.COREF_LINK, 1)
    assert stored(q.COREF_LINK) == ["yes"]


def test_what_is_sent_cannot_be_taken_back(page: Page):
    answer_next(page)
    expect(page.get_by_role("button", name=UNDO)).to_be_visible()
    let_go(page)
    expect(page.get_by_role("button", name=UNDO)).to_be_hidden()


def test_a_report_and_a_return_are_taken_back_too(page: Page):
    held = in_hand(page)
    page.keyboard.press("r")
    moved_on(page, held)
    page.get_by_role("button", name=UNDO).click()
    read(page)
    assert in_hand(page) == held
    open_sheet(page, "Report a problem")
    page.get_by_label("This is offensive").check()
    page.get_by_role("button", name="Report instead of answering").click()
    moved_on(page, held)
    page.get_by_role("button", name=UNDO).click()
    expect(page.get_by_label("This is offensive")).to_be_checked()
    close_sheet(page)
    read(page)
    answer_next(page)
    answered(page, q.COREF_LINK, 1)
    assert Judgment.objects.get().flag == ""


def test_a_box_is_there_again_when_its_answer_is_taken_back(work: World, open_page: Open):
    desk.open_questions_for(work, q.BOX_DRAWING, 2)
    page = open_page()
    take_time(page)
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    both_in_hand(page)
    held = in_hand(page)
    page.keyboard.press("ArrowUp")
    answer_next(page, "Send this box")
    moved_on(page, held)
    left = page.get_by_label("Left", exact=True)
    expect(left).to_have_value("")
    page.get_by_role("button", name=UNDO).click()
    expect(left).not_to_have_value("")
    before = int(left.input_value())
    page.keyboard.press("ArrowRight")
    assert int(left.input_value()) == before + 1
    answer_next(page, "Send this box")
    answered(page, q.BOX_DRAWING, 1)
    assert Judgment.objects.get(assignment=held).xmin == before + 1


def test_the_picture_stays_where_the_next_question_is_about_the_same(
    transactional_db: None, tmp_path: Path, open_page: Open
):
    desk.campaign(tmp_path / "drawn", images=1)
    page = open_page()
    take_time(page)
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    page.evaluate("document.querySelector('[data-picture]').seen = true")
    before = page.locator(".question").inner_html(), page.locator(".captions").inner_html()
    moved_on(page, answer_next(page))
    assert page.evaluate("document.querySelector('[data-picture]').seen") is True
    assert (page.locator(".question").inner_html(), page.locator(".captions").inner_html()) != before
    page.get_by_role("button", name=UNDO).click()
    expect(page.get_by_role("button", name=UNDO)).to_be_hidden()
    assert page.evaluate("document.querySelector('[data-picture]').seen") is True


def test_what_was_drawn_and_not_sent_is_there_after_a_reload(work: World, open_page: Open):
    desk.open_questions_for(work, q.BOX_DRAWING)
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    page.keyboard.press("ArrowUp")
    open_sheet(page, "Report a problem")
    page.get_by_label("Anything else").fill("a dog behind the dog")
    edges = [page.get_by_label(name, exact=True).input_value() for name in ("Left", "Top", "Right", "Bottom")]
    page.reload()
    wait_for_task(page)
    expect(page.get_by_label("Anything else")).to_have_value("a dog behind the dog")
    for name, edge in zip(("Left", "Top", "Right", "Bottom"), edges, strict=True):
        expect(page.get_by_label(name, exact=True)).to_have_value(edge)
    expect(page.locator(".sheet .edge")).to_be_visible()
    page.get_by_role("button", name="Send this box").click()
    answered(page, q.BOX_DRAWING, 1)


def test_what_was_entered_after_a_return_is_there_after_a_reload(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    returned = in_hand(page)
    page.get_by_role("button", name="Skip").click()
    moved_on(page, returned)
    held = in_hand(page)
    open_sheet(page, "Report a problem")
    page.get_by_label("Anything else").fill("cut off")
    page.reload()
    page.wait_for_function(
        "held => Number(document.querySelector('[data-answer] [name=assignment]')?.value) === held", arg=held
    )
    expect(page.get_by_label("Anything else")).to_have_value("cut off")


def test_a_tests_answers_stand(transactional_db: None, tmp_path: Path, open_page: Open):
    work = desk.campaign(tmp_path / "drawn", settings={**TRUSTING, "trust": {"verdict_known": 2}})
    known = {("0:3-5", "1:6-7"): "yes", ("0:0-2", "1:0-2"): "no"}
    items = [
        ControlItem(q.COREF_LINK, Control.QUALIFICATION, "scene-1", pair, right)
        for pair, right in known.items()
    ]
    controls.add_control_items(campaign=work.campaign, items=enumerate(items, 1), source="page")
    page = open_page()
    sign_in(page, "ann", then=desk.address())
    page.get_by_role("button", name="Take the test").click()
    page.get_by_role("button", name="I have read this: begin").click()
    wait_for_task(page)
    both_in_hand(page)
    first = answer_next(page)
    moved_on(page, first)
    expect(page.get_by_text("Test: question 2 of 2")).to_be_visible()
    expect(page.get_by_role("button", name=UNDO)).to_be_hidden()
    eventually(page, Judgment.objects.filter(assignment=first).exists)


def test_where_two_may_be_in_hand_the_answer_makes_room_for_the_next(
    transactional_db: None, tmp_path: Path, open_page: Open
):
    desk.campaign(tmp_path / "drawn", settings={**TRUSTING, "lease": {"in_hand": 2}})
    page = open_page()
    at(page, q.COREF_LINK)
    for done in range(1, 4):
        moved_on(page, answer_next(page))
        eventually(page, lambda done=done: len(stored(q.COREF_LINK)) == done)  # type: ignore[misc]
    assert Assignment.objects.filter(state=Assignment.LEASED).count() <= 2


def test_an_answer_that_is_slow_to_arrive_leaves_the_next_one_to_be_taken_back(work: World, open_page: Open):
    page = open_page()
    take_time(page)
    page.add_init_script(SLOW_TO_ARRIVE)
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    for item in (2, 4):
        moved_on(page, answer_next(page))
        moved_on(page, answer_next(page))
        eventually(page, lambda item=item: len(stored(q.COREF_LINK)) == item - 1)  # type: ignore[misc]
        both_in_hand(page)
        expect(page.get_by_role("button", name=UNDO)).to_be_visible()
        assert len(stored(q.COREF_LINK)) == item - 1


def test_what_was_asked_before_an_answer_says_nothing_about_after_it(
    transactional_db: None, tmp_path: Path, open_page: Open
):
    desk.campaign(tmp_path / "drawn", settings={**TRUSTING, "lease": {"in_hand": 1}})
    page = open_page()
    page.add_init_script(SLOW_TO_COME)
    at(page, q.COREF_LINK)
    page.evaluate("window.loaded = 'once'")
    for done in range(1, 3):
        moved_on(page, answer_next(page))
        assert len(stored(q.COREF_LINK)) == done
    assert page.evaluate("window.loaded") == "once"


def test_after_fifty_minutes_a_break_is_suggested_once(work: World, open_page: Open):
    page = open_page()
    page.clock.install()
    at(page, q.COREF_LINK)

    def minutes(number: int) -> None:
        wait_for_task(page)
        for _ in range(number // 2):
            page.clock.fast_forward("02:00")
            page.mouse.move(*_elsewhere())
            page.wait_for_function(SAW_THE_POINTER)

    reminder = page.locator("[data-notices]").get_by_text(
        "A short break is good for your eyes and your answers"
    )
    minutes(48)
    expect(reminder).to_be_hidden()
    page.reload()
    minutes(4)
    expect(reminder).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="OK").click()
    minutes(4)
    expect(reminder).to_be_hidden()


_places = [(60 + 7 * n, 60 + 5 * n) for n in range(40)]


def _elsewhere() -> tuple[int, int]:
    """Return another position each time: a pointer that does not move is not a user at work."""
    _places.append(_places.pop(0))
    return _places[0]
