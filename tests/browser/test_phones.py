"""On a phone every page links the main sections, and the current tab is visible; home shows first steps."""

from __future__ import annotations

from playwright.sync_api import expect

from annotation.models import Campaign, Corpus
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody

#: Whether the current link of a row is within the row's frame.
IN_SIGHT = """row => {
  const link = row.querySelector('[aria-current]').getBoundingClientRect();
  const frame = row.getBoundingClientRect();
  return frame.height > 0 && link.left >= frame.left - 1 && link.right <= frame.right + 1;
}"""


def test_the_current_tab_and_place_are_in_sight_on_a_phone(scenes: Corpus, open_page: Open) -> None:
    Campaign.objects.create(name="quay", corpus=scenes, tasks="relevance", state=Campaign.PAUSED)
    page = open_page(320, 640)
    sign_in(page, "ada", then="/")
    expect(page.get_by_role("heading", name="Your first steps")).to_be_visible()
    for_everybody(page)
    page.set_viewport_size({"width": 320, "height": 640})
    # The last tabs of each kind, which are initially out of sight.
    for address, rows in (("/campaigns/quay/jobs/", 2), ("/evaluation/reports/", 2), ("/corpora/scenes/", 1)):
        page.goto(address)
        result = page.locator(".tabs, .places")
        expect(result).to_have_count(rows)
        for number in range(rows):
            row = result.nth(number).element_handle()
            page.wait_for_function(IN_SIGHT, arg=row)
