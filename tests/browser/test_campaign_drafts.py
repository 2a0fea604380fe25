"""A campaign opened step by step in a browser, with mouse and keys; every page passes axe."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotation import jobs
from annotation.models import Campaign, CampaignDraft, Control, Job
from annotation.protocol import questions as q
from tests.browser.at_work import WORKING
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import assert_accessible, overflow

pytestmark = [
    pytest.mark.usefixtures("scenes"),
    # Some twenty pages, each checked by axe at two widths; web/test_campaign_drafts.py uses requests.
    pytest.mark.slow,
]


def good(page: Page) -> None:
    """Check that the page passes axe, and fits on a phone and a screen."""
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert overflow(page) == 0, (page.url, width)
        assert_accessible(page)


def test_a_researcher_opens_a_campaign_by_the_steps(open_page: Open) -> None:
    page = open_page()
    sign_in(page, "ada", then="/campaign-drafts/")
    good(page)
    page.get_by_role("button", name="Begin").click()
    for title in ("Corpus", "Questions", "Pay"):
        expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
        good(page)
        if title == "Pay":
            page.get_by_label("drawing", exact=True).fill("0.29")
            # 29 seconds per answer: the pay per hour is shown while the user types.
            expect(page.locator('output[for="pay.per_item.box_drawing"] b')).to_have_text("36.00")
        page.get_by_role("button", name="Next").last.click()
    good(page)
    page.locator('a[href*="/mark/coref_link/"]').first.click()
    good(page)
    page.get_by_role("group").first.get_by_label("The same").check()
    page.get_by_role("group").nth(1).get_by_label("Different").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("2 items of links are marked")
    page.locator('a[href*="/mark/box_drawing/"]').first.click()
    good(page)
    page.locator("a.draw").first.click()
    good(page)
    bounds = page.locator("[data-frame]").bounding_box()
    assert bounds
    page.mouse.move(bounds["x"] + bounds["width"] * 0.2, bounds["y"] + bounds["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(bounds["x"] + bounds["width"] * 0.5, bounds["y"] + bounds["height"] * 0.6)
    page.mouse.move(bounds["x"] + bounds["width"] * 0.6, bounds["y"] + bounds["height"] * 0.7)
    page.mouse.up()
    page.get_by_role("button", name="Send this box").click()
    expect(page.get_by_role("heading", name="that has none yet")).to_be_visible()
    page.wait_for_function(WORKING)
    page.keyboard.press("2")
    expect(page.get_by_role("heading", level=1)).to_contain_text("picture 2 of")
    draft = CampaignDraft.objects.get()
    assert [len(mark["known"]) for mark in draft.marks if mark["kind"] == q.BOX_DRAWING] == [1]
    page.goto(f"/campaign-drafts/{draft.pk}/votes/")
    good(page)
    page.get_by_role("button", name="Next").last.click()
    good(page)
    page.locator(".previews a").first.click()
    good(page)
    page.wait_for_function(WORKING)
    page.keyboard.press("1")
    expect(page.get_by_role("status")).to_contain_text("would now be stored")
    page.get_by_role("link", name="Check and open").last.click()
    good(page)
    expect(page.get_by_role("heading", name="Ready to open")).to_be_visible()
    page.get_by_role("button", name="Open the campaign").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    jobs.run_queued_job(Job.objects.get().pk)
    assert Campaign.objects.filter(state="open").count() == 1
    assert Control.objects.filter(source="page", purpose="qualification").count() >= 4
