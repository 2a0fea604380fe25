"""Registration in a browser: accounts, links, crowd platforms; every page is accessible."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from annotation import instructions, jobs
from annotation.models import Job, Judgment
from annotation.protocol import questions as q
from annotation.workers import invitations, payments
from tests.browser.at_work import answer_next, eventually, let_go, moved_on, wait_for_task
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.crowd import platform
from tests.crowd.test_prolific import suspend
from tests.queue.world import TRUSTING, World
from tests.web import desk
from tests.web import world as people

PASSWORD = "a-Rather-good-one-5"


@pytest.fixture
def work(transactional_db: None, tmp_path: Path, settings: Any) -> World:
    """The campaign `quay`, with ann at work; its answers are paid."""
    settings.PROLIFIC_WEBHOOK_SECRET = platform.SECRET
    pay = {"basis": "item", "per_item": {q.COREF_LINK: 0.05}}
    return desk.campaign(
        tmp_path / "drawn",
        settings={**TRUSTING, "pay": pay},
        consent="We keep your answers under a pseudonym.",
    )


def test_a_forgotten_password_is_replaced_by_e_mail(work: World, open_page: Open):
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
    expect(page.get_by_role("heading", level=1)).to_have_text("Check your e-mail")
    for_everybody(page)
    assert jobs.run_queued_job(Job.objects.get(kind="send_letter").pk) == Job.DONE
    match = re.search(r"http://\S+", str(mail.outbox[-1].body))
    assert match
    page.goto(match[0])
    page.get_by_label("New password", exact=True).fill("123")
    page.get_by_label("New password confirmation").fill("123")
    page.get_by_role("button", name="Save password").click()
    expect(page.get_by_role("alert")).to_contain_text("too short")
    for_everybody(page)
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Save password").click()
    expect(page.get_by_role("status")).to_contain_text("Password changed")
    for_everybody(page)
    page.goto(match[0])
    expect(page.get_by_role("heading", level=1)).to_have_text("This link no longer works")
    for_everybody(page)


@pytest.mark.slow  # the default run has it by requests, in `crowd/test_accounts`
def test_who_tried_too_often_is_told_when_to_try_again(work: World, open_page: Open):
    page = open_page(390)
    page.goto("/sign-in/")
    alert = page.get_by_role("alert")
    for _ in range(11):
        page.get_by_label("User name").fill("ann")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(alert).to_be_visible()
        if "Try again" in alert.inner_text():
            break
    expect(alert).to_have_text(re.compile(r"Try again in \d+ seconds?\."))
    for_everybody(page)


@pytest.mark.slow  # the default run has it by requests, in `crowd/test_accounts`
def test_my_account_shows_what_is_stored_and_lets_one_go(work: World, open_page: Open):
    text = instructions.current_text(campaign=work.campaign, kind=instructions.CONSENT)
    instructions.record_consent(worker=work.workers[0], campaign=work.campaign, version=text.version)
    work.submit(0, work.held(0), then=False)
    page = open_page(1280)
    sign_in(page, "ann")
    page.get_by_role("link", name="ann").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("My account")
    expect(page.get_by_text("still to be paid")).to_be_visible()
    page.get_by_text("version 1").click()
    for_everybody(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download your data").click()
    assert download.value.suggested_filename == "w-ann.json"
    page.get_by_role("link", name="Change password").click()
    for_everybody(page)
    payments.pay_all_due(campaign=work.campaign, reference="all")
    page.get_by_role("link", name="Back to my account").click()
    page.get_by_label("I understand that this cannot be undone").check()
    for_everybody(page)
    page.get_by_role("button", name="Delete my account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm your password")
    for_everybody(page)
    page.get_by_label("Your password").fill(people.PASSWORD)
    page.get_by_role("button", name="Confirm and continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account is deleted")
    for_everybody(page)


def link(work: World, **about: object) -> str:
    invitation = invitations.make_invitation(campaign=work.campaign, **about)  # type: ignore[arg-type]
    return reverse("invite", args=[invitations.invitation_token(invitation)])


def test_an_invitation_leads_to_the_first_question_by_keyboard_alone(work: World, open_page: Open):
    page = open_page(390, 844)
    page.goto(link(work))
    expect(page.get_by_role("heading", level=1)).to_have_text("You are invited to work on “quay”")
    for_everybody(page)
    reach(page, "I agree: begin at once")
    expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    for_everybody(page)
    reach(page, "I have saved it: go to the tasks")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    reach(page, "Same or different?")
    reach(page, "I have read this: begin")
    expect(page.locator("[data-task]")).to_be_visible()


@pytest.mark.slow  # the default run accepts an invitation by keyboard, above
def test_an_invitation_with_a_name_of_ones_own(work: World, open_page: Open):
    page = open_page(1280)
    address = link(work, uses=1)
    page.goto(address)
    page.get_by_label("Username").fill("w-nobody")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="I agree: create my account").click()
    expect(page.get_by_role("alert")).to_contain_text("are reserved")
    for_everybody(page)
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="I agree: create my account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your tasks")
    invitations_left = open_page(390)
    invitations_left.goto(address)
    expect(invitations_left.get_by_text("used as often as it may be")).to_be_visible()
    for_everybody(invitations_left)
    page.goto(link(work))
    expect(page.get_by_text("You are signed in already")).to_be_visible()
    for_everybody(page)


def test_a_researcher_invites_by_a_page_for_everybody(work: World, open_page: Open):
    people.account("ada", "researcher")
    page = open_page(1280)
    sign_in(page, "ada", then="/campaigns/quay/recruiting/")
    page.get_by_label("For whom").fill("course 7")
    page.get_by_role("button", name="Create a link").click()
    expect(page.get_by_role("status")).to_contain_text("Link created")
    for_everybody(page)
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("This invitation was revoked")).to_be_visible()
    for_everybody(page)


def reach(page: Page, name: str) -> None:
    """Press the button or link with this name, with Tab and Enter only."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText?.trim().startsWith(" + repr(name) + ")"):
            with page.expect_navigation():
                page.keyboard.press("Enter")
            return
    raise AssertionError(f"Tab does not reach {name!r} on {page.url}")


