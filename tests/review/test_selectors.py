"""The data for reviewers: what is in review and why, what was reported, and the history of an image."""

from __future__ import annotations

import pytest

from annotation.models import AuditEntry, OpenImage
from annotation.moderation import rulings
from annotation.moderation.rulings import CannotRule
from annotation.protocol import questions as q
from annotation.protocol.rulings import Closure
from annotation.selectors import review
from tests.review.world import (
    HAT,
    MAN,
    THE_MAN,
    a_man,
    answer,
    held,
    image,
    lose_the_hat,
    refuse,
    report,
    the_world,
)
from tests.web import world as people

pytestmark = pytest.mark.django_db


def keys(queue):
    return [(waiting.image.key, [chain.reason for chain in waiting.chains]) for waiting in queue.images]


def test_the_queue_tells_every_chain_in_review_and_why_the_newest_first():
    world = the_world([a_man("one"), a_man("two")])
    refuse(world)
    lose_the_hat(world)
    assert image(world).in_review == 2
    for worker in (0, 1):
        report(world, q.BOX_DRAWING, worker=worker, index=1)
    queue = review.review_queue(campaign=world.campaign.pk)
    assert keys(queue) == [("two", ["flagged"]), ("one", ["refused", "fruitless"])]
    assert queue.after == ""
    man = queue.images[1].chains[0]
    assert (man.number, man.mentions, man.title) == (1, (MAN, THE_MAN), "The man")
    assert review.count_chains_in_review(world.campaign.pk) == 3
    only = review.review_queue(campaign=world.campaign.pk, reason="fruitless")
    assert keys(only) == [("one", ["fruitless"])]


def test_the_queue_pages_by_key_and_images_that_change_at_once_are_neither_lost_nor_told_twice():
    world = the_world([a_man(f"n{i}") for i in range(7)])
    rows = image(world)
    for row in world.images():
        rulings.make_ruling(image=row.pk, ruling=Closure((HAT,), "none"))
    OpenImage.objects.update(
        in_review=1,
        changed_at=rows.opened_at,
        state={
            **rows.state,
            "chains": [{"m": [HAT], "s": "REVIEW", "r": "flagged", "b": [], "p": None, "k": "", "moves": []}],
        },
    )
    result, after = [], ""
    for _ in range(4):
        page = review.review_queue(campaign=world.campaign.pk, after=after, size=2)
        result += [waiting.image.key for waiting in page.images]
        after = page.after
    assert result == [f"n{i}" for i in reversed(range(7))]
    assert after == ""
    assert review.review_queue(campaign=world.campaign.pk, reason="refused", size=2).images == ()
    assert len(review.review_queue(campaign=world.campaign.pk, after="nonsense").images) == 7


def test_reports_name_image_words_and_worker_until_they_are_resolved():
    ada = people.account("ada", "reviewer")
    world = the_world()
    report(world, q.COREF_LINK, "chunk_wrong", worker=2, comment="two words too many")
    (result,), after = review.worker_reports(campaign=world.campaign.pk)
    assert after is None and not result.is_control_item
    assert (result.image.key, result.words, result.kind) == ("man", ("A man", "The man"), q.COREF_LINK)
    assert (result.flag.comment, result.flag.judgment.worker.pseudonym) == ("two words too many", "review-w2")
    assert rulings.resolve_flag(campaign=world.campaign, flag=result.flag.pk, actor=ada)
    assert not rulings.resolve_flag(campaign=world.campaign, flag=result.flag.pk, actor=ada)
    assert review.worker_reports(campaign=world.campaign.pk) == ([], None)
    ((resolved,), _) = review.worker_reports(campaign=world.campaign.pk, unresolved=False)
    assert resolved.flag.resolved_by == ada
    assert AuditEntry.objects.get().act == "resolve_flag"


def test_a_report_about_a_box_names_what_the_box_was_drawn_for():
    world = the_world()
    answer(world, q.COREF_LINK, "yes")
    world.submit(0, held(world, 0, q.BOX_DRAWING, mention=HAT), then=False)
    report(world, q.BOX_QUALITY, "offensive", worker=1)
    ((result,), _) = review.worker_reports(campaign=world.campaign.pk)
    assert result.words == ("a hat",)


def test_reports_page_by_key():
    world = the_world([a_man("one"), a_man("two"), a_man("three")])
    for index in range(3):
        report(world, q.COREF_LINK, worker=index, index=index)
    first, after = review.worker_reports(campaign=world.campaign.pk, size=2)
    rest, end = review.worker_reports(campaign=world.campaign.pk, size=2, before=after)
    ids = [row.flag.pk for row in (*first, *rest)]
    assert ids == sorted(ids, reverse=True) and len(set(ids)) == 3 and end is None


def test_a_report_of_another_campaign_is_not_resolved():
    world, other_world = the_world(), the_world([a_man("other")], name="elsewhere")
    report(world, q.COREF_LINK)
    ((result,), _) = review.worker_reports(campaign=world.campaign.pk)
    with pytest.raises(CannotRule, match="no report"):
        rulings.resolve_flag(campaign=other_world.campaign, flag=result.flag.pk)


def test_everything_behind_an_image_is_read():
    world = the_world()
    report(world, q.COREF_LINK, worker=3)
    refuse(world)
    row = image(world)
    done = rulings.make_ruling(image=row.pk, ruling=Closure((HAT,), "none"))
    result = review.image_under_review(campaign=world.campaign.pk, key="man")
    assert [(s.judgment.kind, s.mentions, bool(s.flag)) for s in result.judgments] == [
        (q.COREF_LINK, (MAN, THE_MAN), True),
        (q.COREF_LINK, (MAN, THE_MAN), False),
        (q.CHAIN_VERIFICATION, (MAN, THE_MAN), False),
    ]
    assert [m.outcome for m in result.moves[f"{MAN} {THE_MAN}"]] == ["REFUSED"]
    assert [(g.row.pk, set(g.mentions), g.in_force) for g in result.rulings] == [
        (done.ruling.pk, {HAT}, True)
    ]
    with pytest.raises(review.NoSuchImage):
        review.image_under_review(campaign=world.campaign.pk, key="woman")
    with pytest.raises(review.NoSuchImage):
        review.image_under_review(campaign=world.campaign.pk, key="nu\0ll")
