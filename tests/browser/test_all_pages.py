"""Every page with an address: it passes axe, and fits at any width."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from django.test import Client
from django.urls import NoReverseMatch
from playwright.sync_api import Page, expect

from annotation.campaigns.drafts import fields, keeping
from annotation.datasets import uploads
from annotation.models import Account, Job
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.web import world as people
from tests.web.test_roles import ROWS, Arguments, built, name_of

#: Slow: some hundred pages, each in all looks; every run checks the `PAGES` of the other files.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
LANGUAGES = ("en", "de")


def addresses(world: dict[str, Any], account: Account) -> dict[str, str]:
    """Return route -> address of every page that can be opened."""
    draft = keeping.begin_draft(owner=account, corpus=world["corpus"])
    upload = uploads.begin_upload(account=account, name="mine", files=[("a.zip", 4)])
    values: dict[str, list[Any]] = {
        "upload": [upload.key],
        "draft_settings": [draft.pk],
        "person": [account.pk],
    }
    arguments = Arguments({**world["arguments"].of, **values})
    by_name = {}
    for route in ROWS:
        if " " in route or name_of(route).startswith(("api_", "v1_")):
            continue
        with suppress(NoReverseMatch):  # the world has no such object
            by_name[route] = arguments.address(route)
    by_name |= {
        f"draft_step {step}": arguments.address("draft_step", args=[draft.pk, step]) for step in fields.STEPS
    }
    return by_name


def pages(client: Client, result: dict[str, str]) -> dict[str, str]:
    """Return the addresses that respond with an HTML page. Pages of results need more data:
    test_evaluation_pages.py checks them."""
    by_name = {}
    for route, address in result.items():
        answer = client.get(address)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            by_name[route] = address
    return by_name


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_for_everybody(open_page: Open, language: str) -> None:
    world = built()
    Job.objects.filter(kind="export_dataset").update(state="failed", error="The disk is full.")
    account = people.account("boss", "admin")
    client = Client(raise_request_exception=False)
    client.force_login(account)
    result = pages(people.confirm(client), addresses(world, account))
    assert len(result) > 60, sorted(result)
    page = open_page(locale={"en": "en-GB", "de": "de-DE"}[language])
    sign_in(page, "boss")
    invalid = []
    for route, address in result.items():
        page.goto(address)
        expect(page.locator("html")).to_have_attribute("lang", language)
        if message := _complaint(page):
            invalid.append((route, message))
    assert invalid == [], "\n".join(f"{route}: {message}" for route, message in invalid)


def _complaint(page: Page) -> str:
    """Return the problems of a page, so that all pages are checked even if one fails."""
    try:
        for_everybody(page)
    except AssertionError as error:
        return str(error)
    return ""
