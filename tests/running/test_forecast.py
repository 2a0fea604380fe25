"""What a campaign will still pay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.protocol import questions as q
from annotation.selectors.campaign import progress
from annotation.selectors.campaign.cost import CampaignCost, KindCost
from annotation.selectors.campaign.glance import forecast_from
from tests.factories import some_images
from tests.queue.world import World

pytestmark = pytest.mark.django_db


def test_answers_of_models_to_come_earn_nothing():
    """A finished image took 65 answers of people, and 15 of a model annotator, which earn nothing."""
    world = World(some_images(2))
    now = replace(
        progress.funnel(world.campaign),
        images=100,
        complete=50,
        finished=50,
        answers=0,
        answers_finished=50 * 80,
    )
    people, earned = 50 * 65, 50 * 65 * 10_000
    cost = CampaignCost(
        currency="USD",
        answers=people,
        seconds=0.0,
        earned=earned,
        paid=0,
        in_hand=0,
        hourly=None,
        kinds={q.BOX_DRAWING: KindCost(answers=people, model_answers=50 * 15)},
    )
    result = forecast_from(world.campaign, now, {}, cost)
    assert (result.answers, result.pay) == (50 * 80, earned)
