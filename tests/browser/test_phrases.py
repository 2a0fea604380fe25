"""Phrases are marked with keyboard, mouse and touch, and the page is accessible."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.campaigns.phrases import phrases_of
from annotation.datasets.importing import import_records
from annotation.models import Corpus, Image
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody
from tests.web import world


@pytest.fixture
def park(transactional_db: None, tmp_path: Path, settings) -> Corpus:
    """Two images without phrases."""
    settings.DATA_DIR = tmp_path / "data"
    world.account("ada", "researcher")
    (tmp_path / "drawn").mkdir()
    records = [replace(world.scene(number, tmp_path / "drawn"), layer=None) for number in range(2)]
    import_records(name="park", records=records, format="jsonl", source="tests")
    return Corpus.objects.get(name="park")


def caption(page: Page, number: int) -> Locator:
    return page.get_by_role("group", name=f"Caption {number}")


def word(page: Page, text: str, *, of: int = 1) -> Locator:
    return caption(page, of).get_by_role("button", name=text, exact=True).first


def written(page: Page) -> list[str]:
    return page.locator("[name=phrases]").input_value().split()


def stored_phrases(key: str) -> list[str]:
    return [
        mention.id for mention in phrases_of(Image.objects.select_related("corpus").get(key=key)).mentions
    ]


def test_phrases_are_marked_by_mouse_and_by_keyboard(park: Corpus, open_page: Open):
    """Signs in and reads the page once for both ways, which takes three seconds of CPU."""
    page = open_page()
    sign_in(page, "ada", then="/corpora/park/images/scene-0/phrases/")
    # "A couple walks two dogs in the park ." and two others.
    assert written(page)[:3] == ["0:0-2", "0:3-5", "0:6-8"]
    word(page, "dogs").click()  # a click on a selected phrase removes it
    expect(word(page, "two")).to_have_attribute("aria-pressed", "false")
    word(page, "walks").click()
    word(page, "dogs").click()
    expect(page.get_by_role("status").last).to_have_text("Phrase marked: walks two dogs")
    assert written(page)[:3] == ["0:0-2", "0:2-5", "0:6-8"]
    word(page, "A").drag_to(word(page, "two"))  # replaces those that it overlaps
    assert written(page)[:2] == ["0:0-4", "0:6-8"]
    page.get_by_role("button", name="Undo").click()
    assert written(page)[:3] == ["0:0-2", "0:2-5", "0:6-8"]
    for_everybody(page)
    word(page, "A").focus()
    page.keyboard.press("Delete")
    for key in ("ArrowRight", "Enter", "Enter"):  # "couple" only
        page.keyboard.press(key)
    assert written(page)[0] == "0:1-2"
    page.keyboard.press("Enter")
    page.keyboard.press("z")
    assert written(page)[0] == "0:1-2"
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Phrases of scene-0 saved.")).to_be_visible()
    expect(page).to_have_url(re.compile("/scene-1/phrases/$"))
    assert stored_phrases("scene-0")[:3] == ["0:1-2", "0:2-5", "0:6-8"]
