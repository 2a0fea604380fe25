"""Real faults between a browser and the server: every answer arrives once, or the page says what happened and
what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from playwright.sync_api import Page, Route, expect

from annotation.common import database
from annotation.models import Assignment, Judgment
from annotation.protocol import questions as q
from annotation.queue import leases, submission
from annotation.queue.submission import Answer
from tests.browser.at_work import (
    answer_next,
    at,
    both_in_hand,
    eventually,
    in_hand,
    let_go,
    moved_on,
    read,
    stored,
    take_time,
    wait_for_task,
)
from tests.browser.conftest import Open, sign_in_by_form
from tests.browser.looks import assert_accessible
from tests.house.product import serving
from tests.queue.world import World
from tests.services import free_port
from tests.web import desk, world

ANSWERS = "**/api/assignments/*/answer"
LINK = desk.address(q.COREF_LINK)
#: Number of answers stored in the browser.
COUNT_PENDING = """() => Object.entries(localStorage).filter(([key]) => key.startsWith("phrasebox:pending:"))
    .reduce((sum, [, entries]) => sum + JSON.parse(entries).length, 0)"""


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


@pytest.fixture
def page(work: World, open_page: Open) -> Page:
    """ann at a link question, with the next one fetched, before something fails."""
    page = open_page(faults=True)
    ready(page)
    return page


@pytest.fixture
def unhurried(work: World, open_page: Open) -> Page:
    """The same, but no answer is sent before it is released, and none is repeated automatically."""
    page = open_page(faults=True)
    take_time(page)
    ready(page)
    return page


def ready(page: Page) -> None:
    at(page, q.COREF_LINK)
    wait_for_task(page)
    both_in_hand(page)


def says(page: Page, text: str) -> None:
    expect(page.locator("[data-notices]")).to_contain_text(text)


def count_pending(page: Page) -> int:
    """Return the number of answers stored in the browser."""
    return page.evaluate(COUNT_PENDING)


def try_now(page: Page, *held: int) -> None:
    """Press the button until the answers have arrived: the page also repeats automatically, and has no such
    button meanwhile."""

    def tried() -> bool:
        page.evaluate("document.querySelector('[data-do=now]')?.click()")
        return set(_answered()) >= set(held)

    eventually(page, tried)
    arrive(page, *held)


def arrive(page: Page, *held: int) -> None:
    """Wait until the answers to these assignments are stored, each once, and the browser stores no more."""
    eventually(page, lambda: set(_answered()) >= set(held))
    page.wait_for_function(f"() => ({COUNT_PENDING})() === 0")
    assert Counter(_answered()) == Counter(held)


def _answered() -> list[int]:
    return [held for held in Judgment.objects.values_list("assignment", flat=True) if held]


def test_without_a_network_one_works_on_and_all_arrives_when_it_is_back(page: Page):
    page.context.set_offline(True)
    first = answer_next(page)
    moved_on(page, first)
    second = answer_next(page)
    says(page, "You are offline, and the next question cannot be loaded. Answers kept in this browser: 2.")
    assert_accessible(page)
    assert stored(q.COREF_LINK) == []
    page.context.set_offline(False)
    moved_on(page, second)
    arrive(page, first, second)


def test_the_last_answer_can_be_taken_back_while_the_network_is_away(page: Page):
    page.context.set_offline(True)
    first = answer_next(page)
    moved_on(page, first)
    second = answer_next(page)
    says(page, "You are offline")
    page.get_by_role("button", name="Undo last answer").click()
    answer_next(page, "The same")
    page.context.set_offline(False)
    arrive(page, first, second)
    assert Judgment.objects.get(assignment=second).answer == "yes"


def test_an_answer_whose_receipt_is_lost_is_sent_again_and_stored_once(page: Page):
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route(ANSWERS, lose)
    first = answer_next(page)
    let_go(page)
    says(page, "The server does not accept answers right now. Answers kept in this browser: 1")
    assert _answered() == [first]
    page.unroute(ANSWERS)
    arrive(page, first)
    expect(page.locator("[data-notices]")).to_be_empty()


def test_what_the_server_cannot_take_waits_and_the_rest_goes_on(
    unhurried: Page, monkeypatch: pytest.MonkeyPatch
):
    page = unhurried
    real: Callable[..., Any] = submission.submit
    broken = True
    first = in_hand(page)

    def submit(**value: Any) -> Any:
        if broken and value["assignment"] == first:
            raise RuntimeError("made by a test")
        return real(**value)

    monkeypatch.setattr(submission, "submit", submit)
    moved_on(page, answer_next(page))
    let_go(page)
    says(page, "The server does not accept answers right now. Answers kept in this browser: 1")
    assert_accessible(page)
    both_in_hand(page)
    second = answer_next(page)
    # Both are sent at once, and the first response must precede the second's arrival.
    with page.expect_response(lambda had: f"/{first}/" in had.url and had.status == 500):
        let_go(page)
    eventually(page, lambda: _answered() == [second])
    button = page.get_by_role("button", name="Try now")
    expect(button).to_be_visible()
    broken = False
    try_now(page, first, second)
    expect(page.locator("[data-notices]")).to_be_empty()


def test_a_conflict_is_told_once_and_the_rest_goes_on(work: World, unhurried: Page):
    page = unhurried
    first = answer_next(page)
    submission.submit(worker=work.workers[0], assignment=first, answer=Answer("yes"), token="elsewhere")
    moved_on(page, first)
    both_in_hand(page)
    second = answer_next(page)
    let_go(page)
    says(page, "Your answer “Different” was not stored: You have already answered this task")
    arrive(page, first, second)
    assert Judgment.objects.get(assignment=first).answer == "yes"
    page.reload()
    says(page, "You have already answered this task, perhaps in another tab: continue with the next.")
    assert_accessible(page)
    page.get_by_role("button", name="OK").click()
    expect(page.locator("[data-notices]")).to_be_empty()
    page.reload()
    wait_for_task(page)
    expect(page.locator("[data-notices]")).to_be_empty()


def test_an_answer_to_what_is_no_more_is_told_and_the_rest_goes_on(unhurried: Page):
    page = unhurried
    first = answer_next(page)
    Assignment.objects.filter(pk=first).delete()
    moved_on(page, first)
    both_in_hand(page)
    second = answer_next(page)
    let_go(page)
    says(page, "was not stored: No such task is assigned to you: open your list of tasks.")
    arrive(page, second)


def test_what_the_question_does_not_take_is_told_and_asked_again(page: Page):
    held = in_hand(page)
    page.evaluate("document.querySelector('[data-key=\"2\"]').value = 'perhaps'")
    moved_on(page, answer_next(page))
    let_go(page)
    says(page, "Your answer “Different” was not stored: “perhaps” is not an answer to this question")
    assert stored(q.COREF_LINK) == []
    moved_on(page, answer_next(page))
    while in_hand(page) != held:
        moved_on(page, answer_next(page))
    answer_next(page)
    let_go(page)
    eventually(page, Judgment.objects.filter(assignment=held).exists)


@pytest.mark.slow  # the default run has it without a page, in `queue/test_submission`
def test_an_answer_comes_in_after_its_lease_ran_out(unhurried: Page):
    page = unhurried
    first = answer_next(page)
    Assignment.objects.filter(pk=first).update(expires_at=database.now() - timedelta(minutes=1))
    assert leases.end_expired_leases() == 1
    let_go(page)
    arrive(page, first)


@pytest.mark.slow  # the default run has it without a page, in `queue/test_submission`
def test_an_answer_that_others_made_needless_is_stored(work: World, unhurried: Page):
    page = unhurried
    first = answer_next(page)
    held = Assignment.objects.select_related("task").get(pk=first)
    Assignment.objects.filter(pk=first).update(expires_at=database.now() - timedelta(minutes=1))
    leases.end_expired_leases()
    while held.task and held.task.state == "open":
        for worker in range(1, 4):
            lease = work.take(worker)
            if isinstance(lease, leases.Lease):
                work.submit(worker, lease, then=False)
        held.task.refresh_from_db()
    let_go(page)
    eventually(page, lambda: Judgment.objects.filter(assignment=first).count() == 1)


def test_a_session_that_is_over_keeps_the_answers_until_one_has_signed_in(page: Page):
    Session.objects.all().delete()
    first = answer_next(page)
    moved_on(page, first)
    second = answer_next(page)
    says(page, "You have been signed out. Answers kept in this browser: 2")
    assert_accessible(page)
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("User name").fill("ann")
    page.get_by_label("Password").fill(world.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    if "instructions" in page.url:
        page.get_by_role("button", name="I have read this: begin").click()
    expect(page.locator("[data-answer]")).to_be_visible()
    arrive(page, first, second)


@pytest.mark.slow  # the default run signs in again above and below
def test_somebody_who_signs_in_again_in_another_tab_goes_on_in_this_one(page: Page):
    Session.objects.all().delete()
    first = answer_next(page)
    let_go(page)
    says(page, "You have been signed out")
    other_page = page.context.new_page()
    sign_in_by_form(other_page, "ann")
    other_page.close()
    page.bring_to_front()
    page.evaluate("dispatchEvent(new Event('focus'))")
    arrive(page, first)
    expect(page.locator("[data-notices]")).to_be_empty()


def test_nobody_sends_the_answers_of_somebody_else(page: Page):
    world.account("bob", "annotator")
    Session.objects.all().delete()
    first = answer_next(page)
    let_go(page)
    says(page, "You have been signed out")
    sign_in_by_form(other_page := page.context.new_page(), "bob", then="/tasks/")
    page.bring_to_front()
    page.evaluate("dispatchEvent(new Event('focus'))")
    says(page, "Somebody else has signed in with this browser. Your answers kept here: 1")
    assert_accessible(page)
    assert stored(q.COREF_LINK) == [] and count_pending(page) == 1
    Session.objects.all().delete()
    sign_in_by_form(other_page, "ann", then="/tasks/")
    arrive(other_page, first)


def test_two_tabs_do_not_work_at_one_place(unhurried: Page):
    page = unhurried
    first = answer_next(page)
    moved_on(page, first)
    second = in_hand(page)
    other_page = page.context.new_page()
    other_page.goto(LINK)
    text = "You are working on this task in another tab"
    expect(other_page.get_by_text(text)).to_be_visible()
    assert_accessible(other_page)
    other_page.keyboard.press("1")
    assert count_pending(page) == 1
    other_page.get_by_role("button", name="Continue here").click()
    expect(page.get_by_text(text)).to_be_visible()
    expect(other_page.get_by_text(text)).to_be_hidden()
    wait_for_task(other_page)
    read(other_page)
    assert in_hand(other_page) == second
    answer_next(other_page, "The same")
    let_go(other_page)
    arrive(other_page, first, second)


def test_a_tab_that_is_closed_leaves_its_place_to_the_other(page: Page):
    first = answer_next(page)
    other_page = page.context.new_page()
    other_page.goto(LINK)
    expect(other_page.get_by_text("in another tab")).to_be_visible()
    page.close()
    expect(other_page.get_by_text("in another tab")).to_be_hidden()
    arrive(other_page, first)
    wait_for_task(other_page)
    assert in_hand(other_page) != first


@pytest.mark.slow  # the default run has two tabs, above, and the list, below
def test_the_list_of_tasks_frees_the_place_for_which_it_has_sent(page: Page):
    first = answer_next(page)
    page.goto("/tasks/")
    arrive(page, first)
    other_page = page.context.new_page()
    other_page.goto(LINK)
    wait_for_task(other_page)
    other_page.wait_for_timeout(1_000)
    expect(other_page.get_by_text("in another tab")).to_be_hidden()
    second = answer_next(other_page)
    let_go(other_page)
    arrive(other_page, first, second)


def test_what_is_taken_back_is_given_again_under_a_token_of_its_own(page: Page):
    tokens = page.evaluate(
        """async () => {
            const { PendingAnswers } = await import("/static/annotation/tasks/pending_answers.js");
            const { storage } = await import("/static/annotation/tasks/storage.js");
            const pending = new PendingAnswers(storage, "a:b:c");
            pending.add({ assignment: 7, token: "t" });
            return [pending.takeBack(7).token, pending.takeBack(7)];
        }"""
    )
    assert len(tokens[0]) == 32 and tokens[1] is None


def test_a_reload_keeps_what_was_not_sent_and_does_not_ask_it_again(page: Page):
    page.route(ANSWERS, lambda route: route.abort())
    first = answer_next(page)
    moved_on(page, first)
    page.reload()
    wait_for_task(page)
    moved_on(page, first)
    assert count_pending(page) == 1
    page.unroute(ANSWERS)
    page.reload()
    arrive(page, first)


def test_back_and_forward_lose_nothing_and_ask_nothing_twice(page: Page):
    page.goto("/tasks/")
    page.get_by_role("link", name="Continue : Same or different?").click()
    wait_for_task(page)
    both_in_hand(page)
    first = answer_next(page)
    moved_on(page, first)
    second = in_hand(page)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    page.go_forward()
    wait_for_task(page)
    assert in_hand(page) == second
    arrive(page, first)


def test_what_is_kept_is_sent_from_the_list_of_tasks_too(unhurried: Page):
    page = unhurried
    page.route(ANSWERS, lambda route: route.abort())
    first = answer_next(page)
    moved_on(page, first)
    page.goto("/tasks/")
    says(page, "The server does not accept answers right now. Answers kept in this browser: 1")
    assert_accessible(page)
    expect(page.get_by_role("button", name="Try now")).to_be_visible()
    page.unroute(ANSWERS)
    try_now(page, first)
    expect(page.locator("[data-notices]")).to_be_empty()


@pytest.mark.slow  # the default run has lost networks here, and a start in `house/test_serve`
def test_a_server_that_was_stopped_and_started_again_gets_every_answer(
    work: World, tmp_path: Path, open_page: Open
):
    port = free_port()
    form_data: dict[str, Any] = {
        "DATABASE_URL": database_address(),
        "DATA_DIR": str(settings.DATA_DIR),
        "SECRET_KEY": settings.SECRET_KEY,
    }
    address = f"http://127.0.0.1:{port}"
    page = open_page(faults=True, base_url=address)
    session = desk.at_work(work).cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": address}])
    with serving(tmp_path, port=port, **form_data):
        page.goto(LINK)
        wait_for_task(page)
        both_in_hand(page)
    first = answer_next(page)
    moved_on(page, first)
    second = answer_next(page)
    says(page, "The server does not answer right now")
    assert_accessible(page)
    with serving(tmp_path, port=port, **form_data):
        moved_on(page, second)
        arrive(page, first, second)
        page.goto("about:blank")


def database_address() -> str:
    """Return the address of the tests' database, for another process."""
    value = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{value['NAME']}"
    return "postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(**value)
