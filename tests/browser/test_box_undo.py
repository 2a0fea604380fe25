"""Undo and redo in the box editor: after any action, undo restores exactly the same state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.protocol import questions as q
from tests.browser.at_work import at, open_sheet, unfold_edges, wait_for_task
from tests.browser.box_editor import EDGES, box, by_points, click, drag
from tests.browser.conftest import Open
from tests.web import desk

#: The form's fields, and what is drawn over the picture.
STATE = """() => [
    ...[...document.querySelectorAll("[data-editor] input")].map(field => field.value),
    ...[...document.querySelectorAll(".sheet .mine, .sheet .points")]
        .filter(part => part.style.display !== "none").map(part => part.outerHTML)]"""


@pytest.fixture
def editor(transactional_db: None, tmp_path: Path, open_page: Open) -> Page:
    desk.campaign(tmp_path / "drawn", open_kind=q.BOX_DRAWING)
    page = open_page()
    at(page, q.BOX_DRAWING)
    wait_for_task(page)
    return page


def state(page: Page) -> Any:
    return page.evaluate(STATE)


def test_undo_and_redo_return_to_the_same_states(editor: Page):
    states = [state(editor)]

    def done() -> None:
        states.append(state(editor))
        assert states[-1] != states[-2]

    drag(editor, (59, 79), (130, 330))
    done()
    drag(editor, (130, 330), (150, 300))
    done()
    drag(editor, (105, 190), (120, 200))
    done()
    editor.keyboard.press("ArrowLeft")
    done()
    for _ in range(20):
        editor.keyboard.down("ArrowDown")
    editor.keyboard.up("ArrowDown")
    done()
    unfold_edges(editor)
    editor.get_by_label("Right", exact=True).fill("200")
    editor.get_by_label("Right", exact=True).blur()
    done()
    editor.get_by_role("button", name="Remove").click()
    done()
    by_points(editor)
    for point in ((90, 82), (62, 110), (100, 160), (130, 99)):
        click(editor, *point)
        done()
    drag(editor, (300, 60), (400, 160))  # a point in this mode of drawing
    done()
    editor.keyboard.press("Delete")
    done()

    for was in reversed(states[:-1]):
        editor.keyboard.press("Control+z")
        assert state(editor) == was
    undo, redo = (editor.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    expect(undo).to_have_attribute("aria-disabled", "true")
    undo.click(force=True)  # a button that is marked as disabled, but can still be focused
    assert state(editor) == states[0]
    for again in states[1:]:
        redo.click()
        assert state(editor) == again
    expect(redo).to_have_attribute("aria-disabled", "true")
    expect(undo).to_have_attribute("aria-disabled", "false")


def test_what_is_drawn_after_an_undo_is_what_redo_does_not_know(editor: Page):
    drag(editor, (59, 79), (130, 330))
    drag(editor, (200, 100), (300, 200))
    editor.keyboard.press("Control+z")
    drag(editor, (10, 10), (50, 50))
    editor.keyboard.press("Control+Shift+z")
    assert box(editor) == [11, 11, 50, 50]
    editor.keyboard.press("Control+z")
    assert box(editor) == [60, 80, 130, 330]


def test_undo_in_a_number_field_takes_back_what_was_typed_there(editor: Page):
    drag(editor, (59, 79), (130, 330))
    unfold_edges(editor)
    right = editor.get_by_label("Right", exact=True)
    right.fill("140")
    right.press("Control+z")
    assert box(editor) == [60, 80, 130, 330]
    right.press("Control+y")
    assert box(editor) == [60, 80, 140, 330]


def test_undo_elsewhere_is_the_texts_own(editor: Page):
    drag(editor, (59, 79), (130, 330))
    open_sheet(editor, "Report a problem")
    comment = editor.get_by_label("Anything else")
    comment.press_sequentially("words")
    comment.press("Control+z")
    assert comment.input_value() == ""
    assert box(editor) == [60, 80, 130, 330]


def test_a_box_that_was_typed_says_so(editor: Page):
    unfold_edges(editor)
    for name, edge in zip(EDGES, (11, 21, 110, 220), strict=True):
        editor.get_by_label(name, exact=True).fill(str(edge))
    way = editor.locator("[name=way]")
    assert way.input_value() == "fields"
    drag(editor, (200, 100), (300, 200))
    assert way.input_value() == "drag"
    editor.get_by_label("Right", exact=True).fill("310")
    assert way.input_value() == "drag"
    editor.keyboard.press("Control+z")
    editor.keyboard.press("Control+z")
    assert (box(editor), way.input_value()) == ([11, 21, 110, 220], "fields")
