"""The correct answers of practice and examples agree with gold; their scenes are those of the sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from PIL import Image, ImageChops, ImageStat

from annotation.protocol import kinds
from annotation.protocol import questions as q
from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.box_drawing.practice import GOOD_FIT
from annotation.task_types.practice import PRACTICE, PracticeItem, practice_scene
from annotation.task_types.practice.scenes import SCENE_IMAGES, SCENE_PICTURES, SCENES_FILE, picture_of
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.task_types.tag_relevance.rules import TAG_RELEVANCE

EVERY = [(kind, item) for kind in PRACTICE.keys() for item in PRACTICE.get(kind).items]
#: Maximum size of all pictures together, in kilobytes.
MOST = 300


def of(*kinds: str) -> pytest.MarkDecorator:
    """Parametrize with each item of these kinds."""
    return pytest.mark.parametrize("item", [item for kind in kinds for item in PRACTICE.get(kind).items])


def meant(item: PracticeItem) -> set[frozenset[Box]]:
    """Return the things that an item's phrases mean, each as its boxes."""
    return {frozenset(practice_scene(item.scene).boxes(mention)) for mention in item.mentions}


def missing(item: PracticeItem) -> list[Box]:
    """Return the gold boxes that an item does not show yet."""
    boxes = {Box(*corners) for corners in item.boxes}
    expected = practice_scene(item.scene).boxes(item.mentions[0])
    assert boxes <= set(expected)
    return [box for box in expected if box not in boxes]


def test_every_question_can_be_practised_and_has_a_good_and_a_bad_example():
    assert set(PRACTICE.keys()) == set(kinds.names())
    for kind in PRACTICE.keys():
        assert {example.good for example in PRACTICE.get(kind).examples} == {True, False}, kind
        assert len(PRACTICE.get(kind).items) >= 2


@pytest.mark.parametrize(("kind", "item"), EVERY)
def test_an_item_can_be_shown_and_says_why(kind: str, item: PracticeItem):
    page, image = PRACTICE.get(kind).posed(item)
    assert page.choices and str(item.why).endswith(".")
    assert (settings.BASE_DIR / "static" / image.picture).is_file()


@pytest.mark.parametrize("item", [example.item for practice in PRACTICE for example in practice.examples])
def test_an_example_marks_phrases_that_gold_knows(item: PracticeItem):
    assert all(practice_scene(item.scene).boxes(mention) is not None for mention in item.mentions)


@of(q.COREF_LINK, q.CHAIN_VERIFICATION)
def test_phrases_are_the_same_where_gold_says_so(item: PracticeItem):
    assert (len(meant(item)) == 1) == (item.right in ("yes", "true"))


@of(q.BOX_REQUIREMENT)
def test_what_has_boxes_in_gold_is_to_be_boxed(item: PracticeItem):
    assert bool(missing(item)) == (item.right == "box")


@of(q.BOX_DRAWING)
def test_a_box_is_to_be_drawn_where_gold_has_one_more(item: PracticeItem):
    assert bool(missing(item)) == (item.right == "drawn")


@of(q.BOX_QUALITY)
def test_a_box_is_good_where_it_fits_one_that_gold_has_and_nobody_has_drawn(item: PracticeItem):
    assert item.pending is not None
    fit = max(map(Box(*item.pending).iou, missing(item)))
    assert fit >= GOOD_FIT if item.right == "good" else fit < 0.5


@of(q.BOX_COVERAGE)
def test_boxes_are_complete_where_gold_has_no_other(item: PracticeItem):
    assert bool(missing(item)) == (item.right == "more")


@pytest.mark.parametrize(("kind", "item"), EVERY)
def test_practice_has_answers_of_either_sort(kind: str, item: PracticeItem):
    if item.right:
        assert item.right in q.answers_to(kind)
    rights = {item.right for item in PRACTICE.get(kind).items}
    assert len(rights) > 1 or kind in (RELEVANCE, TAG_RELEVANCE, REGION_DESCRIPTION)


