"""A drawn sample is judged by keys alone."""

from __future__ import annotations

from playwright.sync_api import expect

from annotation.models import Corpus, SampledMention
from tests.browser.conftest import Open, sign_in
from tests.browser.looks import for_everybody


def test_a_sample_is_judged_by_keys(scenes: Corpus, open_page: Open):
    page = open_page()
    sign_in(page, "ada", then="/corpora/scenes/errors/")
    page.get_by_label("Layer").select_option("import")
    page.get_by_label("Mentions").fill("3")
    page.get_by_role("button", name="Draw a sample").click()
    page.get_by_role("link", name="Continue").click()
    for number, key in enumerate("2e1", start=1):
        expect(page.get_by_text(f"{number} of 3")).to_be_visible()
        if number == 1:
            for_everybody(page)
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    expect(page.get_by_text("3 of 3 mentions are judged.")).to_be_visible()
    for_everybody(page)
    verdicts = SampledMention.objects.order_by("position").values_list("chunk", "chain")
    assert list(verdicts) == [("span", "right"), ("right", "split"), ("right", "right")]
