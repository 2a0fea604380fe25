"""One sentence and four grades: with mouse, keys, finger, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Campaign
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from tests.browser.at_work import answered, at, in_hand, moved_on, stored, wait_for_task
from tests.browser.conftest import Open
from tests.browser.looks import for_everybody
from tests.sizes import by_default
from tests.web import counted_desk

PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> Campaign:
    return counted_desk.campaign(tmp_path / "drawn", "graded", images=3)


def by_mouse(page: Page) -> None:
    page.get_by_role("button", name="Minor errors").click()


def by_finger(page: Page) -> None:
    page.get_by_role("button", name="Minor errors").tap()


def by_keys(page: Page) -> None:
    page.keyboard.press("3")


@pytest.mark.parametrize(
    ("answer", "device"),
    by_default(1, [(by_keys, {}), (by_mouse, {}), (by_finger, PHONE)]),
    ids=["keys", "mouse", "touch"],
)
def test_a_pair_is_graded_by_every_means(
    work: Campaign, open_page: Open, answer: Any, device: dict[str, Any]
):
    page = open_page(**device)
    at(page, GRADED_RELEVANCE)
    wait_for_task(page)
    held = in_hand(page)
    answer(page)
    moved_on(page, held)
    answered(page, GRADED_RELEVANCE, 1)
    assert stored(GRADED_RELEVANCE) == ["3"]


def test_a_pair_is_graded_without_scripts(work: Campaign, open_page: Open):
    page = open_page(java_script_enabled=False)
    at(page, GRADED_RELEVANCE)
    by_mouse(page)
    answered(page, GRADED_RELEVANCE, 1)
    assert stored(GRADED_RELEVANCE) == ["3"]


def test_each_key_is_the_grade_that_its_button_shows(work: Campaign, open_page: Open):
    page = open_page()
    at(page, GRADED_RELEVANCE)
    choices = page.locator(".choice")
    assert choices.locator("kbd").all_text_contents() == ["4", "3", "2", "1"]
    for choice in choices.all():
        grade = choice.get_attribute("value")
        assert grade and choice.get_attribute("data-key") == grade == choice.locator("kbd").text_content()
        expect(choice).to_have_attribute("aria-keyshortcuts", grade)


def test_the_page_is_for_everybody(work: Campaign, open_page: Open):
    page = open_page()
    at(page, GRADED_RELEVANCE)
    wait_for_task(page)
    for_everybody(page)
