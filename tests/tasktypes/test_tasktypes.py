"""Task types: what they show of a question, which answers they accept, and that each has its template."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.checks import task_types
from annotation.protocol import questions as q
from annotation.protocol.terms import Box
from annotation.task_types.base import TASK_TYPES, BadAnswer, Choice, answer_in
from annotation.task_types.displayed import DisplayedCaption, DisplayedImage
from models_core.checked_fields import value_rule

TEXTS = ("A man in a hat .", "A tall man in blue waits .", "Somebody waits .")
IMAGE = DisplayedImage(1, "7", 100, 80, "", tuple(DisplayedCaption(t, tuple(t.split())) for t in TEXTS))
MENTIONS = ["0:0-2", "1:0-3", "2:0-1"]


def content(*mentions: str, boxes: Any = (), pending: Any = None) -> dict[str, Any]:
    return {"mentions": list(mentions), "boxes": [list(box) for box in boxes], "pending": pending}


def test_every_question_of_the_chain_has_its_type():
    assert set(TASK_TYPES.keys()) >= set(q.QUESTIONS)
    assert task_types(None) == []


@pytest.mark.parametrize("kind", q.QUESTIONS)
def test_the_choices_are_the_protocols_answers(kind: str):
    type = TASK_TYPES.get(kind)
    for boxes in ((), ((1, 1, 9, 9),)):
        page = type.page(content(*MENTIONS, boxes=boxes), IMAGE)
        assert {choice.value for choice in page.choices} == set(q.ANSWERS[kind])
        assert all(isinstance(choice, Choice) and str(choice.label) for choice in page.choices)


def test_a_link_numbers_its_two_phrases_in_caption_order():
    page = TASK_TYPES.get(q.COREF_LINK).page(content("1:0-3", "0:0-2"), IMAGE)
    assert [(p.mention.text, p.number, p.hue) for p in page.pointed] == [
        ("A man", 1, 1),
        ("A tall man", 2, 2),
    ]
    assert page.captions == (0, 1)


def test_a_verification_numbers_all_phrases_in_one_colour():
    page = TASK_TYPES.get(q.CHAIN_VERIFICATION).page(content(*MENTIONS), IMAGE)
    assert [(p.number, p.hue) for p in page.pointed] == [(1, 1), (2, 1), (3, 1)]
    assert page.captions == (0, 1, 2)


@pytest.mark.parametrize("kind", [q.BOX_REQUIREMENT, q.BOX_DRAWING, q.BOX_QUALITY, q.BOX_COVERAGE])
def test_a_box_question_shows_the_longest_phrase_of_the_chain_alone(kind: str):
    page = TASK_TYPES.get(kind).page(content(*MENTIONS, boxes=[(1, 1, 9, 9)], pending=[2, 2, 8, 8]), IMAGE)
    assert [p.mention.text for p in page.pointed] == ["A tall man"]
    assert page.captions == (1,)
    assert (page.boxes, page.pending) == ((Box(1, 1, 9, 9),), Box(2, 2, 8, 8))


def test_where_boxes_are_there_none_means_no_further():
    type = TASK_TYPES.get(q.BOX_DRAWING)
    assert [str(c.label) for c in type.choices_for(content("0:0-2"))] == ["Send this box", "No box"]
    more = content("0:0-2", boxes=[(1, 1, 9, 9)])
    assert str(type.choices_for(more)[1].label) == "No further box"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("answer", "box", "way", "flag", "comment")


@given(
    kind=st.sampled_from(q.QUESTIONS),
    data=st.fixed_dictionaries(
        {},
        optional={
            field: JUNK
            | st.sampled_from(["drawn", "yes", "chunk_wrong", "drag", ""])
            | st.lists(st.integers(-2, 200), min_size=4, max_size=4)
            for field in FIELDS
        },
    ),
)
def test_whatever_comes_is_an_answer_the_protocol_takes_or_names_its_field(kind: str, data: dict[str, Any]):
    try:
        answer = TASK_TYPES.get(kind).parse(data)
    except BadAnswer as error:
        assert error.field in FIELDS and str(error)
        return
    q.check_judgment(q.Judgment("1", f"{kind}|", "w", answer.answer, answer.box, answer.flag))


@given(edges=st.lists(st.integers(-2, 120), min_size=4, max_size=4))
def test_a_form_gives_the_box_that_was_typed_or_says_why_not(edges: list[int]):
    type = TASK_TYPES.get(q.BOX_DRAWING)
    form = dict(zip(("xmin", "ymin", "xmax", "ymax"), map(str, edges), strict=True)) | {"answer": "drawn"}
    try:
        answer = type.parse(type.from_form(form))
    except BadAnswer as error:
        assert error.field == "box"
        xmin, ymin, xmax, ymax = edges
        assert min(edges) < 1 or xmax - xmin < 3 or ymax - ymin < 3
        return
    assert answer.box == Box(*edges)


@pytest.mark.parametrize("way", ["", *q.DRAWING_WAYS])
def test_a_box_says_in_which_way_it_came_about(way: str):
    type = TASK_TYPES.get(q.BOX_DRAWING)
    edges = {"xmin": "3", "ymin": "4", "xmax": "50", "ymax": "60"}
    assert type.parse(type.from_form({"answer": "drawn", "way": way, **edges})).way == way
    assert type.parse({"answer": "drawn", "way": way, "box": [3, 4, 50, 60]}).way == way
    assert way in value_rule(type.answer_fields["way"]).choices


def test_a_way_that_is_none_is_refused_of_a_program_and_costs_no_page_its_box():
    type = TASK_TYPES.get(q.BOX_DRAWING)
    edges = {"xmin": "3", "ymin": "4", "xmax": "50", "ymax": "60"}
    assert type.parse(type.from_form({"answer": "drawn", "way": "polygon", **edges})) == q.Answer(
        "drawn", Box(3, 4, 50, 60)
    )
    with pytest.raises(BadAnswer, match="expected one of drag, extreme, keys, fields") as error:
        type.parse({"answer": "drawn", "way": "polygon", "box": [3, 4, 50, 60]})
    assert error.value.field == "way"
    with pytest.raises(BadAnswer, match="with a box"):
        type.parse({"answer": "none", "way": "drag"})
    assert type.parse(type.from_form({"answer": "none", "way": "drag", **edges})).way == ""


def test_a_box_with_any_other_answer_is_refused():
    with pytest.raises(BadAnswer, match="cannot have a box"):
        TASK_TYPES.get(q.BOX_DRAWING).parse({"answer": "none", "box": [1, 1, 9, 9]})


def test_a_comment_is_cut_of_white_space_only():
    answer = answer_in({"flag": "offensive", "comment": "  two\nlines  "})
    assert (answer.flag, answer.comment) == ("offensive", "two\nlines")
