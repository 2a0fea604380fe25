"""Our script finds words with too little contrast, the same as axe."""

from __future__ import annotations

import re

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]

from tests.browser.conftest import Open
from tests.browser.looks import FAINT, VIOLATIONS

FAINT_WORDS = """
<p id="grey-on-white" style="color: #888">few words</p>
<p id="behind-a-veil" style="opacity: 0.4">few words</p>
<div style="opacity: 0.4"><p id="behind-a-veil-further-out" style="background: #fff">few words</p></div>
<p id="half-transparent" style="color: rgb(0 0 0 / 40%)">few words</p>
<div style="background: #333"><p><b id="on-what-is-further-out">few words</b></p></div>
<div style="background: rgb(0 0 0 / 50%)"><div style="background: rgb(0 0 0 / 40%)">
  <p id="on-two-half-transparent-sheets">few words</p>
</div></div>
<p id="of-another-space-of-colours" style="color: oklch(70% 0.1 200)">few words</p>
<p id="large-and-fainter-still" style="font-size: 24px; color: #aaa">few words</p>
<button id="a-button" style="background: #888; color: #fff">few words</button>
<select id="a-choice" style="color: #999"><option>few words</option></select>
<input id="what-was-typed" value="few words" style="color: #999">
"""
PLAIN_WORDS = """
<p id="black-on-white">few words</p>
<p id="large" style="font-size: 24px; color: #888">few words</p>
<p id="bold-and-rather-large" style="font-size: 19px; font-weight: 700; color: #888">few words</p>
<p id="white-on-black" style="background: #000; color: #fff">few words</p>
<p id="not-to-be-seen" style="color: #888; display: none">few words</p>
<button id="what-cannot-be-used" disabled>few words</button>
<p id="no-words" style="color: #888"> <img alt=""> </p>
"""


def test_our_script_finds_the_faint_words_that_axe_finds(open_page: Open):
    page = open_page()
    page.set_content(FAINT_WORDS + PLAIN_WORDS)
    page.evaluate(AXE_SCRIPT)
    by_axe = page.evaluate(VIOLATIONS, {"resultTypes": ["violations"], "runOnly": ["color-contrast"]})
    ours = _names(" ".join(page.evaluate(FAINT)))
    assert ours == _names(" ".join(html for _, nodes in by_axe for html in nodes)) == _names(FAINT_WORDS)


def _names(html: str) -> list[str]:
    return sorted(re.findall('id="(.+?)"', html))
