"""How a discarded worker, or a wrong control item, affects others."""

from __future__ import annotations

import pytest

from annotation.models import Assignment, Control, Task, TrustState
from annotation.moderation import control_items, trust_replay, worker_status
from annotation.protocol import questions as q
from annotation.protocol.trust import SUSPENDED, WARM_UP
from annotation.quality import worker_trust
from annotation.queue.leases import Lease, NoTask
from annotation.queue.submission import Answer
from annotation.simulation_driver.soundness import violations
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import crowd_works, gold, scenes

pytestmark = pytest.mark.django_db


def drawn_and_judged(verdict: str, boxes: int) -> World:
    """Return a world in which worker 0 draws the first box of many images, and worker 1 gives each this
    verdict."""
    world = World(some_images(boxes), settings={"trust": {**TRUSTING["trust"], "warm_up_items": 30}})
    world.measure_verdicts()
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    while not isinstance(world.take(0, q.BOX_DRAWING), NoTask):
        lease = world.held(0, q.BOX_DRAWING)
        world.submit(0, lease, then=False)
        judged = world.held(1, q.BOX_QUALITY)
        world.submit(1, judged, Answer(verdict), then=False)
    return world


def drawer(world: World) -> TrustState:
    return TrustState.objects.get(worker=world.workers[0], kind=q.BOX_DRAWING)


def test_a_drawer_whom_discarded_verdicts_had_suspended_is_back_and_goes_when_they_are_restored():
    world = drawn_and_judged("bad", 8)
    assert drawer(world).state == SUSPENDED
    done = worker_status.withdraw_worker_answers(
        campaign=world.campaign, worker=world.workers[1], kind=q.BOX_QUALITY
    )
    assert done.drawers == 1
    row = drawer(world)
    assert (row.state, row.known, row.items) == (WARM_UP, 0, row.items) and row.items >= 12
    assert isinstance(world.take(0, q.BOX_DRAWING), Lease)
    worker_status.restore_worker_answers(campaign=world.campaign, worker=world.workers[1], kind=q.BOX_QUALITY)
    assert drawer(world).state == SUSPENDED


def test_a_verdict_given_again_after_discard_counts_once():
    world = drawn_and_judged("bad", 4)
    assert drawer(world).right == 0 < drawer(world).known
    worker_status.withdraw_worker_answers(
        campaign=world.campaign, worker=world.workers[1], kind=q.BOX_QUALITY
    )
    while not isinstance(lease := world.take(2, q.BOX_QUALITY), NoTask):
        world.submit(2, lease, Answer("good"), then=False)
    row = drawer(world)
    assert row.known == row.right > 0
    assert worker_trust.trust_from_row(row) == trust_replay.replay_row(row)


def test_control_items_promoted_with_a_discarded_vote_are_retired():
    world = World(some_images(1), settings={**TRUSTING, "link_votes": 5}, workers=5)
    for worker in range(3):
        world.submit(worker, world.held(worker), Answer("no"), then=False)
    control_items.promote(campaign=world.campaign, kind=q.COREF_LINK)
    revision = world.campaign.revision
    withdraw_worker_answers = worker_status.withdraw_worker_answers(
        campaign=world.campaign, worker=world.workers[4]
    )
    assert withdraw_worker_answers.retired == 0 and Control.objects.get().active
    done = worker_status.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[2])
    assert done.retired == 1 and not Control.objects.get().active
    world.campaign.refresh_from_db()
    assert world.campaign.revision > revision


def test_whom_a_wrong_control_item_had_pushed_below_the_bar_is_back_without_it():
    world = scenes(8, workers=1)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    crowd_works(world, ["always_yes"])
    row = TrustState.objects.get(kind=q.COREF_LINK)
    assert row.state == SUSPENDED
    failed = Assignment.objects.filter(kind=q.COREF_LINK, role="control", right=False)
    invalid = failed.count()
    assert row.known - row.right == invalid >= 5
    for control in list(failed.values_list("control", flat=True)):
        assert worker_status.disown_control_item(campaign=world.campaign, control=control) == 1
    before, row = row, TrustState.objects.get(kind=q.COREF_LINK)
    assert row.state != SUSPENDED and row.items == before.items
    assert (row.known, row.right) == (before.known - invalid, before.right)
    assert Control.objects.filter(active=False).count() == invalid


def test_a_double_check_ends_with_the_vote_that_was_to_be_checked():
    trust = {**TRUSTING["trust"], "double_check_share": 1.0}
    world = World(settings={**TRUSTING, "trust": trust})
    checked = Task.objects.filter(kind=q.CHAIN_VERIFICATION, role=q.DOUBLE_CHECK, state=Task.OPEN)
    while not checked.exists():
        if isinstance(lease := world.take(0), Lease):
            world.submit(0, lease, then=False)
        if isinstance(lease := world.take(1, q.CHAIN_VERIFICATION), Lease):
            world.submit(1, lease, then=False)
    task = checked.get()
    # Without the links there is no chain, and its verification is no longer asked.
    for worker in world.workers[:2]:
        worker_status.withdraw_worker_answers(campaign=world.campaign, worker=worker)
    task.refresh_from_db()
    assert task.state == Task.WITHDRAWN
    assert {what: number for what, number in violations(world.campaign).items() if number} == {}
