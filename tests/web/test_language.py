"""Pages in the reader's language: their choice, else their browser's, else English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.utils.translation import deactivate, override

from annotation import instructions
from annotation.models import Campaign, Judgment
from annotation.protocol import questions as q
from annotation.queue import submission
from annotation.queue.submission import Answer
from annotation.selectors.campaign.cost import money
from tests.queue.world import TRUSTING, World
from tests.web import desk, world
from tests.web.test_tasks_list import set_test

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
#: Attributes of inline pictures, whose numbers need a decimal point in every language.
DRAWN = re.compile(r' (?:x|y|width|height|rx|transform|d|stroke-dasharray)="([^"]*)"')


@pytest.fixture(autouse=True)
def english_after() -> Iterator[None]:
    """Restore English: a request leaves its language in the thread, and the next test would use it."""
    yield
    deactivate()


def lang(page: object) -> str:
    match = re.search(r'<html lang="([^"]+)"', page.content.decode())  # type: ignore[attr-defined]
    assert match
    return match[1]


def test_a_page_is_in_the_language_that_the_browser_asks_for():
    page = Client(headers=GERMAN).get("/sign-in/")
    assert lang(page) == "de" and page["Content-Language"] == "de"
    assert "Benutzername" in page.content.decode()
    assert "Accept-Language" in page["Vary"]


def test_a_language_that_we_do_not_have_is_english():
    assert lang(Client(headers={"Accept-Language": "fi"}).get("/sign-in/")) == "en"


def test_what_was_chosen_stays_and_comes_before_what_the_browser_asks_for():
    client = Client(headers={"Accept-Language": "en"})
    back = client.post("/language/", {"language": "de", "next": "/sign-in/?next=/tasks/"})
    assert (back.status_code, back["Location"]) == (302, "/sign-in/?next=/tasks/")
    assert lang(client.get("/sign-in/")) == "de"
    cookie = client.cookies["language"]
    assert cookie["max-age"] > 300 * 24 * 3600 and cookie["httponly"] and cookie["samesite"] == "Lax"
    client.post("/language/", {"language": "en", "next": "/"})
    assert lang(client.get("/sign-in/")) == "en"


def test_a_language_is_chosen_by_our_own_form_only():
    strict = Client(enforce_csrf_checks=True)
    assert strict.post("/language/", {"language": "de"}).status_code == 403
    assert strict.get("/language/").status_code == 405


def test_choosing_leads_nowhere_else():
    back = Client().post("/language/", {"language": "de", "next": "https://elsewhere.example/"})
    assert back["Location"] == "/"


def test_a_language_that_there_is_not_is_not_kept():
    client = Client()
    client.post("/language/", {"language": "tlh", "next": "/sign-in/"})
    assert "language" not in client.cookies


def test_the_built_in_instructions_are_read_in_german_under_their_own_version(work: World):
    client = desk.at_work(work, read=False)
    page = client.get(f"/tasks/quay/{q.COREF_LINK}/instructions/", headers=GERMAN)
    assert "Sehen Sie zuerst das Foto an." in page.content.decode()
    client.post(f"/tasks/quay/{q.COREF_LINK}/instructions/", headers=GERMAN)
    task = client.get(desk.address(), headers=GERMAN)
    assert "Sehen Sie zuerst das Foto an." in task.content.decode()
    client.post(desk.address(), {**desk.hidden(task), "answer": "yes"}, headers=GERMAN)
    now = instructions.current_text(campaign=work.campaign, kind=q.COREF_LINK)
    assert Judgment.objects.get().instructions == now.version
    assert "Look at the photograph first." in client.get(desk.address()).content.decode()


def test_what_a_researcher_wrote_is_read_as_it_was_written(work: World):
    instructions.publish_text(campaign=work.campaign, kind=q.COREF_LINK, text="Look twice.")
    client = desk.at_work(work, read=False)
    page = client.get(f"/tasks/quay/{q.COREF_LINK}/instructions/", headers=GERMAN)
    assert "<p>Look twice.</p>" in page.content.decode()


def test_why_a_campaign_is_paused_is_told_in_the_language_of_the_person_who_reads_it(work: World):
    world.account("ada", "researcher")
    ada, ann = Client(), desk.at_work(work)
    ada.force_login(world.Account.objects.get(username="ada"))
    ada.post("/operations/pause_campaign/", {"campaign": "quay"}, headers=GERMAN)
    english, german = (ann.get("/tasks/", headers=headers).content.decode() for headers in ({}, GERMAN))
    assert "This campaign is paused: a researcher paused it." in english
    assert "Diese Kampagne ruht gerade: aus der Forschung angehalten." in german
    staff = ada.get("/campaigns/", headers={"Accept-Language": "en"}).content.decode()
    assert "a researcher paused it" in staff


def test_who_reads_the_consent_in_german_agrees_to_the_same_version(work: World):
    built_in = instructions.built_in_text(instructions.CONSENT).text
    version = instructions.publish_text(
        campaign=work.campaign, kind=instructions.CONSENT, text=built_in
    ).version
    client = desk.at_work(work)
    page = client.get("/tasks/quay/consent/", headers=GERMAN).content.decode()
    assert "Die Teilnahme ist freiwillig." in page
    assert f'name="version" value="{version}"' in page
    client.post("/tasks/quay/consent/", {"version": version}, headers=GERMAN)
    assert not instructions.needs_consent(worker=work.workers[0], campaign=work.campaign)


def test_amounts_are_written_as_the_language_writes_them():
    with override("de"):
        assert [money(micros, "EUR") for micros in (12_500_000, 125_000)] == ["12,50 EUR", "0,125 EUR"]
    with override("en"):
        assert money(125_000, "EUR") == "0.125 EUR"


@pytest.mark.parametrize("kind", [q.BOX_DRAWING, q.BOX_QUALITY, q.BOX_COVERAGE])
def test_what_is_drawn_has_points_in_german_too(work: World, kind: str):
    desk.open_questions_for(work, kind)
    page = desk.at_work(work).get(desk.address(kind), headers=GERMAN).content.decode()
    numbers = [number for number in DRAWN.findall(page) if re.search(r"\d", number)]
    assert numbers and not [number for number in numbers if "," in number]


def test_why_there_is_nothing_is_told_in_german(work: World):
    Campaign.objects.update(state=Campaign.CLOSED)
    page = desk.at_work(work).get(desk.address(), headers=GERMAN).content.decode()
    assert "Diese Kampagne ist beendet" in page


def test_what_the_rules_of_trust_say_is_told_in_german(tmp_path: Path):
    work = desk.campaign(tmp_path / "drawn", settings={**TRUSTING, "trust": {}})
    set_test(work)
    page = desk.at_work(work).get(desk.address(), headers=GERMAN).content.decode()
    assert "Diese Aufgabe beginnt mit einem kurzen Test" in page


def test_why_an_answer_was_not_taken_is_told_in_german(work: World):
    client = desk.at_work(work)
    page = client.get(desk.address(), headers=GERMAN)
    held = int(desk.hidden(page)["assignment"])
    submission.submit(worker=work.workers[0], assignment=held, answer=Answer("yes"), token="elsewhere")
    form_data = {"token": "mine", "kind": q.COREF_LINK, "form": {"answer": "no"}}
    response = client.post(
        f"/api/assignments/{held}/answer", form_data, content_type="application/json", headers=GERMAN
    )
    assert response.status_code == 409
    assert response.json()["detail"].startswith("Sie haben diese Aufgabe schon beantwortet")
