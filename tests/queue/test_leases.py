"""Who gets which task, for how long, and the reason if there is none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation.common import database
from annotation.models import Assignment, Campaign, Control, Image, Task, TrustState
from annotation.protocol import questions as q
from annotation.protocol.state import ImageSettings
from annotation.queue import dispatch, image_rows, leases
from annotation.queue.leases import Lease, NoTask
from tests.factories import some_images
from tests.queue.test_submission import later
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


def test_somebody_who_asks_again_gets_what_they_hold():
    world = World()
    assert world.held(0) == world.held(0)
    assert Assignment.objects.count() == 1


def test_a_worker_has_three_tasks_in_hand_the_answered_the_current_and_the_next_and_no_fourth():
    world = World(some_images(4))
    held: list[Lease] = []
    for _ in range(3):
        held.append(world.held(0, holding=[lease.id for lease in held]))
    assert len({lease.task for lease in held}) == 3
    fourth = world.take(0, holding=[lease.id for lease in held])
    assert isinstance(fourth, NoTask) and fourth.code == "in_hand"


def test_no_two_workers_hold_one_place():
    world = World(some_images(3), workers=6)
    held = [world.take(worker) for worker in range(6)]
    tasks = [lease.task for lease in held if isinstance(lease, Lease)]
    assert (
        len(tasks) == len(set(tasks)) == Task.objects.filter(kind=q.COREF_LINK, state=Task.OPEN).count() == 3
    )
    reasons = {nothing.code for nothing in held if isinstance(nothing, NoTask)}
    assert reasons == {"busy"}


def test_busy_says_when_to_come_back():
    world = World(some_images(1))
    lease = world.held(0)
    result = world.take(1)
    assert isinstance(result, NoTask) and result.again_at == lease.expires_at
    assert "20 min" in result.text


def test_an_expired_lease_frees_its_place_for_another(monkeypatch):
    world = World(some_images(1))
    lease = world.held(0)
    later(monkeypatch, 21)
    assert leases.end_expired_leases() == 1
    assert leases.end_expired_leases() == 0
    assert world.held(1).task == lease.task


def test_a_lease_that_ran_out_comes_back_to_its_worker_where_nobody_else_took_it(monkeypatch):
    world = World(some_images(1))
    lease = world.held(0)
    later(monkeypatch, 21)
    leases.end_expired_leases()
    again = world.held(0)
    assert (again.id, again.task) == (lease.id, lease.task)
    assert world.submit(0, again, then=False).counted


def test_the_heartbeat_keeps_a_lease(monkeypatch):
    world = World(some_images(1))
    lease = world.held(0)
    later(monkeypatch, 15)
    until = leases.renew_lease(worker=world.workers[0], assignment=lease.id)
    assert until == database.now() + timedelta(minutes=20)
    later(monkeypatch, 15)
    assert leases.end_expired_leases() == 0
    assert leases.renew_lease(worker=world.workers[1], assignment=lease.id) is None


def test_a_returned_task_goes_to_others_and_not_back():
    world = World(some_images(1))
    lease = world.held(0)
    assert leases.return_lease(worker=world.workers[0], assignment=lease.id)
    assert not leases.return_lease(worker=world.workers[0], assignment=lease.id)
    assert isinstance(world.take(0), NoTask)
    assert world.held(1).task == lease.task


@pytest.mark.parametrize(
    ("state", "code"), [(Campaign.PAUSED, "paused"), (Campaign.CLOSED, "closed"), (Campaign.DRAFT, "draft")]
)
def test_a_campaign_that_is_not_open_gives_nothing_and_says_so(state, code):
    world = World()
    Campaign.objects.update(state=state, reason="new instructions")
    result = world.take(0)
    assert isinstance(result, NoTask) and result.code == code


def test_what_is_in_hand_while_a_campaign_is_paused_is_still_taken():
    world = World()
    lease = world.held(0)
    Campaign.objects.update(state=Campaign.PAUSED, reason="lunch")
    assert world.held(0) == lease
    receipt = world.submit(0, lease)
    assert receipt.counted
    assert isinstance(receipt.next, NoTask) and "lunch" in receipt.next.text


def test_a_suspended_worker_is_told_so():
    world = World()
    world.submit(0, world.held(0), then=False)
    TrustState.objects.update(state="suspended")
    result = world.take(0)
    assert isinstance(result, NoTask) and result.code == "suspended"


def test_a_researchers_word_is_above_the_rules():
    world = World()
    world.submit(0, world.held(0), then=False)
    TrustState.objects.update(blocked=True, reason="answers too fast")
    result = world.take(0)
    assert isinstance(result, NoTask) and result.code == "blocked" and "answers too fast" in result.text


def test_images_come_in_their_order_and_priority_goes_first(monkeypatch):
    monkeypatch.setattr(dispatch, "FIRST_LOOK", 1)
    world = World(some_images(4))
    first, *_, last = world.images()
    assert world.held(0).image == first.image_id
    assert image_rows.prioritise(campaign=world.campaign, images=[last.image_id], priority=5) == 1
    assert world.held(1).image == last.image_id


def test_a_lone_worker_finds_work_behind_a_head_they_have_done(monkeypatch):
    monkeypatch.setattr(dispatch, "FIRST_LOOK", 2)
    monkeypatch.setattr(dispatch, "WIDER_LOOKS", (3, 10**9))
    world = World(some_images(12), settings={**TRUSTING, "link_votes": 3})
    done = []
    while isinstance(result := world.take(0), Lease):
        done.append(result.task)
        world.submit(0, result, then=False)
    assert len(done) == len(set(done)) == 12
    assert isinstance(result, NoTask) and result.code == "all_judged"


def known_link(world, image, **values):
    return Control.objects.create(
        campaign=world.campaign,
        kind=q.COREF_LINK,
        image=Image.objects.get(pk=image),
        key="coref_link|0:0-2|1:0-1",
        content={"mentions": ["0:0-2", "1:0-1"], "boxes": [], "pending": None},
        known="yes",
        stratum="yes",
        source="page",
        **values,
    )


def test_a_control_item_comes_when_it_is_due_and_looks_like_any_other():
    settings = {"trust": {**TRUSTING["trust"], "warm_up_items": 1, "warm_up_known": 1}}
    world = World(some_images(2), settings=settings)
    control = known_link(world, world.images()[0].image_id)
    lease = world.held(0)
    assert lease.control == control.pk and lease.content == control.content
    assert world.submit(0, lease, world.wrong_answer(lease)).counted
    trust_state = TrustState.objects.get(worker=world.workers[0], kind=q.COREF_LINK)
    assert (trust_state.items, trust_state.known, trust_state.right) == (1, 1, 0)
    assert not world.images()[0].judgments.exists()
    assert world.held(0).control is None


def test_open_images_passes_over_those_that_are_open():
    world = World(some_images(2))
    image = world.images()[0]
    tasks = Task.objects.count()
    again = [(image.image, tuple(world.truths[image.image_id].mentions.values()))]
    assert image_rows.open_images(campaign=world.campaign, images=again, settings=ImageSettings()) == 0
    assert Task.objects.count() == tasks
