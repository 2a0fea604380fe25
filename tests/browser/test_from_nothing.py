"""From an empty database to answers of every kind: every step on a page, except the import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation import jobs
from annotation.models import Assignment, Campaign, Corpus, Job, Judgment, RoleGrant, Task
from annotation.protocol import questions as q
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.practice import PRACTICE
from annotation.workers.accounts import first
from tests.browser.at_work import eventually, let_go, read, unfold_edges, wait_for_task
from tests.browser.conftest import Open
from tests.browser.test_practice import EDGES, gold, ready
from tests.web import world as people

PASSWORD = "the harbour at six"
#: The kinds of each annotator: each practises only these, and nobody is asked about their own box.
ANN = (q.COREF_LINK, q.BOX_REQUIREMENT, q.BOX_DRAWING)
BOB = (q.CHAIN_VERIFICATION, q.BOX_QUALITY, q.BOX_COVERAGE)
#: The choice that everybody makes: the same, all the same, a box, this box, good, all have a box.
ALWAYS = "1"


def imported(folder: Path, name: str, *captions: str) -> None:
    """Import a corpus of one picture with its captions, by the command."""
    folder.mkdir()
    people.draw(folder / "park.png", 1)
    file = folder / "captions.token.txt"
    file.write_text("".join(f"park.png#{number}\t{text}\n" for number, text in enumerate(captions)))
    call_command("import_corpus", name, str(file), format="flickr8k", images=folder)


def make_account(page: Page, address: str, name: str) -> None:
    """Choose a name and a password on the page of an invitation."""
    page.goto(address)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create my account").click()
    expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()


def begin(page: Page, kind: str) -> None:
    """Go from the list of tasks to a kind's first question: instructions, and practice with correct
    answers."""
    page.goto(reverse("tasks"))
    page.get_by_role("link", name=str(TASK_TYPES.get(kind).title), exact=True).click()
    page.get_by_role("button", name="I have read this: practise").click()
    for number, item in enumerate(PRACTICE.get(kind).items, 1):
        expect(page.get_by_text(f"Practice, {number} of {len(PRACTICE.get(kind).items)}")).to_be_visible()
        ready(page)
        if item.right == "drawn":
            type_box(page, gold(item))
        page.keyboard.press(key_of(page, item.right))
        expect(page.get_by_role("heading", name="Correct")).to_be_focused()
        ready(page)
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url(f"**{reverse('task', args=['first', kind])}")


def key_of(page: Page, answer: str) -> str:
    """Return the key of an answer, as its button shows."""
    return page.locator(f"[name=answer][value={answer}]").get_attribute("data-key") or ""


def type_box(page: Page, edges: Sequence[int]) -> None:
    """Enter a box by its edges, and leave the fields: single keys are letters there."""
    if not page.get_by_label(EDGES[0], exact=True).is_visible():
        unfold_edges(page)
    for name, edge in zip(EDGES, edges, strict=True):
        page.get_by_label(name, exact=True).fill(str(edge))
    page.get_by_role("heading", level=1).click()


def work(page: Page, kind: str) -> None:
    """Answer all tasks of a kind, until its page says that there are none."""
    while page.locator("[data-answer]").count():
        wait_for_task(page)
        read(page)
        held = page.locator("[data-task]").get_attribute("data-assignment")
        if kind == q.BOX_DRAWING:
            type_box(page, (60, 80, 130, 330))
        page.keyboard.press(ALWAYS)
        expect(page.locator(f"[data-assignment='{held}']")).to_have_count(0)
    let_go(page)
    eventually(page, lambda: not Assignment.objects.filter(state=Assignment.LEASED).exists())


@pytest.mark.slow
def test_from_an_empty_database_staff_set_up_a_campaign_and_two_annotators_answer_all_six_questions(
    transactional_db: None, open_page: Open, tmp_path: Path, settings: Any
):
    """It costs more than a test may, for the practice of every kind; nothing else goes the whole way."""
    settings.DATA_DIR = tmp_path / "data"
    # The first account, with the link that the server prints.
    boss = open_page()
    make_account(boss, reverse("first_account", args=[first.token()]), "boss")

    # Two corpora, and a researcher for one of them.
    imported(tmp_path / "photos", "photos", "A dog jumps for a ball .", "The brown dog sleeps .")
    imported(tmp_path / "others", "others", "A cat sleeps .")
    boss.get_by_role("link", name="People", exact=True).click()
    boss.get_by_role("link", name="Roles and invitations").click()
    invite = boss.get_by_role("form", name="Invite somebody")
    invite.get_by_label("Email").fill("ada@example.org")
    invite.get_by_label("Role").select_option("researcher")
    invite.get_by_label("Corpus").select_option("photos")
    invite.get_by_role("button", name="Invite").click()
    address = boss.locator(".link .code").inner_text()
    ada = open_page()
    make_account(ada, address, "ada")
    grant = RoleGrant.objects.get(account__username="ada")
    assert (grant.role, grant.corpus) == ("researcher", Corpus.objects.get(name="photos"))

    # She opens a campaign with the default settings.
    ada.get_by_role("link", name="Campaigns").click()
    ada.get_by_role("link", name="Open a campaign").click()
    ada.get_by_role("link", name="On one page, with the settings as TOML").click()
    expect(ada.get_by_label("Corpus").locator("option")).to_have_text(re.compile("^photos"))
    ada.get_by_label("Name", exact=True).fill("first")
    ada.get_by_label("Unpaid work is intended").check()
    ada.get_by_role("button", name="Open it").click()
    expect(ada.get_by_role("heading", level=1)).to_have_text("first")
    assert jobs.run_queued_job(Job.objects.get(kind="open_images").pk) == Job.DONE
    assert Campaign.objects.get().state == Campaign.OPEN
    ada.get_by_role("link", name="Recruiting").click()
    ada.get_by_role("button", name="Create a link").click()
    link = ada.locator(".link .code").inner_text()

    # Two annotators join with it, and answer by turns.
    ann, bob = open_page(), open_page()
    for page in (ann, bob):
        page.goto(link)
        page.get_by_role("button", name="I agree: begin at once").click()
        page.get_by_role("link", name="I have saved it: go to the tasks").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    for kind in q.QUESTIONS:
        page = ann if kind in ANN else bob
        begin(page, kind)
        work(page, kind)
    votes = Judgment.objects.filter(role=q.VOTE)
    assert {*votes.values_list("kind", flat=True)} == {*q.QUESTIONS}
    by_kind = votes.filter(kind__in=(q.BOX_DRAWING, q.BOX_QUALITY)).values_list("kind", "worker").distinct()
    drew, judged = (
        {worker for kind, worker in by_kind if kind == item} for item in (q.BOX_DRAWING, q.BOX_QUALITY)
    )
    assert drew and judged and not drew & judged

    # Two are too few to finish: "complete" requires two who did not draw the box.
    left = Task.objects.filter(state=Task.OPEN, role=q.VOTE)
    assert {*left.values_list("kind", flat=True)} == {q.BOX_COVERAGE}
    ada.reload()
    expect(ada.get_by_role("row", name="anybody")).to_contain_text("2")
