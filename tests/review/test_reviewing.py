"""The effects of a reviewer's ruling, and of withdrawing it."""

from __future__ import annotations

import pytest

from annotation.models import AuditEntry, Campaign, Ruling, Task
from annotation.moderation import rulings
from annotation.moderation.rulings import CannotRule, Changed
from annotation.protocol import questions as q
from annotation.protocol.rulings import Boxes, Closure, KeepApart, Partition, Resume
from annotation.protocol.terms import Box
from annotation.queue import image_state
from tests.review.world import HAT, MAN, THE_MAN, a_man, chain, image, lose_the_hat, refuse, the_world
from tests.web import world as people

pytestmark = pytest.mark.django_db

ELSEWHERE = Box(20, 20, 60, 120)


def open_kinds(row):
    return sorted(Task.objects.filter(image=row, state=Task.OPEN).values_list("kind", flat=True))


def test_a_refused_chain_that_is_kept_together_goes_on_to_its_boxes():
    world = the_world()
    refuse(world)
    row = image(world)
    assert (chain(row, MAN, THE_MAN)["s"], row.in_review) == ("REVIEW", 1)
    rulings.make_ruling(image=row.pk, ruling=Partition(((MAN, THE_MAN),)))
    assert (chain(row, MAN, THE_MAN)["s"], row.in_review) == ("DRAWING", 0)
    assert open_kinds(row) == [q.BOX_DRAWING, q.BOX_DRAWING]


def test_a_chain_that_is_split_becomes_two():
    world = the_world()
    refuse(world)
    row = image(world)
    rulings.make_ruling(image=row.pk, ruling=Partition(((MAN,), (THE_MAN,))))
    assert {chain(row, m)["s"] for m in (MAN, THE_MAN)} == {"DRAWING"}
    assert len(open_kinds(row)) == 3


def test_a_ruling_counts_before_its_mentions_were_compared():
    world = the_world()
    row = image(world)
    assert open_kinds(row) == [q.BOX_DRAWING, q.COREF_LINK]
    rulings.make_ruling(image=row.pk, ruling=Partition(((MAN, THE_MAN),)))
    assert open_kinds(row) == [q.BOX_DRAWING, q.BOX_DRAWING]
    assert Task.objects.get(image=row, kind=q.COREF_LINK).state == Task.WITHDRAWN


def test_boxes_that_a_reviewer_gives_close_the_chain_and_withdraw_what_was_asked():
    world = the_world()
    refuse(world)
    row = image(world)
    done = rulings.make_ruling(image=row.pk, ruling=Boxes((MAN, THE_MAN), (ELSEWHERE,)))
    assert chain(row, MAN, THE_MAN)["b"] == [[20, 20, 60, 120]]
    assert [c.stage for c in done.state.chains] == ["BOXED", "DRAWING"]
    assert open_kinds(row) == [q.BOX_DRAWING]


@pytest.mark.parametrize(
    ("kind", "stage"), [("scene", "NON_VISUAL"), ("none", "NON_VISUAL"), ("excluded", "EXCLUDED")]
)
def test_a_chain_can_be_closed_without_a_box(kind, stage):
    world = the_world()
    lose_the_hat(world)
    row = image(world)
    rulings.make_ruling(image=row.pk, ruling=Closure((HAT,), kind))
    assert (chain(row, HAT)["s"], row.in_review) == (stage, 0)


def test_a_chain_that_is_resumed_is_asked_about_again():
    world = the_world()
    lose_the_hat(world)
    row = image(world)
    assert (chain(row, HAT)["s"], chain(row, HAT)["r"]) == ("REVIEW", "fruitless")
    rulings.make_ruling(image=row.pk, ruling=Resume((HAT,)))
    assert chain(row, HAT)["s"] == "REQUIREMENT"
    assert q.BOX_REQUIREMENT in open_kinds(row)


def test_resuming_lifts_what_a_ruling_closed_and_the_answers_count_again():
    world = the_world()
    world.work()
    row = image(world)
    boxes = chain(row, HAT)["b"]
    rulings.make_ruling(image=row.pk, ruling=Closure((HAT,), "excluded"))
    assert chain(row, HAT)["s"] == "EXCLUDED"
    rulings.make_ruling(image=row.pk, ruling=Resume((HAT,)))
    assert (chain(row, HAT)["s"], chain(row, HAT)["b"]) == ("BOXED", boxes)


def merged_world():
    """Two chains without a link, whose boxes are equal: they merge when the image is complete."""
    world = the_world()
    row = image(world)
    lease = world.held(0)
    world.submit(0, lease, world.wrong_answer(lease), then=False)
    world.work()
    row.refresh_from_db()
    return world, row


def test_keeping_two_chains_apart_undoes_their_merge():
    world, row = merged_world()
    assert row.complete
    assert {m["what"] for m in row.state["merged"]} == {"boxes", "chains"}
    assert len(image_state.state_of(row).layer.chains) == 2
    done = rulings.make_ruling(image=row.pk, ruling=KeepApart(MAN, THE_MAN))
    row.refresh_from_db()
    assert row.complete and row.state["merged"] == []
    assert len(done.state.layer.chains) == 3
    rulings.withdraw_ruling(campaign=world.campaign, ruling=done.ruling.pk)
    row.refresh_from_db()
    assert {m["what"] for m in row.state["merged"]} == {"boxes", "chains"}


