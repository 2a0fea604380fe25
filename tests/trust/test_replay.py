"""A trust state replayed from stored rows equals the current one."""

from __future__ import annotations

import pytest

from annotation.models import TrustState
from annotation.moderation import control_items, trust_replay
from annotation.protocol.trust import SUSPENDED
from annotation.quality import worker_trust
from tests.trust.scenes import crowd_works, gold, scenes

pytestmark = pytest.mark.django_db


def stored_state(row: TrustState):
    return trust_replay.replay_row(row)


@pytest.mark.slow  # the default run has `derived/test_machine`, after each step
def test_every_trust_state_of_a_crowd_is_told_again_as_it_is():
    world = scenes(5, workers=5)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    crowd_works(world, ["careful", "average", "sloppy", "random", "always_yes"])
    rows = list(TrustState.objects.all())
    assert len(rows) == 5 * 6
    assert {stored_state(row) == worker_trust.trust_from_row(row) for row in rows} == {True}
    states = {row.state for row in rows}
    assert SUSPENDED in states and "warm_up" in states
    assert trust_replay.replay_rows([row.pk for row in rows]) == []
