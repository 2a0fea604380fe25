"""Images without questions about boxes: links and chains are settled, and boxes remain unknown."""

from __future__ import annotations

import pytest

from annotation.protocol import boxes as loop
from annotation.protocol import questions as q
from annotation.protocol.image import Fold
from annotation.protocol.questions import Judgment
from annotation.protocol.rulings import Closure
from annotation.protocol.state import BOXES_ALWAYS, BOXES_NEVER, BOXES_PICTURED, UNSEEN, ImageSettings
from annotation.protocol.terms import Mention

MAN = Mention(0, 0, 2, ("A", "man"), ("people",))
SAME = Mention(1, 0, 1, ("Somebody",), ("people",))
KITE = Mention(0, 3, 5, ("a", "kite"), ("other",))
LINK = q.link_key(MAN, SAME)
CHAIN = q.chain_key(q.CHAIN_VERIFICATION, (MAN, SAME))
BLIND = ImageSettings(boxes=BOXES_NEVER)


def answered(fold: Fold, *answers: tuple[str, str]):
    return fold([Judgment(f"j{n}", key, f"w{n}", answer) for n, (key, answer) in enumerate(answers)])


def test_the_last_thing_asked_is_whether_a_chain_is_one_thing():
    fold = Fold((MAN, SAME, KITE), BLIND)
    assert [question.kind for question in answered(fold).questions] == [q.COREF_LINK]
    assert [question.kind for question in answered(fold, (LINK, "yes")).questions] == [q.CHAIN_VERIFICATION]
    done = answered(fold, (LINK, "yes"), (CHAIN, "true"))
    assert done.complete and not done.questions
    assert {chain.stage for chain in done.chains} == {UNSEEN} and len(done.chains) == 2
    assert done.layer.objects == () and [len(chain.mentions) for chain in done.layer.chains] == [2, 1]


def test_a_refused_chain_waits_for_a_reviewer_who_may_close_it():
    other_mention = Mention(1, 0, 2, ("the", "man"), ("people",))
    key = q.chain_key(q.CHAIN_VERIFICATION, (MAN, other_mention))
    provided = [(q.link_key(MAN, other_mention), "yes"), (key, "false")]
    assert [chain.stage for chain in answered(Fold((MAN, other_mention), BLIND), *provided).chains] == [
        loop.REVIEW
    ]
    ruled = Fold((MAN, other_mention), BLIND, [Closure((MAN.id, other_mention.id), "none")])
    assert [chain.stage for chain in answered(ruled, *provided).chains] == [loop.NON_VISUAL]


@pytest.mark.parametrize(
    ("requested", "pictured", "boxes"),
    [
        (BOXES_PICTURED, True, BOXES_PICTURED),
        (BOXES_PICTURED, False, BOXES_NEVER),
        (BOXES_ALWAYS, False, BOXES_ALWAYS),
        (BOXES_NEVER, True, BOXES_NEVER),
    ],
)
def test_an_image_without_a_picture_is_asked_about_boxes_only_where_that_is_said(requested, pictured, boxes):
    assert ImageSettings(boxes=requested).of_image(pictured=pictured).boxes == boxes
