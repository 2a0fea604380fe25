"""Coming in, in a browser: accounts, links, crowd platforms; every page for everybody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core import mail
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation import instructions, invitations, payments
from annotation.protocol import questions as q
from tests.browser.conftest import Open, sign_in
from tests.browser.test_pages import LOOKS, assert_accessible, overflow
from tests.queue.world import TRUSTING, World
from tests.web import desk
from tests.web import world as people

WIDTHS = (320, 390, 768, 1280, 3840)
PASSWORD = "a-Rather-good-one-5"


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    """The campaign `quay`, with ann at work; its answers are paid."""
    pay = {"basis": "item", "per_item": {q.COREF_LINK: 0.05}}
    return desk.campaign(
        tmp_path / "drawn",
        settings={**TRUSTING, "pay": pay},
        consent="We keep your answers under a pseudonym.",
    )


def for_everybody(page: Page) -> None:
    """Fail where the page, as it stands, is not accessible or wider than its window, in any look."""
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert_accessible(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert overflow(page) <= 0, (page.url, width)


def test_a_forgotten_password_is_replaced_by_a_letter(work: World, open_page: Open):
    account = people.Account.objects.get(username="ann")
    account.email = "ann@example.org"
    account.save()
    page = open_page(390)
    page.goto("/sign-in/")
    for_everybody(page)
    page.get_by_role("link", name="Forgotten your password?").click()
    for_everybody(page)
    page.get_by_label("Email").fill("ann@example.org")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Look into your mail")
    for_everybody(page)
    found = re.search(r"http://\S+", str(mail.outbox[-1].body))
    assert found
    page.goto(found[0])
    page.get_by_label("New password", exact=True).fill("123")
    page.get_by_label("New password confirmation").fill("123")
    page.get_by_role("button", name="Keep this password").click()
    expect(page.get_by_role("alert")).to_contain_text("too short")
    for_everybody(page)
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Keep this password").click()
    expect(page.get_by_role("status")).to_contain_text("Your new password holds")
    for_everybody(page)
    page.goto(found[0])
    expect(page.get_by_role("heading", level=1)).to_have_text("This link does not work any more")
    for_everybody(page)


def test_who_tried_too_often_is_told_when_to_try_again(work: World, open_page: Open):
    page = open_page(390)
    page.goto("/sign-in/")
    alert = page.get_by_role("alert")
    for _ in range(11):
        page.get_by_label("User name").fill("ann")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(alert).to_be_visible()
    expect(alert).to_have_text(re.compile("Try again in 15 minutes"))
    for_everybody(page)


def test_my_account_shows_what_is_stored_and_lets_one_go(work: World, open_page: Open):
    text = instructions.current(campaign=work.campaign, kind=instructions.CONSENT)
    instructions.consent(worker=work.workers[0], campaign=work.campaign, version=text.version)
    work.submit(0, work.held(0), then=False)
    page = open_page(1280)
    sign_in(page, "ann")
    page.get_by_role("link", name="ann").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("My account")
    expect(page.get_by_text("still to be paid")).to_be_visible()
    page.get_by_text("version 1").click()
    for_everybody(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all of it").click()
    assert download.value.suggested_filename == "w-ann.json"
    page.get_by_role("link", name="Change it").click()
    for_everybody(page)
    payments.pay_everybody(campaign=work.campaign, reference="all")
    page.get_by_role("link", name="Back to my account").click()
    page.get_by_label("I know that this cannot be undone").check()
    for_everybody(page)
    page.get_by_role("button", name="Erase me").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You are erased")
    for_everybody(page)


def link(work: World, **about: object) -> str:
    made = invitations.make(campaign=work.campaign, **about)  # type: ignore[arg-type]
    return reverse("invite", args=[invitations.token_of(made)])


def test_an_invitation_leads_to_the_first_question_by_keyboard_alone(work: World, open_page: Open):
    page = open_page(390, 844)
    page.goto(link(work))
    expect(page.get_by_role("heading", level=1)).to_have_text("You are invited to work on “quay”")
    for_everybody(page)
    reach(page, "I agree: begin at once")
    expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    for_everybody(page)
    reach(page, "I have kept it: to the tasks")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    reach(page, "Same or different?")
    reach(page, "I have read this: begin")
    expect(page.locator("[data-desk]")).to_be_visible()


def test_an_invitation_with_a_name_of_ones_own(work: World, open_page: Open):
    page = open_page(1280)
    address = link(work, uses=1)
    page.goto(address)
    page.get_by_label("Username").fill("w-nobody")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="I agree: make my account").click()
    expect(page.get_by_role("alert")).to_contain_text("are given by us")
    for_everybody(page)
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="I agree: make my account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    invitations_left = open_page(390)
    invitations_left.goto(address)
    expect(invitations_left.get_by_text("is used up")).to_be_visible()
    for_everybody(invitations_left)
    page.goto(link(work))
    expect(page.get_by_text("You are signed in already")).to_be_visible()
    for_everybody(page)


def test_a_researcher_invites_by_a_page_for_everybody(work: World, open_page: Open):
    people.account("ada", "researcher")
    page = open_page(1280)
    sign_in(page, "ada", then="/campaigns/quay/entry/")
    page.get_by_label("For whom").fill("course 7")
    page.get_by_role("button", name="Make a link").click()
    expect(page.get_by_role("status")).to_contain_text("The link is made")
    for_everybody(page)
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_text("This invitation was taken back")).to_be_visible()
    for_everybody(page)


def reach(page: Page, name: str) -> None:
    """Press the button or link with this name, with Tab and Enter alone."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText?.trim().startsWith(" + repr(name) + ")"):
            with page.expect_navigation():
                page.keyboard.press("Enter")
            return
    raise AssertionError(f"Tab does not reach {name!r} on {page.url}")
