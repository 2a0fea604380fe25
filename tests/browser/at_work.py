"""ann at a task page in a browser: shared by tests of task pages and of the box editor."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Error, Locator, Page, expect

from annotation import instructions
from annotation.models import Campaign, Judgment
from annotation.protocol import questions as q
from annotation.protocol.terms import Box
from annotation.queue import leases
from annotation.web.annotator.task_texts import READ
from tests.browser.conftest import PATIENCE, sign_in, sign_in_by_form
from tests.queue.world import World
from tests.web import desk

#: Milliseconds in which a question can be read: a little more than UNREAD in static/annotation/tasks/flow.js.
READING = 300
#: Whether the picture is decoded.
DECODED = "() => document.querySelector('[data-picture]').decode().then(() => true, () => false)"
#: Whether the script of a task page has started (it shows the switch of the keys) and accepts answers.
WORKING = """() => !document.querySelector("[data-task] [data-keys][hidden], [data-task] [aria-busy]")"""


def take_time(page: Page) -> None:
    """Stop the clock that sends answers: on any machine, the last answer can be undone until the next one."""
    page.add_init_script("{ const at = Date.now(); Date.now = () => at; }")


def at(page: Page, kind: str) -> None:
    """Open a task of `kind`; ann is signed in and has read its instructions."""
    campaign = Campaign.objects.get(name="quay")
    version = instructions.current_text(campaign=campaign, kind=kind).version
    sign_in(page, "ann", then=desk.address(kind), **{READ: {f"{campaign.pk}:{kind}": version}})


def at_by_forms(page: Page, kind: str) -> None:
    """Get to a task of `kind` from the start: sign ann in with the form, and read its instructions."""
    sign_in_by_form(page, "ann", then=desk.address(kind))
    page.get_by_role("button", name="I have read this: begin").click()
    page.wait_for_url(lambda address: "instructions" not in address)


def ask_for_a_second_box(work: World) -> Box:
    """Assign ann a task that asks for a box beside an accepted one; return that box."""
    desk.open_a_second_box(work)
    while not (lease := work.held(0, q.BOX_DRAWING)).content["boxes"]:
        leases.return_lease(worker=work.workers[0], assignment=lease.id)
    return Box(*lease.content["boxes"][0])


def wait_for_task(page: Page) -> None:
    """Wait until the picture is visible and the page's script runs: then answers and keys count."""
    expect(page.locator("[data-picture]")).to_have_js_property("complete", True)
    page.wait_for_function(DECODED)
    page.wait_for_function(WORKING)


def read(page: Page) -> None:
    """Wait until a question that was shown without loading a page could be read: earlier answers do not
    count. Nothing on the page shows the end of this time."""
    page.wait_for_timeout(READING)


def open_sheet(page: Page, name: str) -> Locator:
    """Open the sheet of the button `name` beside the question; return it."""
    page.get_by_role("button", name=name).first.click()
    sheet = page.get_by_role("dialog", name=name)
    expect(sheet).to_be_visible()
    return sheet


def close_sheet(page: Page) -> None:
    """Close the open sheet."""
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def unfold_edges(page: Page) -> None:
    """Unfold the number fields of the box editor."""
    page.get_by_text("Edges of the box, in pixels").click()
    expect(page.get_by_label("Left", exact=True)).to_be_visible()


def in_hand(page: Page) -> int:
    """Return the assignment that the page shows."""
    return int(page.locator("[data-answer] [name=assignment]").get_attribute("value") or 0)


def moved_on(page: Page, held: int) -> None:
    """Wait until the page shows another assignment than `held`."""
    page.wait_for_function(
        "held => Number(document.querySelector('[data-answer] [name=assignment]')?.value ?? held) !== held",
        arg=held,
    )


def stored(kind: str) -> list[str]:
    """Return ann's answers to questions of `kind`."""
    judgments = Judgment.objects.filter(worker__pseudonym="w-ann", kind=kind).order_by("pk")
    return list(judgments.values_list("answer", flat=True))


def let_go(page: Page) -> None:
    """Make the page send the answer that can still be undone, as when the user leaves the page."""
    try:
        page.evaluate("dispatchEvent(new Event('pagehide'))")
    except Error as reason:
        # The page is being left already, and sends by itself.
        if "navigation" not in str(reason):
            raise


def answered(page: Page, kind: str, number: int) -> None:
    """Wait until `number` answers of ann's are stored and a page is loaded again."""
    page.wait_for_load_state("load")
    let_go(page)
    eventually(page, lambda: len(stored(kind)) >= number)
    assert len(stored(kind)) == number


def eventually(page: Page, true: Callable[[], bool]) -> None:
    """Wait until a condition on the database is true."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"in {PATIENCE:.0f} s it did not come to be"
        page.wait_for_timeout(50)


def both_in_hand(page: Page) -> None:
    """Wait until the page has fetched the next task, with its picture."""
    expect(page.locator("[data-task]")).to_have_attribute("data-next", "")


def answer_next(page: Page, choice: str = "Different") -> int:
    """Answer the shown question as soon as it could be read; return its assignment."""
    wait_for_task(page)
    read(page)
    held = in_hand(page)
    page.get_by_role("button", name=choice).click()
    return held