def test_withdrawing_a_ruling_gives_back_exactly_what_was_there():
    world = the_world()
    refuse(world)
    row = image(world)
    before = row.state["chains"], open_kinds(row)
    done = rulings.make_ruling(image=row.pk, ruling=Partition(((MAN,), (THE_MAN,))))
    rulings.withdraw_ruling(campaign=world.campaign, ruling=done.ruling.pk)
    row.refresh_from_db()
    assert (row.state["chains"], open_kinds(row)) == before
    assert Ruling.objects.get().withdrawn_at is not None


def test_of_two_rulings_on_one_chain_the_later_holds_until_it_is_withdrawn():
    world = the_world()
    row = image(world)
    rulings.make_ruling(image=row.pk, ruling=Closure((HAT,), "scene"))
    later = rulings.make_ruling(image=row.pk, ruling=Boxes((HAT,), (ELSEWHERE,)))
    assert chain(row, HAT)["s"] == "BOXED"
    rulings.withdraw_ruling(campaign=world.campaign, ruling=later.ruling.pk)
    assert (chain(row, HAT)["s"], chain(row, HAT)["k"]) == ("NON_VISUAL", "scene")


def test_rulings_are_told_to_the_audit_with_who_made_them():
    ada = people.account("ada", "reviewer")
    world = the_world()
    done = rulings.make_ruling(
        image=image(world).pk, ruling=Closure((HAT,), "none"), comment="no hat", actor=ada
    )
    rulings.withdraw_ruling(campaign=world.campaign, ruling=done.ruling.pk, actor=ada)
    assert (done.ruling.made_by, done.ruling.comment) == (ada, "no hat")
    assert [(e.act, e.actor, e.about["image"]) for e in AuditEntry.objects.order_by("pk")] == [
        ("rule", ada, "man"),
        ("withdraw_ruling", ada, "man"),
    ]


@pytest.mark.parametrize(
    ("ruling", "message"),
    [
        (Partition((("9:0-1", MAN),)), "no mention 9:0-1"),
        (Partition(((MAN,),)), "change nothing"),
        (Partition(()), "change nothing"),
        (Partition(((MAN, HAT), ())), "change nothing"),
        (KeepApart(MAN, MAN), "from itself"),
        (Boxes((MAN, HAT), (ELSEWHERE,)), "No chain has exactly"),
        (Boxes((HAT,), (ELSEWHERE, ELSEWHERE)), "appears twice"),
        (Boxes((HAT,), (Box(1, 1, 501, 10),)), "500 x 375"),
        (Boxes((MAN,), (ELSEWHERE,)), "still deciding which mentions"),
        (Closure((MAN, HAT), "none"), "No chain has exactly"),
        (Resume((HAT,)), "not in review"),
    ],
)
def test_a_ruling_that_cannot_be_is_refused_and_changes_nothing(ruling, message):
    row = image(the_world())
    with pytest.raises(CannotRule, match=message):
        rulings.make_ruling(image=row.pk, ruling=ruling)
    assert not Ruling.objects.exists() and not AuditEntry.objects.exists()
    row.refresh_from_db()
    assert (row.version, row.rulings_version) == (0, 0)


def test_a_closed_campaign_resumes_nothing_but_can_be_ruled_about():
    world = the_world()
    lose_the_hat(world)
    Campaign.objects.update(state=Campaign.CLOSED)
    row = image(world)
    with pytest.raises(CannotRule, match="closed"):
        rulings.make_ruling(image=row.pk, ruling=Resume((HAT,)))
    rulings.make_ruling(image=row.pk, ruling=Closure((HAT,), "none"))
    assert chain(row, HAT)["s"] == "NON_VISUAL"


def test_who_saw_an_older_image_is_told_to_look_again():
    row = image(the_world())
    with pytest.raises(Changed, match="look at it again"):
        rulings.make_ruling(image=row.pk, ruling=Partition(((MAN, THE_MAN),)), seen=[(MAN, THE_MAN)])
    rulings.make_ruling(image=row.pk, ruling=Partition(((MAN, THE_MAN),)), seen=[(MAN,), (THE_MAN,)])


def test_a_ruling_is_withdrawn_once_and_within_its_campaign():
    world, other_world = the_world(), the_world([a_man("other")], name="elsewhere")
    done = rulings.make_ruling(image=image(world).pk, ruling=Closure((HAT,), "none"))
    with pytest.raises(CannotRule, match="no ruling"):
        rulings.withdraw_ruling(campaign=other_world.campaign, ruling=done.ruling.pk)
    rulings.withdraw_ruling(campaign=world.campaign, ruling=done.ruling.pk)
    with pytest.raises(CannotRule, match="already withdrawn"):
        rulings.withdraw_ruling(campaign=world.campaign, ruling=done.ruling.pk)
