"""The pages of a visit: sign in, browse, view details."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from annotation.common.operations import all_operations
from annotation.models import Account, Corpus
from annotation.web.common.request_forms import RequestForm
from tests.browser.conftest import Open, sign_in, sign_in_by_form
from tests.browser.looks import SCHEMES, fits, for_everybody

IMAGE = "/corpora/scenes/images/scene-1/"


def test_one_signs_in_and_finds_an_image(scenes: Corpus, open_page: Open):
    page = open_page(390)
    page.goto("/")
    expect(page).to_have_title("Sign in · Phrasebox")
    for_everybody(page)
    sign_in_by_form(page)
    for_everybody(page)
    page.get_by_role("link", name="Browse the images").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("scenes")
    for_everybody(page)
    page.get_by_label("Captions with").fill("NUMBER 1")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".count")).to_contain_text("1 of 3 images")
    for_everybody(page)
    page.locator(".tile").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("scene-1")
    expect(page.locator(".picture")).to_have_js_property("naturalWidth", 480)
    for_everybody(page)
    page.get_by_role("link", name=re.compile("two dogs")).click()
    for_everybody(page)
    page.get_by_role("link", name="campaign", exact=True).click()
    expect(page).to_have_url(re.compile(r"layer=campaign"))
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_title("Sign in · Phrasebox")


@pytest.mark.slow  # the default run has the same pages of all images
def test_a_page_of_chosen_images_and_a_chain_of_another_layer_fit(scenes: Corpus, open_page: Open):
    page = open_page()
    sign_in(page)
    for address in ("/corpora/scenes/?split=val&text=number", f"{IMAGE}?layer=campaign&chain=1"):
        page.goto(address)
        fits(page)


def test_who_may_not_browse_gets_a_page_for_everybody(scenes: Corpus, open_page: Open):
    page = open_page()
    sign_in(page, "ann", then="/corpora/scenes/")
    expect(page.get_by_role("heading", level=1)).to_have_text("This page is not for your account")
    for_everybody(page)


def test_an_address_that_is_none_gets_a_page_for_everybody(scenes: Corpus, open_page: Open):
    page = open_page()
    sign_in(page, then="/corpora/nothing/")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is nothing at this address")
    for_everybody(page)


def test_the_scheme_is_the_readers(scenes: Corpus, open_page: Open):
    page = open_page()
    page.goto("/sign-in/")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        parts = [int(part) for part in re.findall(r"\d+", ground)]
        assert (min(parts) > 200) if scheme == "light" else (max(parts) < 60)


def test_the_other_filters_are_one_tap_away_on_a_phone_and_in_sight_elsewhere(
    scenes: Corpus, open_page: Open
):
    page = open_page(390)
    sign_in(page, then="/corpora/scenes/")
    category = page.get_by_label("Mentions of")
    expect(category).to_be_hidden()
    page.get_by_text("More filters").click()
    category.select_option("animals")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"category=animals"))
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(category).to_be_visible()
    expect(page.get_by_text("More filters")).to_be_hidden()


def test_nothing_moves_for_those_who_want_no_motion(scenes: Corpus, open_page: Open):
    page = open_page(reduced_motion="reduce")
    sign_in(page, then=IMAGE)
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].filter(e =>"
        " getComputedStyle(e).transitionDuration.split(', ').some(d => parseFloat(d) > 0)).length"
    )
    assert moving == 0


def test_the_first_tab_skips_to_the_content(scenes: Corpus, open_page: Open):
    page = open_page()
    sign_in(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("main").get_by_role("link").first).to_be_focused()


def test_everything_but_the_lighting_works_without_scripts(scenes: Corpus, open_page: Open):
    page = open_page(java_script_enabled=False)
    sign_in_by_form(page)
    page.get_by_role("link", name="Browse the images").click()
    page.get_by_label("Split").select_option("val")
    page.get_by_role("button", name="Show").click()
    page.locator(".tile").click()
    page.get_by_role("link", name=re.compile("two dogs")).click()
    expect(page).to_have_url(re.compile(r"split=val&layer=import&chain=2$"))
    expect(page.locator(".box.is-lit")).to_have_count(2)
    page.goto(IMAGE)
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("scene-2")


def test_browsers_can_read_the_pattern_of_every_field(browser: Browser):
    forms = [RequestForm(operation, Account()) for operation in all_operations()]
    widgets = [field.widget for form in forms for field in form.fields.values()]
    patterns = sorted({widget.attrs["pattern"] for widget in widgets if "pattern" in widget.attrs})
    page = browser.new_page()
    # As defined by HTML; an invalid pattern checks nothing, without a message to the user.
    unread = "all => all.filter(each => { try { new RegExp(`^(?:${each})$`, 'v') } catch { return true } })"
    assert patterns and page.evaluate(unread, patterns) == []
    page.close()
