"""Every kind of question practised with the keyboard only, the mouse only, and touch."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Campaign
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import all_tasks, kinds_of_tasks
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.practice import PRACTICE, PracticeItem, practice_scene
from annotation.task_types.practice.scenes import Corners
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from tests.browser.box_editor import EDGES, Fingers, Point
from tests.browser.conftest import Open, sign_in
from tests.browser.test_practice import drag, gold, ready
from tests.factories import a_corpus, an_image
from tests.sizes import THOROUGH
from tests.web import world

SENTENCE = "A boy throws a frisbee for his dog."
#: The practised items: every kind's first item, and the first that asks for a sentence.
TO_WRITE = next(n for n, item in enumerate(PRACTICE.get(CAPTION_WRITING).items, 1) if item.models)
WALKED = [
    *((tasks, kind, 1) for tasks in all_tasks() for kind in kinds_of_tasks(tasks)),
    (
        "captions",
        CAPTION_WRITING,
        TO_WRITE,
    ),
]


class Hands(ABC):
    """A way of answering; `item` is the shown item. Points are in the pixels of its picture."""

    page_options: dict[str, Any] = {}

    def __init__(self, page: Page) -> None:
        self.page = page

    def at(self, item: PracticeItem, index: Point) -> Point:
        """Return the position in the window of a point of the picture."""
        frame, image = self.page.locator("[data-frame]").bounding_box(), practice_scene(item.scene).image
        assert frame and image.width and image.height
        return (
            frame["x"] + index[0] * frame["width"] / image.width,
            frame["y"] + index[1] * frame["height"] / image.height,
        )

    @abstractmethod
    def press(self, button: Locator) -> None:
        """Use a button."""

    @abstractmethod
    def draw(self, item: PracticeItem, corners: Corners) -> None:
        """Draw a box, or a region, with these corners."""

    def tick(self, sentences: Sequence[tuple[str, bool]]) -> None:
        for text, fits in sentences:
            if fits:
                self.press(self.page.get_by_text(text, exact=True))

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)


#: Whether the focus is on what folds a field away.
FOLDED_HERE = "field => field.closest('details:not([open])')?.contains(document.activeElement)"


class Keys(Hands):
    """No pointer: single keys, Tab, Enter."""

    def press(self, button: Locator) -> None:
        key = button.get_attribute("data-key") or "Enter"
        self.page.keyboard.press(key.capitalize() if len(key) > 1 else key)

    def draw(self, item: PracticeItem, corners: Corners) -> None:
        if self.page.locator("[data-regions]").count():
            # Further than the existing ones: no two regions may be equal.
            for _ in range(1 + self.page.locator(".border").count()):
                self.page.keyboard.press("ArrowRight")
            self.page.keyboard.press("Enter")
            return
        first = self.page.get_by_label(EDGES[0], exact=True)
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if first.evaluate(FOLDED_HERE):
                self.page.keyboard.press("Enter")  # the number fields are folded away
            if first.evaluate("field => field === document.activeElement"):
                break
        for edge in corners:
            self.page.keyboard.type(str(edge))
            self.page.keyboard.press("Tab")

    def tick(self, sentences: Sequence[tuple[str, bool]]) -> None:
        for number, (_text, fits) in enumerate(sentences, 1):
            if fits:
                self.page.keyboard.press(str(number))


class Mouse(Hands):
    """Clicks and drags; words are typed after a click."""

    def press(self, button: Locator) -> None:
        button.click()

    def draw(self, item: PracticeItem, corners: Corners) -> None:
        xmin, ymin, xmax, ymax = corners
        drag(self.page, item, (xmin - 1, ymin - 1, xmax, ymax))

    def write(self, text: str) -> None:
        if self.page.locator(".writing").count():
            self.page.get_by_label("Your sentence").click()
        super().write(text)


class Touch(Hands):
    """A finger on a phone."""

    page_options = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}

    def press(self, button: Locator) -> None:
        button.tap()

    def draw(self, item: PracticeItem, corners: Corners) -> None:
        xmin, ymin, xmax, ymax = corners
        fingers = Fingers(self.page)
        fingers.down(self.at(item, (xmin - 1, ymin - 1)))
        for share in (0.5, 1.0):
            index = (xmin - 1 + (xmax - xmin + 1) * share, ymin - 1 + (ymax - ymin + 1) * share)
            fingers.move(self.at(item, index))
            # A fast release flings.
            self.page.wait_for_timeout(100)
        fingers.up()

    def write(self, text: str) -> None:
        if self.page.locator(".writing").count():
            self.page.get_by_label("Your sentence").tap()
        self.page.keyboard.insert_text(text)


def answer(hands: Hands, kind: str, item: PracticeItem) -> None:
    """Answer the shown item correctly."""
    page = hands.page
    if kind == q.BOX_DRAWING:
        expect(page.locator("[data-frame].is-drawn-on")).to_be_visible()
        hands.draw(item, gold(item))
    elif kind == REGION_DESCRIPTION:
        expect(page.locator("[data-frame].is-drawn-on")).to_be_visible()
        for number, (corners, words) in enumerate(item.regions, 1):
            hands.draw(item, corners)
            expect(page.get_by_label(f"Region {number}: what it shows")).to_be_focused()
            hands.write(words)
            if isinstance(hands, Keys):
                page.keyboard.press("Enter")
    elif item.blocks:
        onward = page.locator("[data-step='1']")
        for index, (_name, sentences) in enumerate(item.blocks):
            expect(page.locator(".block").nth(index)).to_have_class(re.compile("is-in-hand"))
            hands.tick(sentences)
            if index < len(item.blocks) - 1:
                hands.press(onward)
    elif item.models:
        hands.write(SENTENCE)
    hands.press(page.locator(f".choice[value='{item.right or q.answers_to(kind)[0]}']"))


@pytest.fixture
def campaigns(transactional_db: None) -> None:
    """A campaign of each sort, named after it, in which ann may practise."""
    corpus = a_corpus("all", [an_image("one", "A dog runs .", layered=False)])
    for tasks in all_tasks():
        reference = settings_of({}).as_dict()
        Campaign.objects.create(
            name=tasks, corpus=corpus, tasks=tasks, settings=reference, state=Campaign.OPEN, open_to_all=True
        )
    world.account("ann", "annotator")


WAYS: list[type[Hands]] = [Keys, Mouse, Touch]


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_is_practised(way: type[Hands], campaigns: None, open_page: Open):
    """By one of the ways, which take turns; in a thorough run by each of them."""
    page = open_page(**way.page_options)
    sign_in(page, "ann")
    hands = way(page)
    for tasks, kind, number in WALKED if THOROUGH else WALKED[WAYS.index(way) :: len(WAYS)]:
        item = PRACTICE.get(kind).items[number - 1]
        page.goto(f"/tasks/{tasks}/{kind}/practice/?n={number}")
        ready(page)
        answer(hands, kind, item)
        verdict = page.locator(".verdict h2")
        expect(verdict, f"{kind} {number}").to_be_focused()
        expect(verdict).to_have_text("Correct" if item.right else "A good answer")
        ready(page)
        hands.press(page.locator(".verdict .go"))
        expect(page.get_by_text(f"Practice, {number + 1} of {len(PRACTICE.get(kind).items)}")).to_be_visible()
