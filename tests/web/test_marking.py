"""Captions split at their mentions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Caption, Mention
from annotation.web.common.marking import MarkedCaption, laid_out, mark_words
from annotation.web.common.overlay import hue, letters


def caption(text: str, tokens: str = "") -> Caption:
    return Caption(number=0, text=text, tokens=tokens)


def mention(start: int, end: int, chain: int | None = 7) -> Mention:
    return Mention(start=start, end=end, categories="people/other", chain_id=chain)


def in_brackets(marked: MarkedCaption) -> list[str]:
    return [f"[{p.number} {p.text}]{p.tail}" if p.mention else p.text for p in marked.pieces]


def test_words_between_mentions_keep_their_spaces():
    marked = mark_words(caption("A man sees a dog ."), [mention(3, 5, 8), mention(0, 2)], {7: 1, 8: 2})
    assert in_brackets(marked) == ["[1 A man]", " sees ", "[2 a dog] ."]
    assert marked.pieces[0].categories == "people, other"


def test_punctuation_stays_with_the_mention_before_it():
    marked = mark_words(
        caption("a dog , a cat , 2 .5"), [mention(0, 2), mention(3, 5), mention(6, 7)], {7: 1}
    )
    assert [(piece.text, piece.tail) for piece in marked.pieces] == [
        ("a dog", " ,"),
        (" ", ""),
        ("a cat", " ,"),
        (" ", ""),
        ("2", ""),
        (" .5", ""),
    ]


def test_a_mention_without_chain_has_no_number():
    assert in_brackets(mark_words(caption("it rains"), [mention(0, 1, None)], {})) == ["[0 it]", " rains"]


def test_words_cut_otherwise_than_at_spaces_are_found_in_the_text_as_written():
    marked = mark_words(
        caption("A man, smiling.", "A man , smiling ."), [mention(0, 2), mention(3, 4)], {7: 1}
    )
    assert in_brackets(marked) == ["[1 A man],", " ", "[1 smiling]."]


def test_words_that_are_not_in_the_text_are_shown_themselves():
    marked = mark_words(caption("“Hi” he said", '`` Hi " he said'), [mention(0, 3)], {7: 1})
    assert in_brackets(marked) == ['[1 `` Hi "]', " he said"]


def test_mentions_that_overlap_a_marked_one_stand_beside_the_caption():
    marked = mark_words(caption("a man in a hat"), [mention(0, 2), mention(0, 5), mention(4, 5)], {7: 1})
    assert in_brackets(marked) == ["[1 a man in a hat]"]
    assert [piece.text for piece in marked.beside] == ["a man", "hat"]


def test_a_mention_past_the_end_of_its_caption_is_left_out():
    assert in_brackets(mark_words(caption("a man"), [mention(1, 3)], {7: 1})) == ["a man"]


@given(
    words=st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=8),
    spans=st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=6),
)
def test_no_word_and_no_mention_is_lost(words: list[str], spans: list[tuple[int, int]]):
    text = " ".join(words)
    mentions = [mention(start, start + length) for start, length in spans if start + length <= len(words)]
    marked = mark_words(caption(text), mentions, {7: 1})
    assert "".join(piece.text + piece.tail for piece in marked.pieces) == text
    visible = [piece.mention for piece in marked.pieces if piece.mention] + [p.mention for p in marked.beside]
    assert sorted(map(id, visible)) == sorted(map(id, mentions))
    for piece in marked.pieces + marked.beside:
        if piece.mention:
            assert piece.text.split() == words[piece.mention.start : piece.mention.end]


def test_repeated_words_are_found_one_after_the_other():
    assert laid_out(caption("a a aa a"))[1] == [(0, 1), (2, 3), (4, 6), (7, 8)]


@pytest.mark.parametrize(
    ("index", "name"), [(0, "a"), (25, "z"), (26, "aa"), (27, "ab"), (701, "zz"), (702, "aaa")]
)
def test_boxes_are_lettered_past_the_alphabet(index: int, name: str):
    assert letters(index) == name


def test_colours_come_round_after_eight():
    assert [hue(number) for number in (1, 8, 9, 17)] == [1, 8, 1, 1]
