"""ann at a task page in a browser: what tests of task pages and of the box editor share."""

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
#: Whether the picture can be painted at once.
DECODED = "() => document.querySelector('[data-picture]').decode().then(() => true, () => false)"
#: Whether the script of a task page has begun, which shows the switch of the keys, and takes answers.
WORKING = """() => !document.querySelector("[data-task] [data-keys][hidden], [data-task] [aria-busy]")"""


def take_time(page: Page) -> None:
    """Let the clock by which answers are sent stand still: however slow the machine, the last answer can be
    taken back until the next one is given."""
    page.add_init_script("{ const at = Date.now(); Date.now = () => at; }")


def at(page: Page, kind: str) -> None:
    """Open a task of `kind`, where ann is signed in and has read its instructions."""
    campaign = Campaign.objects.get(name="quay")
    version = instructions.current_text(campaign=campaign, kind=kind).version
    sign_in(page, "ann", then=desk.address(kind), **{READ: {f"{campaign.pk}:{kind}": version}})


def at_by_forms(page: Page, kind: str) -> None:
    """Go the whole way to a task of `kind`: sign ann in by the form, and read its instructions."""
    sign_in_by_form(page, "ann", then=desk.address(kind))
    page.get_by_role("button", name="I have read this: begin").click()
    page.wait_for_url(lambda address: "instructions" not in address)


def ask_for_a_second_box(work: World) -> Box:
    """Give ann a task in hand that asks for a box beside an accepted one; which that is."""
    desk.open_a_second_box(work)
    while not (lease := work.held(0, q.BOX_DRAWING)).content["boxes"]:
        leases.return_lease(worker=work.workers[0], assignment=lease.id)
    return Box(*lease.content["boxes"][0])


def wait_for_task(page: Page) -> None:
    """Wait until the picture can be seen and the page's own script works: answers and keys count then."""
    expect(page.locator("[data-picture]")).to_have_js_property("complete", True)
    page.wait_for_function(DECODED)
    page.wait_for_function(WORKING)


def read(page: Page) -> None:
    """Let the time go by in which nobody can have read a question that came without a page of its own, and no
    answer counts. Nothing on the page says when that is over."""
    page.wait_for_timeout(READING)


def open_sheet(page: Page, name: str) -> Locator:
    """Open what the button `name` opens beside the question; the sheet."""
    page.get_by_role("button", name=name).first.click()
    sheet = page.get_by_role("dialog", name=name)
    expect(sheet).to_be_visible()
    return sheet


def close_sheet(page: Page) -> None:
    """Close the sheet that is open."""
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def unfold_edges(page: Page) -> None:
    """Unfold the number fields of the box editor."""
    page.get_by_text("Edges of the box, in pixels").click()
    expect(page.get_by_label("Left", exact=True)).to_be_visible()


def in_hand(page: Page) -> int:
    """The assignment that the page shows."""
    return int(page.locator("[data-answer] [name=assignment]").get_attribute("value") or 0)


def moved_on(page: Page, held: int) -> None:
    """Wait until the page shows another assignment than `held`."""
    page.wait_for_function(
        "held => Number(document.querySelector('[data-answer] [name=assignment]')?.value ?? held) !== held",
        arg=held,
    )


def stored(kind: str) -> list[str]:
    """ann's answers to questions of `kind`."""
    judgments = Judgment.objects.filter(worker__pseudonym="w-ann", kind=kind).order_by("pk")
    return list(judgments.values_list("answer", flat=True))


def let_go(page: Page) -> None:
    """Let the page send what it keeps for taking back, as it does when one leaves it."""
    try:
        page.evaluate("dispatchEvent(new Event('pagehide'))")
    except Error as reason:
        # It is being left already, and sends by itself.
        if "navigation" not in str(reason):
            raise


def answered(page: Page, kind: str, number: int) -> None:
    """Wait until that many answers of ann's are stored and a page stands again."""
    page.wait_for_load_state("load")
    let_go(page)
    eventually(page, lambda: len(stored(kind)) >= number)
    assert len(stored(kind)) == number


def eventually(page: Page, true: Callable[[], bool]) -> None:
    """Wait until something is so in the database."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"in {PATIENCE:.0f} s it did not come to be"
        page.wait_for_timeout(50)


def both_in_hand(page: Page) -> None:
    """Wait until the page has fetched the task after the one it shows, with its picture."""
    expect(page.locator("[data-task]")).to_have_attribute("data-next", "")


def answer_next(page: Page, choice: str = "Different") -> int:
    """Answer what is shown as soon as it can have been read; which assignment that was."""
    wait_for_task(page)
    read(page)
    held = in_hand(page)
    page.get_by_role("button", name=choice).click()
    return held
