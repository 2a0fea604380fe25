"""An annotator at work: every question with mouse, keys, finger, and without scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from annotation.models import Assignment
from annotation.protocol import questions as q
from tests.browser.at_work import answered, at, at_by_forms, stored, wait_for_task
from tests.browser.conftest import Open
from tests.queue.world import World
from tests.sizes import by_default
from tests.web import desk

#: The texts of the first and the second choice of each question.
CHOICES = {
    q.COREF_LINK: ("The same", "Different"),
    q.CHAIN_VERIFICATION: ("All the same", "Not all"),
    q.BOX_REQUIREMENT: ("Yes", "No: a place"),
    q.BOX_DRAWING: ("Send this box", "No box"),
    q.BOX_QUALITY: ("Good", "Bad"),
    q.BOX_COVERAGE: ("All have a box", "A box is missing"),
}
#: The second choice in the protocol.
SECOND = {
    q.COREF_LINK: "no",
    q.CHAIN_VERIFICATION: "false",
    q.BOX_REQUIREMENT: "scene",
    q.BOX_DRAWING: "none",
    q.BOX_QUALITY: "bad",
    q.BOX_COVERAGE: "more",
}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> World:
    return desk.campaign(tmp_path / "drawn")


def second_choice(page: Page, kind: str) -> Locator:
    return page.get_by_role("button", name=CHOICES[kind][1])


def by_mouse(page: Page, kind: str) -> None:
    second_choice(page, kind).click()


def by_finger(page: Page, kind: str) -> None:
    second_choice(page, kind).tap()


def by_keys(page: Page, kind: str) -> None:
    page.keyboard.press("2")


def by_tab_and_enter(page: Page, kind: str) -> None:
    choice = second_choice(page, kind)
    for _ in range(40):
        page.keyboard.press("Tab")
        if choice.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")


PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}


MEANS: dict[str, tuple[Callable[[Page, str], None], dict[str, Any]]] = {
    "mouse": (by_mouse, {}),
    "keys": (by_keys, {}),
    "tab and enter": (by_tab_and_enter, {}),
    "touch": (by_finger, PHONE),
}
#: Each kind with one of the four ways, in turns; with all in the slow run.
TRIED = [
    pytest.param(
        kind,
        *MEANS[means],
        id=f"{kind}-{means}",
        marks=() if (means_index + kind_index) % 4 == 0 else pytest.mark.slow,
    )
    for kind_index, kind in enumerate(q.QUESTIONS)
    for means_index, means in enumerate(MEANS)
]


@pytest.mark.parametrize(("kind", "answer", "device"), TRIED)
def test_every_question_is_answered_by_every_means(
    work: World, open_page: Open, kind: str, answer: Callable[[Page, str], None], device: dict[str, Any]
):
    desk.open_questions_for(work, kind)
    page = open_page(**device)
    at(page, kind)
    wait_for_task(page)
    answer(page, kind)
    answered(page, kind, 1)
    assert stored(kind) == [SECOND[kind]]


@pytest.mark.parametrize("kind", by_default(2, [q.BOX_DRAWING, *sorted({*q.QUESTIONS} - {q.BOX_DRAWING})]))
def test_every_question_is_answered_without_scripts(work: World, open_page: Open, kind: str):
    desk.open_questions_for(work, kind)
    page = open_page(java_script_enabled=False)
    at_by_forms(page, kind)
    if kind == q.BOX_DRAWING:
        for name, edge in zip(("Left", "Top", "Right", "Bottom"), (3, 4, 50, 60), strict=True):
            page.get_by_label(name, exact=True).fill(str(edge))
    page.get_by_role("button", name=CHOICES[kind][0]).click()
    answered(page, kind, 1)
    assert Assignment.objects.get(judgments__worker__pseudonym="w-ann").seconds > 0
