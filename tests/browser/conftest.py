"""A browser on the live server; console errors fail the test."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Account, Corpus
from tests.browser.gate import before
from tests.browser.profiles import Profiles, leave
from tests.web import world

#: Seconds that a request may take after its page was left, on a busy machine.
LONGEST_REQUEST = 60.0
#: Seconds that a page may take to reach the state that a test waits for, on a busy machine.
PATIENCE = 60.0
#: Opens a new page: width and height in CSS pixels, then the arguments of Playwright's `new_context`.
Open = Callable[..., Page]


@pytest.fixture
def scenes(transactional_db: None, tmp_path: Path) -> Corpus:
    """Three images with a finished layer `import` and an unfinished one, `campaign`; ada and ann."""
    corpus = world.corpus(tmp_path / "drawn")
    world.unfinished_layer(corpus)
    world.account("ada", "researcher")
    world.account("ann", "annotator")
    return corpus


@pytest.fixture(scope="session")
def profiles(browser: Browser) -> Profiles:
    return Profiles(browser)


@pytest.fixture
def open_page(profiles: Profiles, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Pages of the live server, which is also the address in e-mails; see `pages_of`."""
    monkeypatch.setattr(settings, "SITE_URL", live_server.url)
    gate = before(live_server)
    gate.open()
    unanswered: list[str] = []

    def shut() -> None:
        unanswered.extend(gate.shut(LONGEST_REQUEST))

    with pages_of(profiles, live_server.url, afterwards=shut) as opened:
        yield opened
    assert unanswered == [], f"still being answered {LONGEST_REQUEST:.0f} s after the test"


@contextlib.contextmanager
def pages_of(
    profiles: Profiles, address: str, *, afterwards: Callable[[], None] = lambda: None
) -> Iterator[Open]:
    """Yield a function that opens pages of the server at `address`, in empty profiles. Errors of console,
    scripts or content policy fail the test. `afterwards` is called once the pages are left.

    With `faults` the network or the server fails on purpose: the browser's own messages about that are
    ignored. With `alone`, a profile is new and not reused: the test changes more than what its pages store.
    """
    lent: list[tuple[BrowserContext, Callable[[Page], None], bool]] = []
    reports: list[tuple[Page, Any, Callable[..., None]]] = []
    complaints: list[str] = []

    def text(message: ConsoleMessage, faults: bool) -> None:
        if faults and message.text.startswith("Failed to load resource"):
            return
        # Chromium logs this if a test fills in a form before the form takes the focus.
        if message.type == "info" and message.text.startswith("Autofocus processing was blocked"):
            return
        # Chromium logs the status of an error page itself, and of a heartbeat of a removed object; errors of
        # what such a page loads still count.
        index = message.location["url"]
        of_page = message.page is not None and index == message.page.url
        page_text = "status of 4" if of_page else "status of 410" if index.endswith("/heartbeat") else None
        if page_text is None or f"the server responded with a {page_text}" not in message.text:
            complaints.append(f"{message.type}: {message.text}")

    def failed(request: Request, faults: bool) -> None:
        # Requests in progress are aborted when the user leaves a page.
        if not faults and request.failure != "net::ERR_ABORTED":
            complaints.append(f"{request.failure}: {request.url}")

    def watch(page: Page, faults: bool) -> None:
        reports.append((page, "console", lambda message: text(message, faults)))
        reports.append((page, "pageerror", lambda error: complaints.append(str(error))))
        reports.append((page, "requestfailed", lambda request: failed(request, faults)))
        for _, event, report in reports[-3:]:
            Page.on(page, event, report)

    def opened(
        width: int = 1280, height: int = 800, *, faults: bool = False, alone: bool = False, **options: Any
    ) -> Page:
        usual = {"base_url": address, "viewport": {"width": width, "height": height}}
        context = profiles.take({**usual, **options}, new=alone)
        context.set_default_timeout(1000 * PATIENCE)

        def watched(page: Page) -> None:
            watch(page, faults)

        context.on("page", watched)
        lent.append((context, watched, not alone))
        if context.pages:
            watched(context.pages[0])
        return profiles.page(context)

    try:
        yield opened
    finally:
        try:
            for context, watched, again in lent:
                context.remove_listener("page", watched)
                profiles.give_back(context, again=again)
            for page, event, report in reports:
                if not page.is_closed():
                    page.remove_listener(event, report)
        finally:
            afterwards()
    assert complaints == []


# Machines are shared: these tests are not about loading times.
expect.set_options(timeout=1000 * PATIENCE)


#: The live server's host; cookies depend on it, but not on the port.
HOST = "localhost"


def sign_in(page: Page, name: str = "ada", then: str = "", **remembers: Any) -> None:
    """Sign in without the form, with a session that also contains `remembers`, and open `then` or the start
    page. Most tests are about later pages; those of the form use `sign_in_by_form`."""
    client = Client()
    client.force_login(Account.objects.get(username=name))
    if remembers:
        session = client.session
        session.update(remembers)
        session.save()
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    # Requests of the previous page belong to its session: a picture's address is not valid in another one.
    if page.url != "about:blank":
        leave(page)
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
    """Sign in with the form, and wait for the next page."""
    page.goto(f"/sign-in/?next={then}" if then else "/sign-in/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(world.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda address: "sign-in" not in address)
