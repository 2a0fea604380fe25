"""Every state of a task page, accessible and at every size; and how a page handles an answer that is sent
twice, late, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from annotation import instructions
from annotation.models import Assignment, Campaign, Control, Flag, Judgment, TrustState, Worker
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
    stored,
    wait_for_task,
)
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import assert_accessible, fits, for_everybody
from tests.queue.world import TRUSTING, World
from tests.sizes import by_default
from tests.web import desk

LINK = desk.address(q.COREF_LINK)


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


def campaign(folder: Path, **settings: Mapping[str, Any]) -> World:
    return desk.campaign(folder / "drawn", settings={**TRUSTING, **settings})


def status_of(page: Page, text: str) -> None:
    expect(page.get_by_role("status")).to_contain_text(text)


# Accessibility


#: The kinds whose pages differ most come first; the others have the layout of one of these.
LAID_OUT = (q.BOX_DRAWING, q.COREF_LINK, q.BOX_REQUIREMENT)


@pytest.mark.parametrize("kind", by_default(2, [*LAID_OUT, *sorted({*q.QUESTIONS} - {*LAID_OUT})]))
def test_a_question_is_for_everybody(work: World, open_page: Open, kind: str):
    desk.open_questions_for(work, kind)
    page = open_page(390, 844)
    at(page, kind)
    wait_for_task(page)
    for_everybody(page)
    open_sheet(page, "Instructions")
    assert_accessible(page)
    close_sheet(page)
    open_sheet(page, "Report a problem")
    fits(page)
    assert_accessible(page)


def test_what_one_reads_before_is_for_everybody(work: World, open_page: Open):
    instructions.publish_text(
        campaign=work.campaign, kind=instructions.CONSENT, text="We keep *your* answers."
    )
    page = open_page()
    sign_in(page, "ann")
    expect(page.get_by_text("Before you begin")).to_be_visible()
    for_everybody(page)
    page.get_by_role("link", name="Read and agree").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you begin")
    for_everybody(page)
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("link", name="Start : Same or different?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Same or different?")
    for_everybody(page)
    page.get_by_role("button", name="I have read this: begin").click()
    expect(page.get_by_role("button", name="Different")).to_be_visible()
    page.goto("/tasks/quay/consent/")
    expect(page.get_by_text("You have agreed to this.")).to_be_visible()
    for_everybody(page)


def test_why_there_is_nothing_is_for_everybody(work: World, open_page: Open):
    page = open_page()
    sign_in(page, "ann", then=desk.address(q.BOX_QUALITY))
    expect(page.get_by_text("No question of this kind is open now")).to_be_visible()
    for_everybody(page)
    page.goto(LINK)
    page.get_by_role("button", name="I have read this: begin").click()
    wait_for_task(page)
    both_in_hand(page)
    Campaign.objects.update(state=Campaign.PAUSED, reason="lunch")
    for _ in range(2):
        answer_next(page)
    expect(page.get_by_text("This campaign is paused: lunch")).to_be_visible()
    assert stored(q.COREF_LINK) == ["no", "no"]
    for_everybody(page)
    page.goto("/tasks/")
    expect(page.get_by_text("This campaign is paused: lunch")).to_be_visible()
    for_everybody(page)


@pytest.mark.slow  # the default run has the list without a question, above, and the doors by requests
def test_a_list_of_closed_doors_is_for_everybody(transactional_db: None, tmp_path: Path, open_page: Open):
    work = campaign(tmp_path, trust={**TRUSTING["trust"], "drawing_unjudged": 1})
    work.measure_verdicts()
    ann = Worker.objects.get(pseudonym="w-ann")
    work.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    work.take(1, q.BOX_QUALITY)
    work.submit(0, work.held(0, q.BOX_DRAWING), then=False)
    mine = TrustState.objects.filter(worker=ann)
    mine.filter(kind=q.COREF_LINK).update(state="suspended", known=12, right=2, last="0" * 10 + "11")
    mine.filter(kind=q.CHAIN_VERIFICATION).update(blocked=True, reason="please write to us")
    page = open_page()
    sign_in(page, "ann")
    doors = {
        q.COREF_LINK: "80 % of your checked answers",
        q.CHAIN_VERIFICATION: "please write to us",
        q.BOX_DRAWING: "Others still have to check 1 of your boxes",
    }
    for door in doors.values():
        expect(page.get_by_text(door)).to_be_visible()
    for_everybody(page)
    for kind, door in doors.items():
        page.goto(desk.address(kind))
        expect(page.get_by_text(door)).to_be_visible()
        for_everybody(page)


def test_a_test_and_its_failing_are_for_everybody(transactional_db: None, tmp_path: Path, open_page: Open):
    work = campaign(tmp_path, trust={"verdict_known": 2})
    known = {("0:3-5", "1:6-7"): "yes", ("0:0-2", "1:0-2"): "no"}
    items = [
        ControlItem(q.COREF_LINK, Control.QUALIFICATION, "scene-1", mentions, answer)
        for mentions, answer in known.items()
    ]
    controls.add_control_items(campaign=work.campaign, items=enumerate(items, 1), source="page")
    page = open_page()
    sign_in(page, "ann", then=LINK)
    expect(page.get_by_role("button", name="Take the test")).to_be_visible()
    for_everybody(page)
    page.get_by_role("button", name="Take the test").click()
    page.get_by_role("button", name="I have read this: begin").click()
    for number in (1, 2):
        expect(page.get_by_text(f"Test: question {number} of 2")).to_be_visible()
        assert_accessible(page)
        answer_next(page)
    expect(page.get_by_text("You had 1 of 2 right in the test and 2 are needed")).to_be_visible()
    for_everybody(page)


@pytest.mark.slow  # by requests in `web/test_tasks`, and as all missing pages in `test_pages`
def test_pages_that_say_no_are_for_everybody(work: World, open_page: Open):
    desk.open_questions_for(work, q.BOX_DRAWING)
    page = open_page()
    page.route("**/tasks.js", lambda route: route.fulfill(content_type="text/javascript", body=""))
    at(page, q.BOX_DRAWING)
    page.evaluate("document.querySelector('[data-answer]').noValidate = true")
    page.get_by_role("button", name="Send this box").click()
    expect(page.get_by_role("alert").first).to_contain_text("Draw a box first, or type its four edges.")
    for_everybody(page)
    page.goto("/tasks/quay/no_such_kind/")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is nothing at this address")
    for_everybody(page)


# One answer per page


def test_a_double_click_is_one_answer(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    held = in_hand(page)
    # On any machine, both clicks come before the next question can be read.
    page.evaluate("{ const at = performance.now(); performance.now = () => at; }")
    page.get_by_role("button", name="Different").dblclick()
    moved_on(page, held)
    answered(page, q.COREF_LINK, 1)
    assert Judgment.objects.filter(assignment=held).count() == 1
    assert stored(q.COREF_LINK) == ["no"]


def test_a_key_held_down_answers_one_task(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    held = in_hand(page)
    page.keyboard.down("2")
    moved_on(page, held)
    wait_for_task(page)
    page.keyboard.down("2")
    page.keyboard.up("2")
    answered(page, q.COREF_LINK, 1)
    assert in_hand(page) != held


def test_keys_count_once_the_picture_can_be_seen(work: World, open_page: Open):
    page = open_page()
    held: list[Route] = []
    page.route("**/pictures/**", lambda route: held.append(route))
    sign_in(page, "ann", then=LINK)
    with page.expect_request("**/pictures/**"):
        page.get_by_role("button", name="I have read this: begin").click(no_wait_after=True)
    expect(page.locator("[data-keys]")).to_be_visible()
    ignores_keys(page)
    page.route("**/pictures/**", lambda route: route.continue_())  # also the next question's
    for route in held:
        route.continue_()
    heeds_keys(page)


def test_single_keys_can_be_switched_off_for_good(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    page.get_by_label("Answer with single keys").uncheck()
    page.reload()
    wait_for_task(page)
    ignores_keys(page)
    page.get_by_label("Answer with single keys").check()
    heeds_keys(page)


def ignores_keys(page: Page) -> None:
    held = in_hand(page)
    page.keyboard.press("2")
    page.wait_for_timeout(500)
    let_go(page)
    assert (in_hand(page), stored(q.COREF_LINK)) == (held, [])


def heeds_keys(page: Page) -> None:
    wait_for_task(page)
    page.keyboard.press("2")
    answered(page, q.COREF_LINK, 1)


# Instead of an answer


def test_a_problem_is_reported_by_keys_alone(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    page.keyboard.press("p")
    expect(page.get_by_label("The phrase is cut off or makes no sense")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("2 words are missing")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    status_of(page, "Thank you for the report")
    let_go(page)
    eventually(page, Flag.objects.exists)
    assert Flag.objects.get().comment == "2 words are missing"
    assert_accessible(page)


def test_a_task_is_returned_by_its_key(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    held = in_hand(page)
    page.keyboard.press("r")
    status_of(page, "Skipped: somebody else will answer it.")
    moved_on(page, held)
    let_go(page)
    eventually(page, Assignment.objects.filter(pk=held, state=Assignment.RETURNED).exists)


def test_the_instructions_open_and_close_by_key(work: World, open_page: Open):
    page = open_page()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    page.keyboard.press("?")
    expect(page.get_by_text("Look at the photograph first")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Look at the photograph first")).to_be_hidden()


# Time


def test_the_heartbeat_keeps_what_is_in_hand_and_the_answer_to_what_is_gone_is_still_taken(
    transactional_db: None, tmp_path: Path, open_page: Open
):
    work = campaign(tmp_path, lease={"minutes": 1})
    mine = Assignment.objects.filter(worker=work.workers[0])
    page = open_page()
    page.clock.install()
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    before = max(mine.values_list("expires_at", flat=True))

    def active(index: int) -> None:
        """Perform an action, and advance to the time of a heartbeat."""
        page.mouse.move(index, index)
        page.clock.fast_forward("00:15")

    active(60)
    eventually(page, lambda: mine.filter(expires_at__gt=before).count() == 2)
    held = in_hand(page)
    mine.update(state=Assignment.EXPIRED, ended_at=before)
    active(90)
    expect(page.get_by_text("The time for this task is over")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Different").click()
    answered(page, q.COREF_LINK, 1)
    assert Judgment.objects.get().assignment_id == held
