"""A browser on the live server, that lets no complaint pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Account, Corpus
from tests.browser.gate import before
from tests.web import world

#: Seconds that a request may take which nobody waits for any more, on a busy machine.
LONGEST_REQUEST = 60.0
#: Seconds that a page may take to come to what a test waits for, there too.
PATIENCE = 60.0
#: Opens a page of its own: width and height in CSS pixels, then what Playwright's `new_context` takes.
Open = Callable[..., Page]


@pytest.fixture
def scenes(transactional_db: None, tmp_path: Path) -> Corpus:
    """Three images with a finished layer `import` and an unfinished one, `campaign`; ada and ann."""
    corpus = world.corpus(tmp_path / "drawn")
    world.unfinished_layer(corpus)
    world.account("ada", "researcher")
    world.account("ann", "annotator")
    return corpus


@pytest.fixture
def open_page(browser: Browser, live_server: LiveServer) -> Iterator[Open]:
    """Pages in fresh profiles; what console, scripts or content policy complain of fails the test.

    With `faults` network or server fail on purpose: what the browser itself says of that is no complaint.
    """
    contexts = []
    complaints: list[str] = []

    def said(message: ConsoleMessage, faults: bool) -> None:
        if faults and message.text.startswith("Failed to load resource"):
            return
        # Whoever fills in a form before it has taken the focus for itself is told so.
        if message.type == "info" and message.text.startswith("Autofocus processing was blocked"):
            return
        # Chromium reports the status of an error page itself, and of a heartbeat of what is gone; what
        # such a page loads still counts.
        address = message.location["url"]
        of_page = message.page is not None and address == message.page.url
        told = "status of 4" if of_page else "status of 410" if address.endswith("/heartbeat") else None
        if told is None or f"the server responded with a {told}" not in message.text:
            complaints.append(f"{message.type}: {message.text}")

    def failed(request: Request, faults: bool) -> None:
        # What was on its way when one left the page is given up.
        if not faults and request.failure != "net::ERR_ABORTED":
            complaints.append(f"{request.failure}: {request.url}")

    def watch(page: Page, faults: bool) -> None:
        page.on("console", lambda message: said(message, faults))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: failed(request, faults))

    def opened(width: int = 1280, height: int = 800, *, faults: bool = False, **options: Any) -> Page:
        usual = {"base_url": live_server.url, "viewport": {"width": width, "height": height}}
        context = browser.new_context(**{**usual, **options})
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        context.on("page", lambda page: watch(page, faults))
        return context.new_page()

    gate = before(live_server)
    gate.open()
    yield opened
    try:
        for context in contexts:
            for page in context.pages:
                leave(page)
            context.close()
    finally:
        unanswered = gate.shut(LONGEST_REQUEST)
    assert unanswered == [], f"still being answered {LONGEST_REQUEST:.0f} s after the test"
    assert complaints == []


def leave(page: Page) -> None:
    """Go where nothing is under way: closed while a page makes way for the next, Chromium may hang."""
    while True:
        try:
            page.goto("about:blank")
            return
        except Error as reason:
            if "interrupted by another navigation" not in str(reason):
                raise


# Machines are shared: how long a page takes is not what these tests are about.
expect.set_options(timeout=1000 * PATIENCE)


#: Where the live server is; cookies are kept by that, whatever the port.
HOST = "localhost"


def sign_in(page: Page, name: str = "ada", then: str = "", **remembers: Any) -> None:
    """Sign in without the form, by a session that `remembers` this besides, and open `then` or what comes
    first. Most tests are about what comes after; those about the form use `sign_in_by_form`."""
    client = Client()
    client.force_login(Account.objects.get(username=name))
    if remembers:
        session = client.session
        session.update(remembers)
        session.save()
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.context.add_cookies(
        [
            {
                "name": settings.SESSION_COOKIE_NAME,
                "value": value,
                "domain": HOST,
                "path": "/",
                "httpOnly": True,
                "sameSite": "Lax",
            }
        ]
    )
    page.goto(then or "/")


def sign_in_by_form(page: Page, name: str = "ada", then: str = "") -> None:
    """Sign in as people do, and wait until the next page stands."""
    page.goto(f"/sign-in/?next={then}" if then else "/sign-in/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(world.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda address: "sign-in" not in address)
