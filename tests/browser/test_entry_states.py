"""Rare pages of registration: no e-mail, too many attempts, nothing to do; all are accessible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.common import database
from annotation.models import Attempts, Campaign
from annotation.recruitment.accounts import PasswordReset
from annotation.web.common import limits
from annotation.workers.rate_limit import Limit, Try
from tests.browser.conftest import Open
from tests.browser.looks import for_everybody
from tests.browser.test_entry import link
from tests.crowd import platform
from tests.queue.world import World
from tests.web import desk

#: The address of these tests' browser.
HERE = "127.0.0.1"


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn", images=1)


def used_up(limit: Limit, who: str) -> None:
    """Use up all attempts of an address or account."""
    Attempts.objects.create(key=Try(limit, who).key, count=limit.most, since=database.now())


def headed(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def test_a_server_that_sends_no_e_mail_says_whom_to_ask(
    work: World, open_page: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(PasswordReset, "extra_context", {"sends": False})
    page = open_page()
    page.goto("/forgotten/")
    expect(page.get_by_text("This server sends no e-mail.")).to_be_visible()
    expect(page.get_by_text("ask an admin of this server")).to_be_visible()
    for_everybody(page)


def test_somebody_who_tried_too_often_is_told_when_to_try_again(work: World, open_page: Open):
    platform.prolific_study(work)
    for limit in (limits.RESET_ADDRESS, limits.ENTRY_ADDRESS):
        used_up(limit, HERE)
    again = re.compile("Too many attempts. Try again in (1[45]|59|60) minutes.")
    page = open_page()
    page.goto("/forgotten/")
    page.get_by_label("Email").fill("ann@example.org")
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("alert")).to_have_text(again)
    expect(page.get_by_label("Email")).to_have_value("ann@example.org")
    for_everybody(page)
    page.goto(link(work))
    page.get_by_role("button", name="Begin at once").click()
    headed(page, "Too many at once")
    expect(page.get_by_text(again)).to_be_visible()
    for_everybody(page)
    page.goto(platform.address())
    headed(page, "You cannot begin here")
    expect(page.get_by_text(again)).to_be_visible()
    for_everybody(page)


@pytest.mark.slow  # by requests in `crowd/test_prolific` and `crowd/test_mturk`
def test_a_visit_with_nothing_to_do_says_so_and_leads_back(work: World, open_page: Open):
    platform.prolific_study(work)
    platform.turk_study(work)
    Campaign.objects.update(state=Campaign.PAUSED)
    page = open_page()
    page.goto(platform.address())
    page.goto("/visit/")
    headed(page, "There is no work for you now")
    expect(page.get_by_text("SCREEN0UT")).to_be_visible()
    for_everybody(page)
    turk = open_page()
    turk.goto(platform.turk_address())
    with turk.expect_popup() as opened:
        turk.get_by_role("link", name="Open the tasks").click()
    opened.value.goto("/visit/")
    for item in (opened.value, turk):
        item.reload()
        headed(item, "There is no work for you now")
        expect(item.get_by_text("You get no code for this visit.")).to_be_visible()
        for_everybody(item)
