"""ann at a task page in a browser: what tests of task pages and of the box editor share."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from annotation.models import Judgment
from tests.browser.conftest import sign_in
from tests.web import desk


def at(page: Page, kind: str) -> None:
    """Sign ann in and open a task of `kind`, past its instructions."""
    sign_in(page, "ann", then=desk.address(kind))
    if "instructions" in page.url:
        page.get_by_role("button", name="I have read this: begin").click()
        page.wait_for_url(lambda address: "instructions" not in address)


def shown(page: Page) -> None:
    """Wait until the picture can be seen: single keys count from then on."""
    expect(page.locator("[data-picture]")).to_have_js_property("complete", True)
    page.evaluate("document.querySelector('[data-picture]').decode().then(() => null)")


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
    own = Judgment.objects.filter(worker__pseudonym="w-ann", kind=kind).order_by("pk")
    return list(own.values_list("answer", flat=True))


def answered(page: Page, kind: str, number: int) -> None:
    """Wait until that many answers of ann's are stored and a page stands again."""
    page.wait_for_load_state("load")
    for _ in range(300):
        if len(stored(kind)) >= number:
            break
        page.wait_for_timeout(50)
    assert len(stored(kind)) == number
