"""Workers who answer faster than people read: told by their answers that began a picture."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from annotation.models import Assignment
from annotation.protocol import questions as q
from annotation.selectors.workers import reading_speed
from annotation.selectors.workers.reading_speed import least_reading_seconds, reading_paces
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.web import world as people
from tests.web.staff import words

pytestmark = pytest.mark.django_db

THREE_VOTES = {**TRUSTING, "link_votes": 3}


@pytest.fixture
def fast(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    """Three pictures of which two workers answered every first question: one too fast, one not."""
    monkeypatch.setattr(reading_speed, "TELLING_ANSWERS", 2)
    cache.clear()
    world = World(some_images(3), settings=THREE_VOTES, name="fast")
    least = least_reading_seconds(reading_speed.words_in_a_caption(world.campaign))
    assert 0.2 < least < 5
    for index, seconds in ((0, 0.5 * least), (1, 2 * least)):
        for _round in range(3):
            world.submit(index, world.held(index, q.COREF_LINK), then=False)
        Assignment.objects.filter(worker=world.workers[index]).update(seconds=seconds)
    cache.clear()
    return world


def test_who_answers_faster_than_people_read_is_flagged_on_their_pages(fast):
    paces = reading_paces(fast.campaign, fast.workers[:3])
    assert paces[fast.workers[0]].flagged and not paces[fast.workers[1]].flagged
    assert fast.workers[2] not in paces
    ada = people.signed_in("ada", "researcher")
    assert "faster than reading" in words(ada.get("/campaigns/fast/workers/?find=w0"))
    assert "faster than reading" not in words(ada.get("/campaigns/fast/workers/?find=w1"))
    assert "Brysbaert 2019" in words(ada.get("/campaigns/fast/workers/fast-w0/"))


def test_who_goes_on_with_a_picture_may_be_quick(fast):
    slow = Assignment.objects.filter(worker=fast.workers[0]).order_by("pk")
    images = {row.task.image_id for row in slow if row.task}
    assert reading_paces(fast.campaign, [fast.workers[0]])[fast.workers[0]].answers == len(images)
    for row in slow:
        if row.task and row.task.image_id in images:
            images.remove(row.task.image_id)
            Assignment.objects.filter(pk=row.pk).update(seconds=60)
    assert not reading_paces(fast.campaign, [fast.workers[0]])[fast.workers[0]].too_fast


def test_a_few_answers_and_simulated_ones_flag_nobody(fast, monkeypatch):
    monkeypatch.setattr(reading_speed, "TELLING_ANSWERS", 10)
    assert not reading_paces(fast.campaign, fast.workers)[fast.workers[0]].flagged
    fast.campaign.simulated = True
    assert reading_paces(fast.campaign, fast.workers) == {}
