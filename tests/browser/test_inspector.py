"""The image inspector with mouse, keyboard and finger."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from annotation.datasets.importing import import_records
from annotation.models import Corpus
from annotation.protocol.terms import Box, CaptionRecord, Chain, ImageRecord, LayerObject, LayerRecord
from tests.browser.conftest import Open, sign_in
from tests.sizes import by_default
from tests.web import world

IMAGE = "/corpora/scenes/images/scene-1/"


def lit(page: Page) -> str | None:
    return page.locator("[data-light]").get_attribute("data-lit")


def row(page: Page, number: int) -> Locator:
    return page.locator(f"a.chain[data-chains='{number}']")


def assert_only_lit(page: Page, number: int) -> None:
    """Check that chain `number` is highlighted in picture, captions and list, and nothing else."""
    parts = page.locator("[data-light] [data-chains]").evaluate_all(
        "parts => parts.map(p => [p.dataset.chains, p.classList.contains('is-lit')])"
    )
    assert parts
    for chains, is_lit in parts:
        assert is_lit == (str(number) in chains.split()), chains


@pytest.fixture
def inspector(scenes: Corpus, open_page: Open) -> Page:
    page = open_page()
    sign_in(page, then=IMAGE)
    return page


def test_pointing_at_a_chain_lights_its_boxes_and_mentions(inspector: Page):
    row(inspector, 2).hover()
    assert_only_lit(inspector, 2)
    expect(inspector.locator(".box[data-chains='1 4']")).to_have_css("opacity", "0.18")
    expect(inspector.locator(".box[data-chains='2']").first).to_have_css("opacity", "1")
    expect(inspector.locator(".shade")).to_have_css("opacity", "0.5")
    inspector.mouse.move(2, 2)
    assert lit(inspector) is None
    expect(inspector.locator(".shade")).to_have_css("opacity", "0")


def test_pointing_at_a_mention_or_a_box_lights_its_chain(inspector: Page):
    inspector.locator("mark", has_text="dogs").first.hover()
    assert_only_lit(inspector, 2)
    inspector.locator("mark", has_text="the background").hover()
    assert lit(inspector) is None
    inspector.locator(".box[data-chains='2'] .casing").first.hover()
    assert_only_lit(inspector, 2)
    inspector.locator(".box[data-chains='1 4'] .casing").hover()
    assert lit(inspector) == "1 4"


def test_a_scene_without_box_does_not_darken_the_picture(inspector: Page):
    row(inspector, 3).hover()
    assert_only_lit(inspector, 3)
    expect(inspector.locator(".shade")).to_have_css("opacity", "0")


def test_a_click_keeps_a_chain_lit_and_the_address_says_so(inspector: Page):
    row(inspector, 2).click()
    inspector.mouse.move(2, 2)
    assert_only_lit(inspector, 2)
    expect(inspector).to_have_url(re.compile(r"\?chain=2$"))
    expect(row(inspector, 2)).to_have_attribute("aria-current", "true")
    inspector.reload()
    assert_only_lit(inspector, 2)
    row(inspector, 2).click()
    inspector.mouse.move(2, 2)
    assert lit(inspector) is None
    expect(inspector).to_have_url(re.compile(r"scene-1/$"))


def test_clicks_on_a_shared_box_go_through_its_chains(inspector: Page):
    shared = inspector.locator(".box[data-chains='1 4'] .casing")
    for expected in ("1", "4", None):
        shared.click()
        inspector.mouse.move(2, 2)
        assert lit(inspector) == expected


def test_the_keyboard_alone_lights_keeps_and_lets_go(inspector: Page):
    inspector.locator("#boxes").focus()
    for number in (1, 2):
        inspector.keyboard.press("Tab")
        expect(row(inspector, number)).to_be_focused()
        assert_only_lit(inspector, number)
    inspector.keyboard.press("Enter")
    inspector.keyboard.press("Tab")
    assert_only_lit(inspector, 3)
    inspector.keyboard.press("Shift+Tab")
    inspector.keyboard.press("Shift+Tab")
    inspector.keyboard.press("Shift+Tab")
    expect(inspector.locator("#boxes")).to_be_focused()
    assert_only_lit(inspector, 2)
    inspector.keyboard.press("Escape")
    assert lit(inspector) is None


def test_arrows_go_to_the_other_images_but_not_out_of_a_field(inspector: Page):
    inspector.keyboard.press("ArrowRight")
    expect(inspector.get_by_role("heading", level=1)).to_have_text("scene-2")
    inspector.wait_for_load_state("load")  # only then its script works
    inspector.keyboard.press("ArrowRight")
    inspector.keyboard.press("ArrowLeft")
    expect(inspector.get_by_role("heading", level=1)).to_have_text("scene-1")
    inspector.wait_for_load_state("load")
    inspector.locator("#boxes").focus()
    inspector.keyboard.press("ArrowRight")
    expect(inspector.get_by_role("heading", level=1)).to_have_text("scene-1")


def test_a_tap_keeps_a_chain_lit_and_the_picture_stays_in_sight(scenes: Corpus, open_page: Open):
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    sign_in(page, then=IMAGE)
    last = row(page, 5)
    last.scroll_into_view_if_needed()
    last.tap()
    assert_only_lit(page, 5)
    assert page.locator(".box.is-lit").evaluate("b => b.getBoundingClientRect().top") >= 0
    page.locator(".box[data-chains='2'] .casing").first.tap()
    assert_only_lit(page, 2)


def test_boxes_can_be_taken_off(inspector: Page):
    inspector.get_by_label("Show boxes").uncheck()
    expect(inspector.locator(".overlay")).to_be_hidden()
    inspector.get_by_label("Show boxes").check()
    expect(inspector.locator(".overlay")).to_be_visible()


@pytest.mark.parametrize(("wide", "high"), by_default(1, [(480, 160), (160, 480), (300, 300)]))
def test_boxes_lie_on_the_picture_whatever_its_shape(
    transactional_db: None, open_page: Open, tmp_path: Path, wide: int, high: int
):
    world.account("ada", "researcher")
    corner_of_a_picture(tmp_path / "shape.png", (wide, high))
    page = open_page()
    sign_in(page, then="/corpora/shapes/images/shape/")
    for width, height in ((320, 640), (1280, 800), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        visible, drawn = (measured(page.locator(part)) for part in (".picture", ".outline"))
        assert visible["width"] / visible["height"] == pytest.approx(wide / high, rel=0.01)
        assert visible["height"] <= height
        stroke = 3
        assert drawn["x"] == pytest.approx(visible["x"] + visible["width"] / 2, abs=stroke)
        assert drawn["y"] == pytest.approx(visible["y"] + visible["height"] / 2, abs=stroke)
        assert drawn["width"] == pytest.approx(visible["width"] / 2, abs=stroke)
        assert drawn["height"] == pytest.approx(visible["height"] / 2, abs=stroke)


def measured(part: Locator) -> FloatRect:
    bounds = part.bounding_box()
    assert bounds is not None
    return bounds


def corner_of_a_picture(picture: Path, shape: tuple[int, int]) -> None:
    """Import the corpus `shapes`: one image of that shape, its lower right quarter in a box."""
    world.Pillow.new("RGB", shape, "#888").save(picture)
    mention = world.mention(0, "a corner", "a corner", "other")
    quarter = Box(shape[0] // 2 + 1, shape[1] // 2 + 1, *shape)
    record = ImageRecord(
        id="shape",
        filename=picture.name,
        captions=(CaptionRecord("a corner"),),
        picture=picture,
        width=shape[0],
        height=shape[1],
        layer=LayerRecord((Chain("1", (mention,)),), (LayerObject(("1",), quarter),)),
    )
    import_records(name="shapes", records=[record], format="jsonl", source="tests")
