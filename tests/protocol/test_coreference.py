"""Lanes, candidates and the sets into which a refused chain is split."""

import pytest

from annotation.protocol.coreference import candidates, lanes, split_by_head
from annotation.protocol.likeness import Likeness
from tests.protocol.build import mentions


def texts(groups):
    return [[m.text for m in group] for group in groups]


def test_lanes_are_joined_by_any_shared_category_in_caption_order():
    image = mentions("a man/people, his arm/bodyparts/people", "a hand/bodyparts, a tree/other")
    assert texts(lanes(image)) == [["a man", "his arm", "a hand"], ["a tree"]]
    assert texts(lanes(image, [("0:0-2", "1:3-5")])) == [["a man", "his arm", "a hand", "a tree"]]


def test_candidates_go_by_head_then_words_then_size_then_age():
    image = mentions(
        "a tall man/people, a boy/people, a girl/people, a kid/people",
        "a girl in/people",
        "a tall boy/people",
    )
    tall_man, boy, girl, kid, more_girl, new = image
    chains = [[tall_man], [boy], [kid], [girl, more_girl]]
    ranked = candidates(new, chains, order="likely_first", likeness=Likeness(image))
    assert [(i, displayed.text) for i, displayed in ranked] == [
        (1, "a boy"),
        (0, "a tall man"),
        (3, "a girl"),
        (2, "a kid"),
    ]
    printed = candidates(new, chains, order="as_printed", likeness=Likeness(image))
    assert [i for i, _ in printed] == [0, 1, 2, 3]


def test_the_mention_shown_for_a_chain_is_the_one_most_like_the_new_one():
    image = mentions("a person/people", "a bearded man/people", "the man/people")
    ((_, candidate),) = candidates(image[2], [image[:2]], order="likely_first", likeness=Likeness(image))
    assert candidate.text == "a bearded man"


def test_an_unknown_order_lists_the_known_ones():
    with pytest.raises(ValueError, match="likely_first, as_printed"):
        candidates(mentions("a man/people")[0], [], order="by_luck", likeness=Likeness([]))


def test_heads_are_compared_without_case_and_a_single_head_does_not_split():
    image = mentions("a Man/people", "the man/people", "a guy/people")
    assert texts(split_by_head(image)) == [["a Man", "the man"], ["a guy"]]
    assert split_by_head(image[:2]) is None
    assert split_by_head(image, [("0:0-2", "2:0-2")]) is None
