"""Browser profiles, used again for the next test after what the last one left in them is removed.

A new profile starts a process and has loaded nothing: its first page asks for two dozen files. Reuse saves
0.2 s of CPU a test (docs/testing.md).
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Error, Page

#: How many profiles of a kind wait for a test that wants one.
WAITING = 2
#: Whether a profile has the browser's own clock. One that a test has set stays set, and stands still.
CLOCK_RUNS = "/native code/.test(setTimeout)"


class Profiles:
    """Profiles by what they were made with, kept until the browser closes."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._waiting: dict[str, list[BrowserContext]] = defaultdict(list)
        self._kinds: dict[BrowserContext, str] = {}

    def take(self, options: dict[str, Any], *, new: bool = False) -> BrowserContext:
        """A profile with these options of Playwright's `new_context`, without cookies and storage. Its pages
        are empty."""
        kind = json.dumps(options, sort_keys=True)
        if self._waiting[kind] and not new:
            return self._waiting[kind].pop()
        context = self._browser.new_context(**options)
        self._kinds[context] = kind
        return context

    def give_back(self, context: BrowserContext, *, again: bool) -> None:
        """Leave all pages, and close the profile, or empty it and keep it for the next test. What it loaded
        stays in its cache: addresses of files and pictures name their content."""
        for page in context.pages:
            leave(page)
        kind = self._kinds[context]
        full = len(self._waiting[kind]) >= WAITING
        if full or not again or not context.pages or not context.pages[0].evaluate(CLOCK_RUNS):
            del self._kinds[context]
            context.close()
            return
        stays, *others = context.pages
        for page in others:
            page.close()
        context.clear_cookies()
        context.clear_permissions()
        session = context.new_cdp_session(stays)
        origin = json.loads(kind)["base_url"]
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()
        self._waiting[kind].append(context)


def leave(page: Page) -> None:
    """Go where nothing is under way: closed while a page makes way for the next, Chromium may hang."""
    while True:
        try:
            page.goto("about:blank")
            return
        except Error as reason:
            if "interrupted by another navigation" not in str(reason):
                raise
