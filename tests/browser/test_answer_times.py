"""Today's answers, their pay and their duration, as shown on a page during work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from annotation.models import Assignment, Control
from annotation.protocol import questions as q
from annotation.quality import controls
from annotation.quality.controls import ControlItem
from annotation.queue import submission
from annotation.queue.submission import Answer
from tests.browser.at_work import (
    answer_next,
    at,
    both_in_hand,
    eventually,
    in_hand,
    let_go,
    moved_on,
    stored,
    take_time,
    wait_for_task,
)
from tests.browser.conftest import Open, sign_in
from tests.queue.world import TRUSTING, World
from tests.web import desk

ANSWERS = "**/api/assignments/*/answer"
PAY = {"basis": "item", "currency": "EUR", "per_item": {q.COREF_LINK: 0.025}}


def campaign(folder: Path, **settings: Any) -> World:
    return desk.campaign(folder / "drawn", settings={**TRUSTING, "pay": PAY, **settings})


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return campaign(tmp_path)


def line(page: Page) -> Locator:
    return page.locator(".progress")


def test_pace_and_earnings_go_with_the_answers(work: World, open_page: Open):
    page = open_page()
    take_time(page)
    at(page, q.COREF_LINK)
    for _ in range(5):
        moved_on(page, answer_next(page))
    message = r"5 done today\s+0\.125 EUR\s+\d+ min of work\s+[1-9]\d* s each"
    expect(line(page)).to_contain_text(re.compile(message))
    page.get_by_role("button", name="Undo last answer").click()
    expect(line(page)).to_contain_text("4 done today 0.10 EUR")
    answer_next(page)
    page.goto("/tasks/")
    eventually(page, lambda: len(stored(q.COREF_LINK)) == 5)
    page.reload()
    expect(page.get_by_text("5 done today, 0.125 EUR")).to_be_visible()


def test_an_answer_that_is_not_taken_is_not_counted(work: World, open_page: Open):
    page = open_page(faults=True)
    take_time(page)
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    held = answer_next(page)
    submission.submit(worker=work.workers[0], assignment=held, answer=Answer("yes"), token="elsewhere")
    moved_on(page, held)
    expect(line(page)).to_contain_text("1 done today 0.025 EUR")
    let_go(page)
    expect(page.locator("[data-notices]")).to_contain_text("was not stored")
    expect(line(page)).to_contain_text("0 done today")
    expect(line(page).locator("[data-pay]")).to_be_hidden()


def test_an_answer_whose_receipt_was_lost_is_counted_once_after_a_reload(work: World, open_page: Open):
    page = open_page(faults=True)
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)
    lost = []

    def lose(route: Route) -> None:
        if not stored(q.COREF_LINK):
            route.fetch()
        route.abort()
        lost.append(route)

    page.route(ANSWERS, lose)
    moved_on(page, answer_next(page))
    let_go(page)
    eventually(page, lambda: len(stored(q.COREF_LINK)) == 1)
    expect(page.locator("[data-notices]")).to_contain_text("Answers kept in this browser: 1")
    page.reload()
    wait_for_task(page)
    tried = len(lost)
    page.evaluate("dispatchEvent(new Event('focus'))")
    eventually(page, lambda: len(lost) > tried)
    page.unroute(ANSWERS)
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator("[data-notices]")).to_be_empty()
    expect(line(page)).to_contain_text("1 done today 0.025 EUR")


@pytest.mark.slow  # the default run counts answers above
def test_after_a_test_the_count_is_there_without_a_reload(
    transactional_db: None, tmp_path: Path, open_page: Open
):
    work = campaign(tmp_path, trust={"verdict_known": 2})
    known = {("0:3-5", "1:6-7"): "yes", ("0:0-2", "1:0-2"): "no"}
    items = [
        ControlItem(q.COREF_LINK, Control.QUALIFICATION, "scene-1", pair, right)
        for pair, right in known.items()
    ]
    controls.add_control_items(campaign=work.campaign, items=enumerate(items, 1), source="page")
    page = open_page()
    take_time(page)
    sign_in(page, "ann", then=desk.address())
    page.get_by_role("button", name="Take the test").click()
    page.get_by_role("button", name="I have read this: begin").click()
    page.evaluate("window.loaded = 'once'")
    for _ in known:
        assignment = Assignment.objects.select_related("control").get(pk=in_hand(page)).control
        assert assignment is not None
        moved_on(page, answer_next(page, "The same" if assignment.stratum == "yes" else "Different"))
    expect(line(page)).to_contain_text("2 done today")
    answer_next(page)
    expect(line(page)).to_contain_text("3 done today")
    expect(line(page)).to_contain_text("EUR")
    text = line(page).locator("[data-pay]").inner_text()
    assert page.evaluate("window.loaded") == "once"
    let_go(page)
    eventually(page, lambda: len(stored(q.COREF_LINK)) == 3)
    page.reload()
    expect(line(page)).to_contain_text("3 done today")
    assert line(page).locator("[data-pay]").inner_text() == text
