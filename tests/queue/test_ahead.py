"""A drawer in warm-up waits for the judges of their boxes; and nobody waits forever."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.common import database
from annotation.models import Task, TrustState
from annotation.protocol import questions as q
from annotation.queue import leases
from annotation.queue.leases import Lease, NoTask
from tests.factories import some_images
from tests.queue.test_submission import later
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db

DRAWER, JUDGE = 0, 1


def watching(unjudged: int = 2, **trust: Any) -> dict[str, Any]:
    return {"trust": {**TRUSTING["trust"], "drawing_unjudged": unjudged, **trust}}


def drawable(settings: dict[str, Any], *, judged: bool = True) -> World:
    """Return a campaign with boxes to draw, in which the judge, if any, is admitted to judging them."""
    world = World(some_images(4), settings=settings)
    world.measure_verdicts()
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    if judged:
        assert isinstance(world.take(JUDGE, q.BOX_QUALITY), NoTask)
    return world


def draw(world: World, count: int) -> NoTask | None:
    """Let the drawer draw up to `count` boxes; return what stopped them."""
    for _ in range(count):
        result = world.take(DRAWER, q.BOX_DRAWING)
        if isinstance(result, NoTask):
            return result
        world.submit(DRAWER, result, then=False)
    return None


def judge(world: World) -> None:
    world.submit(JUDGE, world.held(JUDGE, q.BOX_QUALITY), then=False)


def test_a_drawer_waits_until_somebody_has_looked_at_their_boxes():
    world = drawable(watching())
    stopped = draw(world, 3)
    assert stopped is not None and stopped.code == "unjudged"
    assert "still have to check 2 of your boxes" in stopped.text
    judge(world)
    assert isinstance(world.take(DRAWER, q.BOX_DRAWING), Lease)


def test_an_answer_is_taken_and_brings_the_reason_instead_of_the_next_box():
    world = drawable(watching(1))
    receipt = world.submit(DRAWER, world.held(DRAWER, q.BOX_DRAWING))
    assert receipt.counted
    assert isinstance(receipt.next, NoTask) and receipt.next.code == "unjudged"


def test_what_is_in_hand_stays_in_hand():
    world = drawable(watching(1))
    item = world.held(DRAWER, q.BOX_DRAWING)
    two = world.held(DRAWER, q.BOX_DRAWING, holding=[item.id])
    world.submit(DRAWER, item, then=False)
    assert world.held(DRAWER, q.BOX_DRAWING).id == two.id
    assert world.submit(DRAWER, two, then=False).counted


def test_a_double_check_of_a_verdict_is_not_waited_for():
    world = drawable(watching(1, double_check_share=1.0))
    draw(world, 1)
    judge(world)
    assert Task.objects.get(kind=q.BOX_QUALITY).role == q.DOUBLE_CHECK
    assert draw(world, 1) is None


@pytest.mark.parametrize("trust", [{"drawing_unjudged": 0}, {"drawing_wait_minutes": 0}])
def test_the_wait_can_be_switched_off(trust: dict[str, Any]):
    world = drawable(watching(**trust))
    assert draw(world, 4) is None


def test_a_trusted_drawer_waits_for_nobody():
    world = drawable(watching(1))
    draw(world, 1)
    TrustState.objects.filter(kind=q.BOX_DRAWING).update(state="trusted")
    assert draw(world, 3) is None


def test_where_nobody_else_may_judge_a_drawer_goes_on():
    world = drawable(watching(1), judged=False)
    assert draw(world, 4) is None


def test_where_verdicts_tell_nothing_a_drawer_waits_for_nobody():
    world = World(some_images(4), settings=watching(1))
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    assert isinstance(world.take(JUDGE, q.BOX_QUALITY), NoTask)
    assert draw(world, 4) is None


def test_their_own_admission_to_judging_makes_a_drawer_wait_for_nobody():
    world = drawable(watching(1), judged=False)
    assert isinstance(world.take(DRAWER, q.BOX_QUALITY), NoTask)
    assert draw(world, 4) is None


@pytest.mark.parametrize(
    "out", [{"blocked": True}, {"state": "suspended"}, {"state": "qualification"}], ids=str
)
def test_where_all_judges_are_kept_out_a_drawer_goes_on(out: dict[str, Any]):
    world = drawable(watching(1))
    assert draw(world, 2) is not None
    TrustState.objects.filter(worker=world.workers[JUDGE], kind=q.BOX_QUALITY).update(**out)
    assert draw(world, 3) is None


def test_where_the_judges_are_gone_a_drawer_goes_on_at_the_moment_they_were_told(monkeypatch):
    world = drawable(watching(2))
    draw(world, 1)
    first = database.now()
    later(monkeypatch, 30)
    stopped = draw(world, 2)
    assert stopped is not None and stopped.again_at is not None
    assert abs(stopped.again_at - first - timedelta(minutes=60)) < timedelta(minutes=1)
    later(monkeypatch, 29)
    assert draw(world, 1) is not None
    later(monkeypatch, 2)
    assert draw(world, 1) is None


def test_a_judge_who_gives_every_box_back_stops_nobody_for_good(monkeypatch):
    world = drawable(watching(1))
    draw(world, 1)
    held = world.held(JUDGE, q.BOX_QUALITY)
    assert leases.return_lease(worker=world.workers[JUDGE], assignment=held.id)
    assert isinstance(world.take(JUDGE, q.BOX_QUALITY), NoTask) and draw(world, 1) is not None
    later(monkeypatch, 61)
    assert draw(world, 1) is None


def test_a_crowd_that_waits_for_every_single_verdict_finishes():
    world = World(some_images(3), settings=watching(1))
    world.measure_verdicts()
    world.work()
    assert all(image.complete for image in world.images())


@pytest.mark.parametrize(("kind", "state"), [(q.BOX_REQUIREMENT, "warm_up"), (q.BOX_DRAWING, "trusted")])
def test_nobody_else_pays_for_it(kind: str, state: str):
    world = World(some_images(2), settings=watching())
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION] + [q.BOX_REQUIREMENT] * (kind == q.BOX_DRAWING))
    world.take(DRAWER, kind)
    leases.return_lease(worker=world.workers[DRAWER], assignment=world.held(DRAWER, kind).id)
    TrustState.objects.filter(kind=kind).update(state=state)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        world.held(DRAWER, kind)
    assert not [query["sql"] for query in queries if "'box_quality'" in query["sql"]]
