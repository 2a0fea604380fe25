"""How a page looks: in which widths and schemes, and what it has to be in each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Frame, Page

from tests.sizes import THOROUGH

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
#: A phone and a screen, by day and by night: (width, scheme).
LOOKS: tuple[tuple[int, Scheme], ...] = ((390, "light"), (390, "dark"), (1280, "dark"), (1280, "light"))
#: The look in which a page is checked by axe, and the other in which its colours are: they depend on the
#: scheme alone. A thorough run has axe check every look.
BY_AXE, IN_THE_DARK = LOOKS[0], LOOKS[2]
#: How wide windows are, from the narrowest phone on.
WIDTHS = (320, 390, 640, 768, 1024, 1280, 1920, 2560, 3840)
#: Those of them that pages are looked at by default, besides those of the looks: where layouts are narrowest.
WIDTHS_BY_DEFAULT = (320, 640, 1024)
HEIGHT = 800

#: Waits until nothing moves; whether axe is on the page already.
AT_REST = """Promise.allSettled(document.getAnimations().map(each => each.finished))
    .then(() => Boolean(window.axe))"""
#: What axe finds, without all that it says about it.
VIOLATIONS = """options => axe.run(options)
    .then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(node => node.html)]))"""
#: axe's rules without that of colours, which takes three quarters of the time.
WITHOUT_COLOURS = {"rules": {"color-contrast": {"enabled": False}}}
#: Words that are too faint, found by a script of ours.
FAINT = Path(__file__).with_name("contrast.js").read_text()
#: How much wider than its window a page is.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: The words of buttons that are wider than these.
SPILLING = """[...document.querySelectorAll(`button:not([hidden], [aria-hidden="true"])`)]
    .filter(button => button.scrollWidth > button.clientWidth).map(button => button.innerText)"""


def assert_accessible(page: Page | Frame) -> None:
    """No violation of any rule that axe has, best practices included, once all is there and nothing moves.

    Colours are checked by a script of ours, and in a thorough run by axe too.
    """
    page.wait_for_load_state("load")
    if not page.evaluate(AT_REST):
        page.evaluate(AXE_SCRIPT)
    chosen = {} if THOROUGH else WITHOUT_COLOURS
    result = page.evaluate(VIOLATIONS, {"resultTypes": ["violations"], **chosen})
    # This is no test's file: pytest would not say what was found.
    assert result == [], (page.url, result)
    assert_readable(page)


def assert_readable(page: Page | Frame) -> None:
    """No words are too faint for what lies behind them, once nothing moves."""
    page.wait_for_load_state("load")
    page.evaluate(AT_REST)
    faint = page.evaluate(FAINT)
    assert faint == [], (page.url, faint)


def overflow(page: Page | Frame) -> int:
    """How much wider than its window the page is: nothing, as a rule."""
    page.wait_for_load_state("load")
    return page.evaluate(OVERFLOW)


def fits(page: Page) -> None:
    """Fail where the page is wider than the window, or a button's words than the button, at any width."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        _fits(page, width)


def for_everybody(page: Page, frame: Frame | None = None, *, other_words: bool = False) -> None:
    """Fail where the page, as it stands, is not accessible in any look, or does not fit at any width.

    It is looked at without another page being loaded, and has its own size again in the end. With a `frame`
    it is the page in that which is looked at; the frame is to be as wide as the page around it. With
    `other_words` the page was looked at in another language: it is to fit everywhere, and to keep to every
    rule in a thorough run only.
    """
    visible = frame or page
    before = page.viewport_size
    looks = [look for look in LOOKS if THOROUGH or look in (BY_AXE, IN_THE_DARK)]
    # The looks come first: a page that is hardly there yet is waited for by them.
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
