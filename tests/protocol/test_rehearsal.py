"""The number of answers per image, estimated before anybody is asked."""

from __future__ import annotations

from itertools import combinations

import pytest

from annotation.protocol import questions as q
from annotation.protocol import rehearsal
from annotation.protocol.kinds import all_kinds, answer_time_of
from annotation.protocol.rehearsal import answers_for, guessed_layer
from annotation.protocol.state import ImageSettings
from annotation.protocol.terms import Mention

MAN = Mention(0, 0, 2, ("A", "man"), ("people",))
THE_MAN = Mention(1, 0, 2, ("The", "man"), ("people",))
WOMAN = Mention(1, 3, 5, ("a", "woman"), ("people",))
STREET = Mention(0, 4, 6, ("the", "street"), ("scene",))


@pytest.fixture
def nobody_errs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "SLIPS", 0.0)
    monkeypatch.setattr(rehearsal, "SLACK", 0.0)


def question_counts(*mentions: Mention, **settings: object) -> dict[str, int]:
    layer = guessed_layer(mentions, (500, 375))
    return dict(answers_for(("image", (500, 375), layer), ImageSettings(**settings), seed=1))  # type: ignore[arg-type]


def test_phrases_of_one_head_are_guessed_to_be_one_thing_with_a_box_of_its_own():
    layer = guessed_layer((MAN, THE_MAN, WOMAN, STREET), (500, 375))
    assert [[mention.id for mention in chain.mentions] for chain in layer.chains] == [
        [MAN.id, THE_MAN.id],
        [STREET.id],
        [WOMAN.id],
    ]
    boxes = [thing.box for thing in layer.objects if thing.box is not None]
    assert len(boxes) == 2 and [thing.scene for thing in layer.objects] == [False, True, False]
    assert all(first.iou(second) == 0 for first, second in combinations(boxes, 2))
    assert all(box.xmax <= 500 and box.ymax <= 375 for box in boxes)


def test_guessed_boxes_of_many_things_stay_in_the_picture():
    many = tuple(Mention(0, n, n + 1, (f"thing{n}",), ("other",)) for n in range(70))
    layer = guessed_layer(many, (90, 60))
    boxes = [thing.box for thing in layer.objects if thing.box is not None]
    assert len(boxes) == 70 and all(box.xmax <= 90 and box.ymax <= 60 for box in boxes)


@pytest.mark.usefixtures("nobody_errs")
def test_one_person_takes_a_box_a_look_at_it_and_two_who_say_that_it_is_all():
    assert question_counts(MAN) == {q.BOX_DRAWING: 1, q.BOX_QUALITY: 1, q.BOX_COVERAGE: 2}


@pytest.mark.usefixtures("nobody_errs")
def test_a_share_of_what_one_person_settles_is_answered_by_a_second():
    gold = ("image", (500, 375), guessed_layer((MAN,), (500, 375)))
    answers = answers_for(gold, ImageSettings(), seed=1, share=lambda kind: 0.5)
    assert answers == {q.BOX_DRAWING: 1.5, q.BOX_QUALITY: 1.5, q.BOX_COVERAGE: 2.0}


@pytest.mark.usefixtures("nobody_errs")
def test_votes_and_boxes_go_by_the_settings():
    once = question_counts(MAN, THE_MAN, boxes="never")
    assert once == {q.COREF_LINK: 1, q.CHAIN_VERIFICATION: 1}
    thrice = question_counts(MAN, THE_MAN, boxes="never", link_votes=3, verification_votes=3)
    # Two of three that agree are a majority.
    assert thrice[q.COREF_LINK] in (2, 3) and thrice[q.CHAIN_VERIFICATION] in (2, 3)


def test_every_kind_says_how_long_an_answer_takes_and_between_what():
    for kind in all_kinds():
        answer_time = answer_time_of(kind.key)
        assert 0 < answer_time.least <= answer_time.seconds <= answer_time.most and answer_time.source
