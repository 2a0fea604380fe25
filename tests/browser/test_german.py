"""An annotator who reads German: chosen at the foot of the page, kept, and whole at every width."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.protocol import questions as q
from tests.browser.at_work import (
    WORKING,
    both_in_hand,
    eventually,
    in_hand,
    let_go,
    moved_on,
    shown,
    stored,
    take_time,
)
from tests.browser.conftest import Open, sign_in
from tests.browser.test_pages import assert_accessible, overflow
from tests.browser.test_staff import PAGES, walks  # noqa: F401
from tests.browser.test_task_states import fits, for_everybody
from tests.queue.world import TRUSTING, World
from tests.web import counted_desk, desk, world

PHONE = {"width": 390, "height": 844, "locale": "de-DE"}
PAY = {"basis": "item", "currency": "EUR", "per_item": {q.COREF_LINK: 0.025}}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn", settings={**TRUSTING, "pay": PAY}, consent="Wir *fragen* Sie.")


def signed_in(page: Page, then: str = "/tasks/") -> None:
    """Sign ann in by the German form."""
    page.goto(f"/sign-in/?next={then}")
    page.get_by_label("Benutzername").fill("ann")
    page.get_by_label("Passwort").fill(world.PASSWORD)
    page.get_by_role("button", name="Anmelden").click()
    page.wait_for_url(lambda address: "sign-in" not in address)


def begun(page: Page, kind: str) -> None:
    """Agree, read, and stand before the first question of `kind`."""
    signed_in(page, desk.address(kind))
    page.get_by_role("button", name="Ich stimme zu").click()
    page.get_by_role("button", name="Gelesen: beginnen").click()
    shown(page)


def test_a_phone_that_asks_for_german_gets_it_from_sign_in_to_the_last_answer(work: World, open_page: Open):
    page = open_page(**PHONE)
    take_time(page)
    page.goto("/")
    expect(page).to_have_title("Anmelden · Phrasebox")
    for_everybody(page)
    signed_in(page)
    expect(page.get_by_text("Sie haben noch nicht zugestimmt")).to_be_visible()
    for_everybody(page)
    page.get_by_role("link", name="Lesen und zustimmen").click()
    for_everybody(page)
    page.get_by_role("button", name="Ich stimme zu").click()
    page.get_by_role("link", name="Beginnen : Gleich oder verschieden?").click()
    expect(page.get_by_text("Sehen Sie zuerst das Foto an.")).to_be_visible()
    for_everybody(page)
    page.get_by_role("button", name="Gelesen: beginnen").click()
    shown(page)
    both_in_hand(page)
    held = in_hand(page)
    page.get_by_role("button", name="Verschieden").click()
    moved_on(page, held)
    shown(page)
    expect(page.locator(".progress")).to_contain_text("heute 1 erledigt 0,025 EUR")
    page.get_by_role("button", name="Letzte Antwort zurücknehmen").click()
    expect(page.get_by_role("status")).to_contain_text("Ihre letzte Antwort ist zurückgenommen")
    for_everybody(page)
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Verschieden").click()
    let_go(page)
    eventually(page, lambda: stored(q.COREF_LINK) == ["no"])
    page.goto(desk.address(q.BOX_QUALITY))
    expect(page.get_by_text("Zurzeit ist keine Frage dieser Art offen")).to_be_visible()
    for_everybody(page)


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_a_question_in_german_fits_and_is_for_everybody(work: World, open_page: Open, kind: str):
    desk.bring_up(work, kind)
    page = open_page(**PHONE)
    begun(page, kind)
    page.locator("summary", has_text="Anleitung").click()
    page.locator("summary", has_text="Problem melden").click()
    for_everybody(page)
    fits(page)


@pytest.mark.parametrize(("tasks", "kind"), [("relevance", q.RELEVANCE), ("graded", q.GRADED_RELEVANCE)])
def test_a_counted_question_in_german_fits_and_is_for_everybody(
    transactional_db: None, tmp_path: Path, open_page: Open, tasks: str, kind: str
):
    counted_desk.campaign(tmp_path / "drawn", tasks)
    page = open_page(**PHONE)
    signed_in(page, desk.address(kind))
    page.get_by_role("button", name="Gelesen: beginnen").click()
    page.wait_for_function(WORKING)
    page.locator("summary", has_text="Anleitung").click()
    page.locator("summary", has_text="Problem melden").click()
    for_everybody(page)
    fits(page)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.usefixtures("walks")
def test_every_page_of_staff_fits_in_german(open_page: Open, width: int):
    page = open_page(width)
    sign_in(page, "boss")
    page.goto("/")
    page.get_by_role("button", name="Deutsch").click()
    for address in PAGES:
        page.goto(address)
        expect(page.locator("html")).to_have_attribute("lang", "de")
        assert overflow(page) <= 0, address
        assert_accessible(page)


def test_german_is_chosen_at_the_foot_by_keys_and_stays(work: World, open_page: Open):
    page = open_page()
    page.goto("/sign-in/")
    german = page.get_by_role("button", name="Deutsch")
    german.focus()
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("button", name="Deutsch")).to_have_attribute("aria-current", "true")
    assert_accessible(page)
    signed_in(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Ihre Aufgaben")
    page.get_by_role("button", name="Abmelden").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Anmelden")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    sign_in(page, "ann")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
