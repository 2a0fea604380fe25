"""A picture with ten tags to tick: with keys, mouse, finger, screen reader, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation import campaigns, instructions
from annotation.models import Campaign, Identity, Judgment, Worker
from annotation.protocol.paging import Pair
from annotation.task_types.tag_relevance.rules import TAG_RELEVANCE
from tests.browser.at_work import WORKING, answered, at, in_hand, moved_on, stored
from tests.browser.conftest import Open
from tests.browser.looks import for_everybody
from tests.factories import a_corpus, an_image
from tests.queue.world import TRUSTING
from tests.sizes import by_default
from tests.web import world

PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
TAGS = ("dog", "frisbee", "grass", "boy", "tree", "ball", "beach", "hat", "soccer field", "crowd")
TICKED = {"dog", "frisbee", "soccer field"}


@pytest.fixture
def work(transactional_db: None, tmp_path: Path) -> Campaign:
    """The open campaign `quay` about the tags of six pictures; the account `ann` works in it."""
    records = []
    for number in range(6):
        picture = tmp_path / f"i{number}.png"
        world.draw(picture, number)
        records.append(an_image(f"i{number}", *TAGS, layered=False, size=world.SIZE, picture=picture))
    a_corpus("quay", records)
    campaign = campaigns.create_campaign(
        name="quay", corpus="quay", tasks="tags", settings=dict(TRUSTING), open_to_all=True
    )
    pairs = [Pair(f"i{n}", f"i{n}#{k}") for n in range(6) for k in range(len(TAGS))]
    campaigns.open_pairs(campaign=campaign, pairs=pairs)
    campaigns.begin_campaign(campaign=campaign)
    instructions.publish_text(campaign=campaign, kind=instructions.CONSENT, text="")
    ann = Worker.objects.create(pseudonym="w-ann")
    Identity.objects.create(worker=ann, account=world.account("ann", "annotator"))
    return campaign


def opened(page: Page) -> None:
    at(page, TAG_RELEVANCE)
    page.wait_for_function(WORKING)
    page.evaluate("document.querySelector('.larger img').decode().then(() => null)")


def stored_tags() -> set[str]:
    """Return the tags that ann's stored answer ticks, as shown."""
    content = Judgment.objects.get(worker__pseudonym="w-ann").content
    assert content is not None
    (block,) = content["blocks"]
    assert len(block["yes"]) == len(TAGS)
    return {TAGS[index] for (_, index), yes in zip(block["captions"], block["yes"], strict=True) if yes}


def key_of(page: Page, tag: str) -> str:
    """Return the key shown beside a tag: the order of tags differs by worker."""
    return page.locator(".tick").filter(has_text=tag).locator("kbd").inner_text()


def by_keys(page: Page) -> None:
    keys = page.locator(".tick kbd").all_inner_texts()
    assert keys == list("1234567890")
    for tag in sorted(TICKED):
        page.keyboard.press(key_of(page, tag))
    error = key_of(page, "crowd")
    page.keyboard.press(error)
    page.keyboard.press(error)  # the same key undoes it
    page.keyboard.press("Enter")


def by_mouse(page: Page) -> None:
    for tag in sorted(TICKED):
        page.get_by_text(tag, exact=True).click()
    page.get_by_role("button", name="Send these tags").click()


def by_finger(page: Page) -> None:
    for tag in sorted(TICKED):
        row = page.locator(".tick").filter(has_text=tag)
        box = row.bounding_box()
        assert box is not None and box["height"] >= 44, "a finger hits it"
        row.tap()
    page.get_by_role("button", name="Send these tags").tap()


def by_ear(page: Page) -> None:
    """Use roles and names only, and the keys that a screen reader sends."""
    expect(page.get_by_role("heading", level=1, name="Which tags fit the picture?")).to_be_attached()
    group = page.get_by_role("group", name="The picture")
    expect(group.get_by_role("link", name="The picture, larger")).to_be_attached()
    boxes = group.get_by_role("checkbox")
    expect(boxes).to_have_count(len(TAGS))
    for tag in sorted(TICKED):
        box = group.get_by_role("checkbox", name=tag, exact=True)
        expect(box).not_to_be_checked()
        box.focus()
        page.keyboard.press("Space")
        expect(box).to_be_checked()
    send = page.get_by_role("button", name="Send these tags")
    send.focus()
    page.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("answer", "device"),
    by_default(2, [(by_finger, PHONE), (by_ear, {}), (by_keys, {}), (by_mouse, {})]),
    ids=["touch", "screen reader", "keys", "mouse"],
)
def test_tags_are_ticked_by_every_means(
    work: Campaign, open_page: Open, answer: Any, device: dict[str, Any]
) -> None:
    page = open_page(**device)
    opened(page)
    held = in_hand(page)
    # A page of one picture has no other next page than the next task.
    expect(page.get_by_role("button", name="Next")).to_be_hidden()
    answer(page)
    moved_on(page, held)
    answered(page, TAG_RELEVANCE, 1)
    assert stored_tags() == TICKED


def test_tags_are_ticked_without_scripts(work: Campaign, open_page: Open) -> None:
    page = open_page(java_script_enabled=False)
    at(page, TAG_RELEVANCE)
    for tag in sorted(TICKED):
        page.get_by_label(tag, exact=True).check()
    page.get_by_role("button", name="Send these tags").click()
    answered(page, TAG_RELEVANCE, 1)
    assert stored_tags() == TICKED


def test_nothing_ticked_is_sent_at_the_second_word(work: Campaign, open_page: Open) -> None:
    page = open_page()
    opened(page)
    held = in_hand(page)
    page.keyboard.press("Enter")
    alert = page.get_by_role("alert").filter(has_text="Nothing is ticked. If no tag fits, send again.")
    expect(alert).to_be_focused()
    assert in_hand(page) == held and stored(TAG_RELEVANCE) == []
    page.keyboard.press("Enter")
    moved_on(page, held)
    answered(page, TAG_RELEVANCE, 1)
    assert stored_tags() == set()


@pytest.mark.parametrize("width", by_default(1, [390, 1280]))
def test_the_page_is_for_everybody(work: Campaign, open_page: Open, width: int) -> None:
    page = open_page(width)
    opened(page)
    for_everybody(page)
    # Everything needed is visible at once.
    page.set_viewport_size({"width": width, "height": 844})
    expect(page.get_by_role("button", name="Send these tags")).to_be_in_viewport()
    for tag in TAGS:
        expect(page.get_by_text(tag, exact=True)).to_be_in_viewport()
