"""The invariants of the queue report violations that a test writes to the database."""

from __future__ import annotations

import pytest

from annotation.models import Judgment
from annotation.protocol import questions as q
from annotation.simulation_driver.soundness import violations
from tests.factories import some_images
from tests.queue.world import World

pytestmark = pytest.mark.django_db


def test_a_box_that_its_drawer_judged_is_found():
    world = World(some_images(1), workers=2)
    world.submit(0, world.held(0, q.BOX_DRAWING), then=False)
    world.submit(1, world.held(1, q.BOX_QUALITY), then=False)
    assert not any(violations(world.campaign).values())
    Judgment.objects.filter(kind=q.BOX_QUALITY).update(worker=world.workers[0])
    counts = {what: count for what, count in violations(world.campaign).items() if count}
    assert counts == {"boxes judged by who drew them": 1}
