"""An annotator who reads German: selected at the foot of the page, stored, and complete at every width."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation import instructions
from annotation.protocol import questions as q
from annotation.selectors import spelling
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.task_types.tag_relevance.rules import TAG_RELEVANCE
from tests.browser.at_work import (
    WORKING,
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
from tests.browser.box_editor import Fingers
from tests.browser.conftest import Open, sign_in, sign_in_by_form
from tests.browser.looks import assert_accessible, fits, for_everybody
from tests.browser.test_staff import PAGES, walks  # noqa: F401
from tests.queue.world import TRUSTING, World
from tests.sizes import THOROUGH, by_default
from tests.web import counted_desk, desk, world

PHONE = {"width": 390, "height": 844, "locale": "de-DE"}
PAY = {"basis": "item", "currency": "EUR", "per_item": {q.COREF_LINK: 0.025}}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn", settings={**TRUSTING, "pay": PAY}, consent="Wir *fragen* Sie.")


def sign_in_by_the_german_form(page: Page) -> None:
    page.goto("/sign-in/?next=/tasks/")
    page.get_by_label("Benutzername").fill("ann")
    page.get_by_label("Passwort").fill(world.PASSWORD)
    page.get_by_role("button", name="Anmelden").click()
    page.wait_for_url(lambda address: "sign-in" not in address)


def test_a_phone_that_asks_for_german_gets_it_from_sign_in_to_the_last_answer(work: World, open_page: Open):
    page = open_page(**PHONE)
    take_time(page)
    page.goto("/")
    expect(page).to_have_title("Anmelden · Phrasebox")
    for_everybody(page)
    sign_in_by_the_german_form(page)
    expect(page.get_by_text("Lesen Sie vor dem Beginn, wie Ihre Antworten verwendet werden")).to_be_visible()
    for_everybody(page)
    page.get_by_role("link", name="Lesen und zustimmen").click()
    for_everybody(page)
    page.get_by_role("button", name="Ich stimme zu").click()
    page.get_by_role("link", name="Beginnen : Gleich oder verschieden?").click()
    expect(page.get_by_text("Sehen Sie zuerst das Foto an.")).to_be_visible()
    for_everybody(page)
    page.get_by_role("button", name="Gelesen: beginnen").click()
    wait_for_task(page)
    both_in_hand(page)
    held = in_hand(page)
    page.get_by_role("button", name="Verschieden").click()
    moved_on(page, held)
    wait_for_task(page)
    expect(page.locator(".progress")).to_contain_text("heute 1 erledigt 0,025 EUR")
    page.get_by_role("button", name="Letzte Antwort zurücknehmen").click()
    expect(page.get_by_role("status")).to_contain_text("Letzte Antwort rückgängig gemacht")
    for_everybody(page)
    read(page)
    page.get_by_role("button", name="Verschieden").click()
    let_go(page)
    eventually(page, lambda: stored(q.COREF_LINK) == ["no"])
    page.goto(desk.address(q.BOX_QUALITY))
    expect(page.get_by_text("Zurzeit ist keine Frage dieser Art offen")).to_be_visible()
    for_everybody(page)


@pytest.mark.parametrize("kind", by_default(1, [q.BOX_DRAWING, *sorted({*q.QUESTIONS} - {q.BOX_DRAWING})]))
def test_a_question_in_german_fits_and_is_for_everybody(work: World, open_page: Open, kind: str):
    desk.open_questions_for(work, kind)
    page = open_page(**PHONE)
    text = instructions.current_text(campaign=work.campaign, kind=instructions.CONSENT)
    instructions.record_consent(worker=work.workers[0], campaign=work.campaign, version=text.version)
    at(page, kind)
    wait_for_task(page)
    all_open_fits(page)


@pytest.mark.parametrize(
    ("tasks", "kind"),
    by_default(1, [("relevance", RELEVANCE), ("tags", TAG_RELEVANCE), ("graded", GRADED_RELEVANCE)]),
)
def test_a_counted_question_in_german_fits_and_is_for_everybody(
    transactional_db: None, tmp_path: Path, open_page: Open, tasks: str, kind: str
):
    counted_desk.campaign(tmp_path / "drawn", tasks)
    page = open_page(**PHONE)
    open_question(page, kind)
    all_open_fits(page)


def open_question(page: Page, kind: str) -> None:
    """Wait for a question of `kind`, without consent."""
    at(page, kind)
    page.wait_for_function(WORKING)


def all_open_fits(page: Page) -> None:
    """Unfold everything, and check that the page is accessible at every width."""
    open_sheet(page, "Anleitung")
    fits(page)
    close_sheet(page)
    open_sheet(page, "Problem melden")
    fits(page)
    close_sheet(page)
    for_everybody(page)


@pytest.mark.slow  # the default run writes sentences in `test_caption_page`
def test_a_sentence_is_written_by_german_words(transactional_db: None, tmp_path: Path, open_page: Open):
    counted_desk.campaign(tmp_path / "drawn", "captions", images=2)
    spelling.load_dictionary()  # as in a server, from its start
    page = open_page(**PHONE)
    open_question(page, CAPTION_WRITING)
    expect(page.get_by_role("heading", level=1)).to_have_text("Beschreiben Sie dieses Bild in einem Satz.")
    sentence = page.get_by_label("Ihr Satz, auf Englisch")
    sentence.fill("Two dogs")
    expect(page.locator(".now")).to_have_text("Wörter: 2")
    page.get_by_role("button", name="Diesen Satz senden").click()
    expect(page.get_by_role("alert")).to_contain_text("Schreiben Sie einen ganzen Satz: mindestens")
    sentence.fill("Two peopel walk home with xqzzyv.")
    page.get_by_role("button", name="Diesen Satz senden").click()
    odd = page.get_by_role("region", name="Sind diese Wörter richtig geschrieben?")
    expect(odd).to_be_focused()
    expect(odd).to_contain_text("kein Vorschlag: Sehen Sie es noch einmal an")
    all_open_fits(page)
    held = in_hand(page)
    odd.get_by_role("button", name=re.compile("„people“")).click()
    odd.get_by_role("button", name="So senden, wie er ist").click()
    moved_on(page, held)
    let_go(page)
    eventually(page, lambda: stored(CAPTION_WRITING) == ["written"])


@pytest.mark.slow  # the default run describes regions in `test_region_page`
def test_regions_are_described_by_german_words(transactional_db: None, tmp_path: Path, open_page: Open):
    settings = {**TRUSTING, "answers": {"regions": 2}}
    counted_desk.campaign(tmp_path / "drawn", "regions", settings=settings, images=2)
    page = open_page(**{**PHONE, "has_touch": True})
    open_question(page, REGION_DESCRIPTION)
    wait_for_task(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Zeichnen Sie 2 Rahmen um Teile")
    text = page.locator("[data-lacking]")
    expect(text).to_have_text("Bereich 1: Zeichnen Sie seinen Rahmen.")
    fingers = Fingers(page)
    for number, item in enumerate([((60, 80), (130, 330)), ((250, 240), (330, 320))], 1):
        fingers.drag(*item)
        says = page.get_by_label(f"Bereich {number}: was er zeigt")
        expect(says).to_be_focused()
        expect(text).to_have_text(f"Bereich {number}: Sagen Sie, was er zeigt.")
        page.keyboard.insert_text(f"thing {number}")
    expect(text).to_have_text("Alles ist vollständig: Senden Sie es.")
    page.locator(".region summary").first.click()
    all_open_fits(page)
    held = in_hand(page)
    page.get_by_role("button", name="Diese Bereiche senden").click()
    moved_on(page, held)
    let_go(page)
    eventually(page, lambda: stored(REGION_DESCRIPTION) == ["described"])


@pytest.mark.usefixtures("walks")
def test_every_page_of_staff_fits_in_german(open_page: Open):
    page = open_page()
    sign_in(page, "boss")
    page.get_by_role("button", name="Deutsch").click()
    for address in PAGES if THOROUGH else PAGES[1::6]:
        page.goto(address)
        expect(page.locator("html")).to_have_attribute("lang", "de")
        for_everybody(page, other_words=True)


def test_german_is_chosen_at_the_foot_by_keys_and_stays(work: World, open_page: Open):
    page = open_page()
    page.goto("/sign-in/")
    german = page.get_by_role("button", name="Deutsch")
    german.focus()
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("button", name="Deutsch")).to_have_attribute("aria-current", "true")
    assert_accessible(page)
    sign_in_by_the_german_form(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Ihre Aufgaben")
    page.get_by_role("button", name="Abmelden").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Anmelden")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    sign_in_by_form(page, "ann")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
