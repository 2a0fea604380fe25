"""People check a model annotator's first boxes before they draw, if they may; and nobody waits forever."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.campaigns import model_annotators
from annotation.models import ModelAnnotator, Task, TrustState
from annotation.moderation import worker_status
from annotation.protocol import questions as q
from annotation.queue.leases import Lease, NoTask
from tests.queue.models_at_work import to_draw, turns
from tests.queue.test_submission import later
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db

DRAWER, JUDGE = 1, 2


def begun(images: int = 4, **settings: Any) -> tuple[World, ModelAnnotator]:
    """Return a world in which a model annotator has drawn its first boxes, and people have more to draw."""
    trust = {**TRUSTING["trust"], "drawing_unjudged": 2, **settings.pop("trust", {})}
    world, model_annotator = to_draw(images, trust=trust, **settings)
    assert turns(world) == 2
    return world, model_annotator


def boxes_to_judge() -> Any:
    return Task.objects.filter(kind=q.BOX_QUALITY, state="open")


def waits(world: World, worker: int = DRAWER) -> bool:
    """Return whether a worker who asks for something to draw must check boxes first."""
    result = world.take(worker, q.BOX_DRAWING)
    assert isinstance(result, Lease) or result.code == "check_first"
    return isinstance(result, NoTask)


def test_who_may_judge_a_first_box_of_a_model_does_so_before_they_draw():
    world, _model = begun()
    response = world.take(DRAWER, q.BOX_DRAWING)
    assert isinstance(response, NoTask) and response.code == "check_first" and response.again_at is not None
    for _ in range(2):
        world.submit(DRAWER, world.held(DRAWER, q.BOX_QUALITY), then=False)
    # Their verdicts are given, and the model annotator has not had its turn again.
    assert not waits(world)


def test_after_an_answer_comes_what_is_to_be_done_first():
    world, model_annotator = to_draw(4)
    lease = world.held(DRAWER, q.BOX_DRAWING)
    assert turns(world) > 0
    receipt = world.submit(DRAWER, lease)
    assert receipt.counted and isinstance(receipt.next, NoTask) and receipt.next.code == "check_first"


def test_who_may_not_judge_a_box_draws():
    world, _model = begun()
    world.take(JUDGE, q.BOX_QUALITY)
    assert waits(world, JUDGE)
    worker_status.suspend_worker(
        campaign=world.campaign, worker=world.workers[JUDGE], kind=q.BOX_QUALITY, reason="slow"
    )
    assert not waits(world, JUDGE)


@pytest.mark.parametrize("tested", [False, True])
def test_who_has_never_judged_boxes_draws_where_that_begins_with_a_test(tested: bool):
    world, _model = begun()
    TrustState.objects.filter(worker=world.workers[DRAWER], kind=q.BOX_QUALITY).delete()
    TrustState.objects.filter(worker=world.workers[DRAWER], kind=q.BOX_DRAWING).update(state="trusted")
    trust = {**world.campaign.settings["trust"], "qualification": tested}
    world.campaign.settings = {**world.campaign.settings, "trust": trust}
    world.campaign.save()
    assert waits(world) is not tested


def test_where_others_have_all_boxes_in_hand_people_draw():
    world, _model = begun()
    boxes_to_judge().update(needed=1)
    first = world.held(JUDGE, q.BOX_QUALITY)
    assert waits(world)
    world.held(JUDGE, q.BOX_QUALITY, holding=[first.id])
    assert not waits(world)


def test_it_can_be_turned_off():
    world, _model = begun(model_annotator={"share": 1.0, "check_first": False})
    assert not waits(world)


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch):
    world, _model = begun()
    assert waits(world)
    later(monkeypatch, 61)
    assert not waits(world)


@pytest.mark.parametrize("state", ["trusted", "suspended"])
def test_once_it_is_known_how_good_a_model_is_nobody_waits(state: str):
    world, model_annotator = begun()
    TrustState.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING).update(state=state)
    assert not waits(world)


def test_boxes_of_people_and_of_an_older_model_are_nothing_to_wait_for():
    world, _model = begun()
    assert waits(world)
    model_annotators.model_annotator_add(campaign=world.campaign, name="newer")
    assert not waits(world)
