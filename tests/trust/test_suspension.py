"""Suspension and reinstatement by a researcher."""

from __future__ import annotations

import pytest

from annotation.models import AuditEntry, TrustState
from annotation.moderation import control_items, trust_replay, worker_status
from annotation.moderation.worker_status import CannotDo
from annotation.protocol import questions as q
from annotation.protocol.trust import SUSPENDED, WARM_UP
from annotation.quality import worker_trust
from annotation.queue.leases import NoTask
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import crowd_works, gold, reason_of_refusal, scenes

pytestmark = pytest.mark.django_db


def test_a_suspended_worker_gets_nothing_and_reads_why_and_what_is_in_hand_counts():
    world = World(settings=TRUSTING)
    lease = world.held(0)
    assert (
        worker_status.suspend_worker(campaign=world.campaign, worker=world.workers[0], reason="too fast")
        == q.QUESTIONS
    )
    assert world.submit(0, lease, then=False).counted
    result = world.take(0)
    assert isinstance(result, NoTask) and result.code == "blocked" and "too fast" in result.text
    assert worker_status.suspend_worker(campaign=world.campaign, worker=world.workers[0]) == ()
    assert worker_status.reinstate_worker(campaign=world.campaign, worker=world.workers[0]) == q.QUESTIONS
    assert world.held(0)
    acts = list(AuditEntry.objects.order_by("id").values_list("act", flat=True))
    assert acts == ["suspend_worker", "reinstate_worker"]


def test_one_kind_only_is_suspended_where_one_is_named():
    world = World(settings=TRUSTING)
    worker_status.suspend_worker(campaign=world.campaign, worker=world.workers[0], kind=q.COREF_LINK)
    assert (
        reason_of_refusal(world, 0, q.COREF_LINK) == "blocked"
        and reason_of_refusal(world, 0, q.BOX_QUALITY) == "none_open"
    )


def test_whom_the_rules_suspended_begins_again_when_reinstated():
    world = scenes(8, workers=1)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    crowd_works(world, ["always_yes"])
    row = TrustState.objects.get(kind=q.COREF_LINK)
    assert row.state == SUSPENDED and row.known >= 12
    changed = worker_status.reinstate_worker(
        campaign=world.campaign, worker=world.workers[0], kind=q.COREF_LINK
    )
    assert changed == (q.COREF_LINK,)
    row.refresh_from_db()
    assert (row.state, row.items, row.known, row.last) == (WARM_UP, 0, 0, "")
    crowd_works(world, ["perfect"], items=20)
    row.refresh_from_db()
    assert row.items > 0 and row.known == row.right
    assert worker_trust.trust_from_row(row) == trust_replay.replay_row(row)


def test_a_reason_that_is_too_long_to_keep_is_refused():
    world = World(settings=TRUSTING)
    for act in (worker_status.suspend_worker, worker_status.withdraw_worker_answers):
        with pytest.raises(CannotDo, match="the reason has 201 characters; say it in 200 or fewer"):
            act(campaign=world.campaign, worker=world.workers[0], reason="x" * 201)
