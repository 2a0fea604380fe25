"""Ways of drawing, compared: in the selector, in `campaign_status`, and on the campaign's page."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import call_command

from annotation.models import Judgment
from annotation.protocol import questions as q
from annotation.selectors.drawing_ways import DrawingWay, drawing_ways
from tests.factories import some_images
from tests.queue.world import World
from tests.running.conftest import Clock
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db

TIMES = {"drag": (9.0, 30.0, 12.0), "extreme": (7.0, 5.0), "": (20.0,)}


@pytest.fixture
def world(clock: Clock) -> World:
    """Six boxes in three ways; the extreme ones are judged good, the others bad."""
    world = World(some_images(8), workers=3)
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    names = defaultdict(list)
    for way, times in TIMES.items():
        for seconds in times:
            lease = world.held(0, q.BOX_DRAWING)
            clock.advance(minutes=1)
            world.submit(0, lease, replace(world.right(lease), way=way), seconds=seconds, then=False)
            names[Judgment.objects.get(assignment=lease.id).name].append(way)
    for _ in range(6):
        lease = world.held(1, q.BOX_QUALITY)
        (way,) = names[lease.key.split("|")[1]]
        answer = q.Answer("good" if way == "extreme" else "bad")
        world.submit(1, lease, answer, then=False)
    return world


def test_each_way_has_its_boxes_its_median_time_and_its_share_of_good_ones(world: World):
    result = {way.way: way for way in drawing_ways(world.campaign, fresh=True)}
    assert list(result) == ["drag", "extreme", ""]
    assert result["extreme"] == DrawingWay("extreme", 2, 6.0, 2, 1.0)
    assert (result["drag"].boxes, result["drag"].median_seconds, result["drag"].good) == (3, 12.0, 0.0)
    assert sum(way.judged for way in result.values()) == 6


def test_withdrawn_boxes_and_verdicts_do_not_count(world: World):
    Judgment.objects.filter(kind=q.BOX_DRAWING, way="drag").update(withdrawn=True)
    Judgment.objects.filter(kind=q.BOX_QUALITY).update(withdrawn=True)
    extreme, unknown = drawing_ways(world.campaign, fresh=True)
    assert (extreme.way, extreme.boxes, extreme.judged, extreme.good) == ("extreme", 2, 0, None)
    assert unknown == DrawingWay("", 1, 20.0, 0, None)


def test_a_campaign_without_boxes_compares_nothing():
    world = World()
    assert drawing_ways(world.campaign, fresh=True) == []
    out = StringIO()
    call_command("campaign_status", world.campaign.name, stdout=out)
    assert "way of drawing" not in out.getvalue()


def test_the_status_and_the_page_tell_them(world: World):
    out = StringIO()
    call_command("campaign_status", world.campaign.name, "--json", stdout=out)
    ways = json.loads(out.getvalue().splitlines()[-1])["drawing_ways"]
    assert [way["way"] for way in ways] == ["drag", "extreme", ""]
    out = StringIO()
    call_command("campaign_status", world.campaign.name, stdout=out)
    (line,) = (line for line in out.getvalue().splitlines() if line.startswith("extreme"))
    assert line.split() == ["extreme", "2", "6.0", "2", "100.0%"]
    text = signed_in("ada", "researcher").get(f"/campaigns/{world.campaign.name}/").content.decode()
    assert "Ways of drawing" in text and "four extreme points" in text and "not known" in text
