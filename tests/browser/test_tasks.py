"""An annotator at work: every question by mouse, by keys, by finger, and without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import Assignment
from annotation.protocol import questions as q
from tests.browser.at_work import answered, at, shown, stored
from tests.browser.conftest import Open
from tests.queue.world import World
from tests.web import desk

#: What the first and the second choice of each question say.
CHOICES = {
    q.COREF_LINK: ("The same", "Different"),
    q.CHAIN_VERIFICATION: ("All the same", "Not all"),
    q.BOX_REQUIREMENT: ("Yes", "No: a place"),
    q.BOX_DRAWING: ("Send this box", "No box"),
    q.BOX_QUALITY: ("Good", "Bad"),
    q.BOX_COVERAGE: ("All have a box", "A box is missing"),
}
#: What the second choice is in the protocol.
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


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_every_question_is_answered_by_mouse(work: World, open_page: Open, kind: str):
    desk.bring_up(work, kind)
    page = open_page()
    at(page, kind)
    page.get_by_role("button", name=CHOICES[kind][1]).click()
    answered(page, kind, 1)
    assert stored(kind) == [SECOND[kind]]


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_every_question_is_answered_by_keys(work: World, open_page: Open, kind: str):
    desk.bring_up(work, kind)
    page = open_page()
    at(page, kind)
    shown(page)
    page.keyboard.press("2")
    answered(page, kind, 1)
    assert stored(kind) == [SECOND[kind]]


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_every_question_is_answered_by_tab_and_enter(work: World, open_page: Open, kind: str):
    desk.bring_up(work, kind)
    page = open_page()
    at(page, kind)
    choice = page.get_by_role("button", name=CHOICES[kind][1])
    for _ in range(20):
        page.keyboard.press("Tab")
        if choice.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")
    answered(page, kind, 1)


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_every_question_is_answered_by_touch(work: World, open_page: Open, kind: str):
    desk.bring_up(work, kind)
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    at(page, kind)
    page.get_by_role("button", name=CHOICES[kind][1]).tap()
    answered(page, kind, 1)


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_every_question_is_answered_without_scripts(work: World, open_page: Open, kind: str):
    desk.bring_up(work, kind)
    page = open_page(java_script_enabled=False)
    at(page, kind)
    if kind == q.BOX_DRAWING:
        for name, edge in zip(("Left", "Top", "Right", "Bottom"), (3, 4, 50, 60), strict=True):
            page.get_by_label(name, exact=True).fill(str(edge))
    page.get_by_role("button", name=CHOICES[kind][0]).click()
    answered(page, kind, 1)
    assert Assignment.objects.get(judgments__worker__pseudonym="w-ann").seconds > 0