# Crowd platforms


def read_and_begin(page: Page) -> None:
    """Consent, choose the first task, read its instructions, and wait for its question."""
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you begin")
    for_everybody(page)
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("link", name="Same or different?", exact=True).click()
    page.get_by_role("button", name="I have read this: begin").click()
    wait_for_task(page)


def test_a_participant_of_prolific_comes_works_and_goes_back(work: World, open_page: Open):
    platform.prolific_study(work, expected=2)
    page = open_page(390, 844, faults=True)
    platform.report_state("ACTIVE")
    page.goto(platform.address())
    read_and_begin(page)
    moved_on(page, answer_next(page))
    answer_next(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("You are done")
    for_everybody(page)
    with page.expect_request("https://app.prolific.com/**") as request:
        page.get_by_role("button", name="Back to Prolific, with the code").click()
    assert request.value.url == "https://app.prolific.com/submissions/complete?cc=C0MPLETE"
    assert platform.visit().outcome == "complete"


@pytest.mark.slow  # the default run has it by requests, in `crowd/test_prolific`
def test_a_participant_sees_how_far_they_are(work: World, open_page: Open):
    platform.prolific_study(work)
    page = open_page(1280)
    platform.report_state("ACTIVE")
    page.goto(platform.address())
    page.get_by_role("button", name="I agree").click()
    page.goto(desk.address(q.BOX_QUALITY))
    expect(page.get_by_role("heading", level=2, name="Your visit")).to_be_visible()
    expect(page.get_by_role("heading", level=2, name="Other tasks open to you")).to_be_visible()
    for_everybody(page)
    page.get_by_role("link", name="My visit").click()
    expect(page.get_by_text("You have answered 0 of 2 questions.")).to_be_visible()
    for_everybody(page)
    platform.report_state("RETURNED")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("This submission has ended")
    for_everybody(page)
    page.goto(platform.address(study="5f0d6c1f2b3a4c5d6e7f8092"))
    expect(page.get_by_role("heading", level=1)).to_have_text("You cannot begin here")
    for_everybody(page)


@pytest.mark.slow  # by requests in `crowd/test_prolific`
def test_who_is_screened_out_is_told_so_and_gets_the_other_code(work: World, open_page: Open):
    platform.prolific_study(work)
    page = open_page(390)
    platform.report_state("ACTIVE")
    page.goto(platform.address())
    page.get_by_role("button", name="I agree").click()
    suspend()
    page.get_by_role("link", name="Finish").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your visit ends here")
    expect(page.get_by_text("SCREEN0UT")).to_be_visible()
    for_everybody(page)


@pytest.mark.slow  # by requests in `crowd/test_mturk`
def test_a_hit_is_worked_on_in_a_window_and_handed_in_from_its_frame(work: World, open_page: Open):
    platform.turk_study(work, expected=2)
    page = open_page(390, 844, alone=True)
    handed: list[str] = []
    market = "https://workersandbox.mturk.com"
    preview = platform.turk_address(assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE")
    for address in (preview, platform.turk_address(), platform.turk_address(turkSubmitTo="elsewhere")):
        page.goto(address)
        for_everybody(page)
    site = page.url.split("/mturk/")[0]

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            handed.append(str(route.request.post_data))
        frame = (
            '<iframe title="HIT" style="width: 100%" height="600" allow="local-network-access" '
            f'src="{site}{platform.turk_address()}"></iframe>'
        )
        body = frame if route.request.url == f"{market}/hit" else "<p>Handed in</p>"
        route.fulfill(content_type="text/html", body=f"<!doctype html><title>MTurk</title>{body}")

    page.context.route(f"{market}/**", answer)
    # The market is not on this machine, and the server under test is.
    page.context.grant_permissions(["local-network-access"], origin=market)
    page.goto(f"{market}/hit")
    frame = page.frame_locator("iframe")
    with page.expect_popup() as opened:
        frame.get_by_role("link", name="Open the tasks").click()
    window = opened.value
    read_and_begin(window)
    moved_on(window, answer_next(window))
    let_go(window)
    eventually(window, Judgment.objects.exists)
    page.bring_to_front()
    frame.get_by_role("link", name="Refresh").click()
    expect(frame.get_by_text("You have answered 1 of 2 questions.")).to_be_visible()
    expect(frame.get_by_role("link", name="Continue with the tasks")).to_be_visible()
    for_everybody(page, page.frames[1])
    window.bring_to_front()
    answer_next(window)
    expect(window.get_by_role("heading", level=1)).to_have_text("You are done")
    for_everybody(window)
    window.get_by_role("button", name="I am finished").click()
    expect(window.get_by_text("press “Refresh” there")).to_be_visible()
    for_everybody(window)
    page.bring_to_front()
    frame.get_by_role("link", name="Refresh").click()
    frame.get_by_role("button", name="Hand in the HIT").click()
    expect(frame.get_by_text("Handed in")).to_be_visible()
    alone = open_page(390)
    alone.goto(platform.turk_address())
    expect(alone.get_by_role("button", name="Hand in the HIT")).to_be_visible()
    for_everybody(alone)
    assert handed == [f"assignmentId={platform.TURK['assignmentId']}&code=well-done"]


@pytest.mark.slow  # the default run has the page, above, and the form in `test_invite`
def test_a_researcher_sets_up_studies_by_a_page_for_everybody(work: World, open_page: Open):
    people.account("ada", "researcher")
    platform.turk_study(work)
    page = open_page(1280)
    sign_in(page, "ada", then="/campaigns/quay/recruiting/")
    page.get_by_label("Id of the study").fill(platform.STUDY)
    page.get_by_label("Code for complete").fill("C0MPLETE")
    page.get_by_role("button", name="Save the study").click()
    expect(page.get_by_role("status")).to_contain_text("Study saved")
    for_everybody(page)


def test_who_is_invited_in_german_goes_on_in_german(work: World, open_page: Open):
    page = open_page(390)
    page.goto(link(work, language="de"))
    expect(page.locator("html")).to_have_attribute("lang", "de")
    for_everybody(page)
    page.locator("button[value=once]").click()
    page.wait_for_url("**/return-code/")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    for_everybody(page)
    page.goto("/account/")
    for_everybody(page)
