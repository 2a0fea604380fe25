"""Layouts and colour schemes of pages ("looks"), and checks of a page in each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Frame, Page

from tests.sizes import THOROUGH

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
#: A phone and a screen in the light and the dark scheme: (width, scheme).
LOOKS: tuple[tuple[int, Scheme], ...] = ((390, "light"), (390, "dark"), (1280, "dark"), (1280, "light"))
#: The look in which axe checks a page, and another in which its colours are checked: they depend on the
#: scheme only. In a thorough run axe checks every look.
BY_AXE, IN_THE_DARK = LOOKS[0], LOOKS[2]
#: Window widths, from the narrowest phone on.
WIDTHS = (320, 390, 640, 768, 1024, 1280, 1920, 2560, 3840)
#: The widths checked by default, in addition to those of the looks: where layouts are narrowest.
WIDTHS_BY_DEFAULT = (320, 640, 1024)
HEIGHT = 800

#: Waits until all animations have ended; returns whether axe is loaded.
AT_REST = """Promise.allSettled(document.getAnimations().map(each => each.finished))
    .then(() => Boolean(window.axe))"""
#: The violations that axe finds, without its descriptions.
VIOLATIONS = """options => axe.run(options)
    .then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(node => node.html)]))"""
#: axe's rules without colour contrast, which takes three quarters of the time.
WITHOUT_COLOURS = {"rules": {"color-contrast": {"enabled": False}}}
#: Finds words with too little contrast.
FAINT = Path(__file__).with_name("contrast.js").read_text()
#: By how many pixels a page is wider than its window.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: The texts of buttons that are wider than the button.
SPILLING = """[...document.querySelectorAll(`button:not([hidden], [aria-hidden="true"])`)]
    .filter(button => button.scrollWidth > button.clientWidth).map(button => button.innerText)"""


def assert_accessible(page: Page | Frame) -> None:
    """Fail if axe reports a violation of any rule, best practices included, once everything is loaded and
    still.

    Colours are checked by our own script, and in a thorough run by axe too.
    """
    page.wait_for_load_state("load")
    if not page.evaluate(AT_REST):
        page.evaluate(AXE_SCRIPT)
    chosen = {} if THOROUGH else WITHOUT_COLOURS
    result = page.evaluate(VIOLATIONS, {"resultTypes": ["violations"], **chosen})
    # This is not a test file: pytest would not show the values.
    assert result == [], (page.url, result)
    assert_readable(page)


def assert_readable(page: Page | Frame) -> None:
    """Fail if any words have too little contrast, once everything is still."""
    page.wait_for_load_state("load")
    page.evaluate(AT_REST)
    faint = page.evaluate(FAINT)
    assert faint == [], (page.url, faint)


def overflow(page: Page | Frame) -> int:
    """Return by how many pixels the page is wider than its window; usually 0."""
    page.wait_for_load_state("load")
    return page.evaluate(OVERFLOW)


def fits(page: Page) -> None:
    """Fail if the page is wider than the window, or a button's text than the button, at any width."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        _fits(page, width)


def for_everybody(page: Page, frame: Frame | None = None, *, other_words: bool = False) -> None:
    """Fail if the current page is not accessible in any look, or does not fit at any width.

    It is checked without loading another page, and has its original size in the end. With a `frame` the page
    in that frame is checked; the frame must be as wide as the page. With `other_words` the page was already
    checked in another language: it must fit everywhere, and the rules are checked in a thorough run only.
    """
    visible = frame or page
    before = page.viewport_size
    looks = [look for look in LOOKS if THOROUGH or look in (BY_AXE, IN_THE_DARK)]
    # The looks come first: they wait for a page that is still loading.
    for width, scheme in looks:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=scheme)
        if THOROUGH or ((width, scheme) == BY_AXE and not other_words):
            assert_accessible(visible)
        elif not other_words:
            assert_readable(visible)
        _fits(visible, width)
    for width in WIDTHS if THOROUGH else WIDTHS_BY_DEFAULT:
        if width not in (seen for seen, _ in looks):
            page.set_viewport_size({"width": width, "height": HEIGHT})
            _fits(visible, width)
    if before:
        page.set_viewport_size(before)


def _fits(page: Page | Frame, width: int) -> None:
    too_wide, spilling = page.evaluate(f"[{OVERFLOW}, {SPILLING}]")
    assert too_wide <= 0, (page.url, width)
    assert spilling == [], (page.url, width, spilling)
