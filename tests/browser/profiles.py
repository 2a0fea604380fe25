"""Browser profiles, reused for the next test after their data are removed.

A new profile starts a process with an empty cache: its first page requests two dozen files. A new page costs
as much as most tests. Reuse saves half of a test's CPU. The size and the colour scheme of a page can change:
tests that want others share profiles.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Error, Page

#: Maximum number of idle profiles per kind.
WAITING = 2
#: Whether a profile has the browser's own clock. A clock set by a test remains, and does not advance.
CLOCK_RUNS = "/native code/.test(setTimeout)"
#: Options of a page, which are set again for each test.
_OF_PAGES = ("viewport", "color_scheme")
#: Methods whose effect on a page remains when it navigates: such a page is not reused.
_STAYS = ("add_init_script", "expose_binding", "expose_function", "route", "on", "once")
#: Messages of Playwright when a page navigates elsewhere at the same time.
_ANOTHER_NAVIGATION = ("interrupted by another navigation", "most likely because of a navigation")


class Profiles:
    """Profiles by their options, kept until the browser closes."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._waiting: dict[str, list[BrowserContext]] = defaultdict(list)
        self._kinds: dict[BrowserContext, str] = {}
        self._options: dict[BrowserContext, dict[str, Any]] = {}
        self._altered: set[Page] = set()
        self._ours: set[Page] = set()

    def take(self, options: dict[str, Any], *, new: bool = False) -> BrowserContext:
        """Return a profile with these options of Playwright's `new_context`, without cookies and storage. Its
        pages are empty."""
        lasting = {name: value for name, value in options.items() if name not in _OF_PAGES}
        kind = json.dumps(lasting, sort_keys=True)
        if self._waiting[kind] and not new:
            context = self._waiting[kind].pop()
        else:
            context = self._browser.new_context(**options)
            self._kinds[context] = kind
        self._options[context] = options
        return context

    def page(self, context: BrowserContext) -> Page:
        """Return an empty page of a profile: that of the previous test, if there is one."""
        options = self._options[context]
        reused = bool(context.pages)
        page = context.pages[0] if reused else context.new_page()
        page.set_viewport_size(options["viewport"])
        page.emulate_media(color_scheme=options.get("color_scheme", "light"))
        if reused:
            page.mouse.up()
            page.mouse.move(0, 0)
            return page
        self._ours.add(page)
        for target, names in ((page, _STAYS), (page.keyboard, ("down",))):
            for name in names:
                setattr(target, name, self._noted(page, getattr(target, name)))
        if options.get("has_touch"):  # a finger may still be down
            self._altered.add(page)
        return page

    def _noted(self, page: Page, act: Callable[..., Any]) -> Callable[..., Any]:
        """Return `act`, changed so that the page is not reused after a call."""

        def noted(*arguments: Any, **more: Any) -> Any:
            self._altered.add(page)
            return act(*arguments, **more)

        return noted

    def give_back(self, context: BrowserContext, *, again: bool) -> None:
        """Leave all pages, and close the profile, or empty it and keep it for the next test. Its cache
        remains: addresses of files and pictures contain a digest of the content."""
        for page in self._altered.intersection(context.pages):
            page.unroute_all(behavior="ignoreErrors")
        runs = [leave(page) for page in context.pages]
        kind = self._kinds[context]
        full = len(self._waiting[kind]) >= WAITING
        if full or not again or not runs or not runs[0]:
            del self._kinds[context], self._options[context]
            context.close()
            return
        stays, *others = sorted(context.pages, key=lambda page: page not in self._ours)
        context.set_offline(False)
        context.clear_cookies()
        context.clear_permissions()
        session = context.new_cdp_session(stays)
        origin = json.loads(kind)["base_url"]
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()
        if stays in self._altered or stays not in self._ours:
            others.append(stays)
        for page in others:
            page.close()
        self._waiting[kind].append(context)


def leave(page: Page) -> bool:
    """Navigate to an empty page: Chromium may hang if a page is closed during a navigation.

    Returns whether the page has the browser's own clock. An earlier navigation of the page may interfere.
    """
    there = False
    while True:
        try:
            if not there:
                page.goto("about:blank")
            return bool(page.evaluate(CLOCK_RUNS))
        except Error as reason:
            if not any(sign in str(reason) for sign in _ANOTHER_NAVIGATION):
                raise
            # Two navigations of ours would interrupt each other, for minutes.
            page.wait_for_timeout(50)
            there = page.url == "about:blank"