@pytest.mark.parametrize(
    ("kind", "item"),
    [(k, i) for k, i in EVERY if i.right and k not in (q.BOX_DRAWING, RELEVANCE, TAG_RELEVANCE)],
)
def test_the_right_word_is_right_and_no_other(kind: str, item: PracticeItem):
    page, _image = PRACTICE.get(kind).posed(item)
    for choice in page.choices:
        assert PRACTICE.get(kind).judged(item, Answer(choice.value)).right is (choice.value == item.right)


def test_a_drawn_box_is_right_as_far_as_it_fits():
    item = PRACTICE.get(q.BOX_DRAWING).items[0]
    (gold,) = missing(item)
    exact = PRACTICE.get(q.BOX_DRAWING).judged(item, Answer("drawn", gold))
    assert exact.right and exact.overlap == 1 and exact.right_boxes == (gold,)
    wide = PRACTICE.get(q.BOX_DRAWING).judged(
        item, Answer("drawn", Box(gold.xmin - 30, gold.ymin - 30, gold.xmax, gold.ymax))
    )
    assert not wide.right and 0 < (wide.overlap or 0) < GOOD_FIT
    assert PRACTICE.get(q.BOX_DRAWING).judged(item, Answer("none")).right is False


def test_a_box_where_none_is_wanted_is_wrong_however_it_lies():
    item = PRACTICE.get(q.BOX_DRAWING).items[-1]
    verdict = PRACTICE.get(q.BOX_DRAWING).judged(item, Answer("drawn", Box(*item.boxes[0])))
    assert verdict.right is False and verdict.overlap is None
    assert PRACTICE.get(q.BOX_DRAWING).judged(item, Answer("none")).right is True


def test_a_page_is_right_where_every_tick_is():
    item = PRACTICE.get(RELEVANCE).items[0]
    ticked = [[fits for _text, fits in sentences] for _name, sentences in item.blocks]
    assert PRACTICE.get(RELEVANCE).judged(item, Answer("judged", content={"ticked": ticked})).right
    ticked[1][0] = not ticked[1][0]
    verdict = PRACTICE.get(RELEVANCE).judged(item, Answer("judged", content={"ticked": ticked}))
    assert not verdict.right and verdict.wrong_ticks == ((1, 0),)


@pytest.mark.parametrize("ticked", [[], [[True]], [[False] * 9] * 9])
def test_a_page_of_another_shape_is_wrong_and_breaks_nothing(ticked: list[list[bool]]):
    assert (
        not PRACTICE.get(RELEVANCE)
        .judged(PRACTICE.get(RELEVANCE).items[0], Answer("judged", content={"ticked": ticked}))
        .right
    )


def test_what_nobody_can_grade_gets_no_verdict():
    item = PRACTICE.get(REGION_DESCRIPTION).items[0]
    assert PRACTICE.get(REGION_DESCRIPTION).judged(item, Answer("described")).right is None


def test_the_scenes_are_made_again_from_the_sample_corpus(tmp_path: Path):
    call_command(
        "make_examples", pictures=tmp_path, told=tmp_path / "scenes.json", stdout=open(tmp_path / "said", "w")
    )
    again = "run manage.py make_examples, look at the pictures, and commit them"
    assert json.loads((tmp_path / "scenes.json").read_text()) == json.loads(SCENES_FILE.read_text()), again
    for name in SCENE_IMAGES:
        stored = Image.open(settings.BASE_DIR / "static" / picture_of(name)).convert("RGB")
        created = Image.open(tmp_path / f"{name}.webp").convert("RGB")
        assert stored.size == created.size
        # Another release of the encoder may give slightly different pixels.
        assert max(ImageStat.Stat(ImageChops.difference(stored, created)).mean) < 2, again


def test_the_pictures_are_small_and_all_are_used():
    files = list((settings.BASE_DIR / "static" / SCENE_PICTURES).iterdir())
    assert {file.stem for file in files} == set(SCENE_IMAGES)
    assert sum(file.stat().st_size for file in files) < MOST * 1000
    displayed = {item.scene for _kind, item in EVERY} | {
        name for item in PRACTICE.get(RELEVANCE).items for name, _s in item.blocks
    }
    assert displayed == set(SCENE_IMAGES)


def test_every_kind_with_items_is_a_task_type():
    assert all(TASK_TYPES.get(kind).key == kind for kind in PRACTICE.keys())
