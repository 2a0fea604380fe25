"""Rules on the phrases of many images, and phrases that comments propose."""

import pytest

from annotation.protocol.phrase_rules import CATEGORISE, CUT, JOIN, REMOVE, PhraseRule, proposed_span
from annotation.protocol.terms import Mention

CAPTIONS = ["A man swings his golf club near a Golf club house .".split(), "The golf club shines .".split()]
MAN, HIS_CLUB = (
    Mention(0, 0, 2, ("A", "man"), ("people",)),
    Mention(0, 3, 6, ("his", "golf", "club"), ("scene",)),
)
HOUSE = Mention(0, 7, 11, ("a", "Golf", "club", "house"), ("scene",))
GOLF, CLUB = Mention(1, 0, 2, ("The", "golf"), ("other",)), Mention(1, 2, 3, ("club",), ("other",))
MENTIONS = (MAN, HIS_CLUB, HOUSE, GOLF, CLUB)


def mends(
    act: str, words: str, *categories: str, whole: bool = False
) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Return what a rule removes, and what it adds with which categories."""
    change = PhraseRule(act, tuple(words.split()), categories, whole).mends(CAPTIONS, MENTIONS)
    return ([], {}) if change is None else (list(change.removed), {m.id: m.categories for m in change.added})


def test_phrases_that_end_with_words_get_categories():
    assert mends(CATEGORISE, "Golf Club", "other") == ([], {"0:3-6": ("other",)})
    assert mends(CATEGORISE, "golf club", "scene") == ([], {}), "they have it"
    assert mends(CATEGORISE, "golf club", "other", whole=True) == ([], {})
    assert mends(CATEGORISE, "club", "scene") == ([], {"1:2-3": ("scene",)})


def test_phrases_are_removed():
    assert mends(REMOVE, "club") == (["0:3-6", "1:2-3"], {})
    assert mends(REMOVE, "club", whole=True) == (["1:2-3"], {})


def test_words_are_joined_with_the_phrases_that_they_are_part_of():
    assert mends(JOIN, "golf club") == (["1:0-2", "1:2-3"], {"1:0-3": ("scene",)})
    assert mends(JOIN, "man swings", "people") == (["0:0-2"], {"0:0-3": ("people",)})


def test_exactly_the_words_become_a_phrase():
    removed, added = mends(CUT, "golf club", "other")
    assert removed == ["0:3-6", "0:7-11", "1:0-2", "1:2-3"]
    assert added == {"0:4-6": ("other",), "0:8-10": ("other",), "1:1-3": ("other",)}


@pytest.mark.parametrize(
    ("comment", "span"),
    [
        ("“golf club” it is", (0, 4, 6)),
        ("the phrase should be: his golf club near a", (0, 3, 8)),
        ("swings his golf", (0, 2, 5)),
        ("his golf club", None),
        ("wrong", None),
        ("", None),
        ("A man", None),
    ],
)
def test_a_comment_proposes_the_longest_run_of_words_at_the_phrase(
    comment: str, span: tuple[int, int, int] | None
):
    assert proposed_span(CAPTIONS[0], HIS_CLUB.span, comment) == span
