"""Keys of keyboards other than the US one, and times in the reader's time zone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Corpus
from annotation.protocol import questions as q
from tests.browser.at_work import answered, at, stored, wait_for_task
from tests.browser.conftest import Open, sign_in
from tests.queue.world import World
from tests.web import desk

#: Position -> what is printed there, if it differs from a US keyboard.
LAYOUTS = {
    "AZERTY": {
        "KeyQ": "a",
        "KeyA": "q",
        "KeyW": "z",
        "KeyZ": "w",
        "Digit2": "é",
        "Digit6": "-",
        "Slash": "!",
    },
    "Cyrillic": {"KeyW": "ц", "KeyA": "ф", "KeyS": "ы", "KeyD": "в", "KeyR": "к", "KeyP": "з", "KeyZ": "я"},
    "Greek": {"KeyW": "ς", "KeyA": "α", "KeyS": "σ", "KeyD": "δ", "KeyR": "ρ", "KeyP": "π", "KeyZ": "ζ"},
}
LETTERS = {f"Key{letter}": letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}

#: Meaning of presses: key, position, whether with Shift, and the first of `known` that counts.
MEANT = """async (presses) => {
  const { meant } = await import("/static/annotation/layout.js");
  return presses.map(([key, code, shiftKey, known]) => {
    return meant({ key, code, shiftKey }, (name) => known.includes(name) && name) ?? null;
  });
}"""
PRINTED = """async ([letters, layout]) => {
  const { printed } = await import("/static/annotation/layout.js");
  const map = new Map(Object.entries(layout));
  return letters.map(([letter, atPlace]) => printed(letter, map, atPlace));
}"""
KEYBOARD = """Object.defineProperty(navigator, "keyboard", {
  value: { getLayoutMap: async () => new Map(Object.entries(%s)) },
});"""


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


def press(page: Page, key: str, code: str) -> None:
    """Press a key as on a keyboard of another layout."""
    page.evaluate(
        "([key, code]) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', "
        "{ key, code, bubbles: true, cancelable: true }))",
        [key, code],
    )


def test_a_press_means_what_is_printed_and_else_where_it_is(scenes: Corpus, open_page: Open):
    page = open_page()
    page.goto("/sign-in/")
    task = ["1", "2", "6", "?", "p", "r", "h", "w", "a", "s", "d", "+", "-", "z"]
    presses: list[tuple[list[Any], str | None]] = [
        (["é", "Digit2", False, task], "2"),
        (["-", "Digit6", False, task], "6"),  # AZERTY prints 6 and - there
        (["6", "Digit6", True, task], "6"),
        ([")", "Minus", False, task], "-"),
        (["a", "KeyQ", False, task], "a"),
        (["q", "KeyA", False, task], "a"),
        (["к", "KeyR", False, task], "r"),
        (["З", "KeyP", True, task], "p"),
        (["π", "KeyP", False, task], "p"),
        (["z", "KeyY", False, ["z", "y"]], "z"),  # QWERTZ
        (["y", "KeyZ", False, ["z", "y"]], "y"),
        (["?", "Digit7", True, task], "?"),  # Cyrillic
        ([",", "Slash", True, task], "?"),
        (["Enter", "Enter", False, ["enter"]], "enter"),
        (["ü", "BracketLeft", False, task], None),
        (["p", "", False, task], "p"),  # a keyboard on a screen has no positions
    ]
    assert page.evaluate(MEANT, [press for press, _ in presses]) == [name for _, name in presses]
    letters = [["R", False], ["W", False], ["W", True]]
    shown = {
        name: page.evaluate(PRINTED, [letters, {**LETTERS, **layout}]) for name, layout in LAYOUTS.items()
    }
    assert shown == {"AZERTY": ["R", "W", "Z"], "Cyrillic": ["К", "Ц", "Ц"], "Greek": ["Ρ", "Σ", "Σ"]}
    assert page.evaluate(PRINTED, [letters, {}]) == ["R", "W", "W"]


@pytest.mark.parametrize(("layout", "shown"), [("Cyrillic", "К"), ("AZERTY", "R")])
def test_an_annotator_answers_by_the_keys_of_their_keyboard(
    work: World, open_page: Open, layout: str, shown: str
):
    desk.open_questions_for(work, q.COREF_LINK)
    page = open_page(alone=True)
    page.add_init_script(KEYBOARD % {**LETTERS, **LAYOUTS[layout]})
    at(page, q.COREF_LINK)
    wait_for_task(page)
    skip = page.locator("[data-task] button[data-key='r']")
    expect(skip.locator("kbd")).to_have_text(shown)
    expect(skip).to_have_attribute("aria-keyshortcuts", shown.lower())
    press(page, "é" if layout == "AZERTY" else "2", "Digit2")
    answered(page, q.COREF_LINK, 1)
    assert stored(q.COREF_LINK) == ["no"]


def test_times_follow_the_clock_of_the_reader_and_carry_their_zone(scenes: Corpus, open_page: Open):
    page = open_page(alone=True, timezone_id="Asia/Tokyo")
    sign_in(page)
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend', "
        '\'<time datetime="2026-01-31T20:05:00Z" data-style="moment">January 31, 2026 UTC</time>\')'
    )
    late = page.locator("main time").last
    expect(late).to_have_text(re.compile(r"Feb 1, 2026, 5:05\sAM"))
    expect(late).to_have_attribute("title", "2026-01-31T20:05:00Z")
    without = open_page(java_script_enabled=False)
    sign_in(without, then="/manage/audit/")
    for time in without.locator("time").all():
        assert (time.text_content() or "").endswith("\N{NO-BREAK SPACE}UTC")
