"""Captions on task pages: phrases by letters, long ones clipped around them, and how much is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.protocol.terms import Mention
from annotation.queue import available_tasks
from annotation.task_types.base import Pointed
from annotation.task_types.displayed import DisplayedCaption
from annotation.web.annotator.task_page import CONTEXT, LONG_CAPTION, clipped
from annotation.web.annotator.task_words import left_in_words
from annotation.web.common.marking import CaptionPiece, caption_pieces
from tests.web import desk
from tests.web.desk import text_of

WORDS = [f"word{n}" for n in range(60)]
LONG = DisplayedCaption(" ".join(WORDS), tuple(WORDS))


def pieces(*spans: tuple[int, int], caption: DisplayedCaption = LONG) -> list[CaptionPiece]:
    marked = [
        Pointed(Mention(0, start, end, caption.words[start:end], ()), number, number)
        for number, (start, end) in enumerate(spans, 1)
    ]
    return clipped(caption_pieces(caption, marked))


@pytest.mark.parametrize(
    "spans", [((30, 32),), ((0, 2),), ((58, 60),), ((3, 4), (50, 52)), ((10, 12), (14, 15))]
)
def test_a_long_caption_is_clipped_around_its_phrases_and_loses_nothing(spans: tuple[tuple[int, int], ...]):
    result = pieces(*spans)
    assert "".join(piece.text for piece in result) == LONG.text
    hidden = [piece.text for piece in result if piece.cut]
    assert hidden and all(not piece.number for piece in result if piece.cut)
    visible = sum(len(piece.text) for piece in result if not piece.cut)
    assert visible <= len(spans) * (2 * CONTEXT + 20) < len(LONG.text)
    # Words are complete, on both sides of a cut.
    assert all(set(text.split()) <= set(WORDS) for text in hidden)
    assert all(set(piece.text.split()) <= set(WORDS) for piece in result if not piece.cut)


def test_what_is_beside_a_phrase_is_shown_and_what_is_far_is_not():
    result = pieces((30, 32))
    text = " ".join(piece.text for piece in result if not piece.cut)
    assert "word29" in text and "word33" in text and "word1 " not in text and "word59" not in text


def test_a_caption_of_usual_length_is_left_as_it_is():
    words = tuple(WORDS[:25])
    caption = DisplayedCaption(" ".join(words), words)
    assert len(caption.text) < LONG_CAPTION
    assert not any(piece.cut for piece in pieces((3, 4), caption=caption))


def test_phrases_are_called_by_letters():
    assert [piece.name for piece in pieces((3, 4), (50, 52)) if piece.number] == ["A", "B"]
    assert CaptionPiece("x", 27).name == "AA" and CaptionPiece("x").name == ""


@pytest.mark.django_db
def test_a_long_caption_can_be_unfolded_and_is_all_there_for_screen_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("annotation.web.annotator.task_page.LONG_CAPTION", 10)
    monkeypatch.setattr("annotation.web.annotator.task_page.CONTEXT", 4)
    monkeypatch.setattr("annotation.web.annotator.task_page.WORTH_HIDING", 4)
    work = desk.campaign(tmp_path / "drawn")
    page = desk.at_work(work).get(desk.address())
    text = page.content.decode()
    assert 'class="clipped"' in text and 'data-unclip aria-expanded="false"' in text
    assert "in the park" in text_of(page) or "in" in text_of(page)
    assert text.count('class="dots" aria-hidden="true"') == text.count('class="rest"') > 0


@pytest.mark.django_db
def test_how_much_is_left_is_told_in_tens_and_does_not_follow_single_answers(tmp_path: Path):
    work = desk.campaign(tmp_path / "drawn", images=8)
    available_tasks._about_left.cache_clear()
    ann = desk.at_work(work)
    before = available_tasks.about_left(campaign=work.campaign.pk, kind="coref_link")
    assert before % 10 == 0
    text = left_in_words(work.campaign.pk, "coref_link")
    assert text in text_of(ann.get(desk.address()))
    work.work(["coref_link"])
    assert left_in_words(work.campaign.pk, "coref_link") == text
    available_tasks._about_left.cache_clear()
    assert left_in_words(work.campaign.pk, "coref_link") == "fewer than 10 left"
    assert left_in_words(work.campaign.pk, "coref_link", of_visit=3) == "3 left"
