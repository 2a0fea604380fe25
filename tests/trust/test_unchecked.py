"""Work in a campaign without control items; once there are some, workers are checked from the next lease
on."""

from __future__ import annotations

from typing import Any

import pytest

from annotation import campaigns
from annotation.datasets import layer_rows
from annotation.datasets.exporting import check_export, notes_on
from annotation.models import Judgment, OpenImage, TrustState, Worker
from annotation.moderation import control_items, trust_replay
from annotation.protocol import questions as q
from annotation.protocol.trust import SUSPENDED, WARM_UP
from annotation.quality import worker_trust
from annotation.queue import leases
from annotation.queue.leases import Lease
from annotation.queue.submission import Answer
from annotation.selectors.campaign.crowd import workers
from tests.factories import a_corpus, some_images
from tests.queue.world import World
from tests.trust.scenes import crowd_works, gold, scenes

pytestmark = pytest.mark.django_db


def told_again(world: World) -> bool:
    """Return whether every trust state follows from the stored answers."""
    return all(
        trust_replay.replay_row(row) == worker_trust.trust_from_row(row) for row in TrustState.objects.all()
    )


def reads(world: World) -> set[str]:
    world.campaign.refresh_from_db()
    return {kind.state for row in workers(world.campaign) for kind in row.kinds}


def draw_badly(world: World, boxes: int) -> TrustState:
    """Let worker 0 draw and worker 1 call each box bad; return the drawer's trust state."""
    for _ in range(boxes):
        result = world.take(0, q.BOX_DRAWING)
        if not isinstance(result, Lease):
            break
        world.submit(0, result, then=False)
        world.submit(1, world.held(1, q.BOX_QUALITY), Answer("bad"), then=False)
    return TrustState.objects.get(worker=world.workers[0], kind=q.BOX_DRAWING)


def test_with_default_settings_and_no_items_all_kinds_are_worked_on_and_nobody_is_suspended():
    # Eight: with five, sometimes nobody is left for an image.
    world = scenes(3, settings={}, workers=8)
    crowd_works(world, ["careful"] * 6 + ["random", "always_yes"])
    done = Judgment.objects.filter(campaign=world.campaign)
    assert set(done.values_list("kind", flat=True)) == set(q.QUESTIONS)
    assert all(image.complete or image.in_review for image in world.images())
    assert set(TrustState.objects.values_list("state", flat=True)) <= {WARM_UP, "qualification"}
    assert "unchecked" in reads(world) and not reads(world) & {"warm_up", "suspended"}
    once = done.filter(kind__in=(q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_DRAWING, q.BOX_QUALITY))
    twice = once.filter(role="double_check").count()
    # Which are repeated is drawn by number, so by row: four standard deviations on both sides.
    assert 0.05 <= twice / once.filter(role="vote").count() <= 0.35
    assert told_again(world)


def test_items_that_come_later_check_somebody_who_is_there_and_take_nothing_from_them():
    world = scenes(8, settings={}, workers=2)
    # Images without questions: a worker never gets a task as a control item.
    known = [row.image.key for row in world.images()[5:]]
    OpenImage.objects.filter(image__key__in=known).delete()
    crowd_works(world, ["always_yes", "careful"], items=40)
    before = {row.pk: row.items for row in TrustState.objects.all()}
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign), images=known)
    assert told_again(world) and reads(world) <= {"warm_up", "qualification"}
    early = Judgment.objects.filter(kind=q.COREF_LINK, role=q.VOTE).count()
    layer_rows.refresh_layer_rows(world.campaign)
    chosen = check_export(
        corpus=world.corpus.name, format="jsonl", layer=world.campaign.name, include_unfinished=True
    )
    note = notes_on(chosen)[-1]
    assert f"before there were gold answers: {early} to coref_link" in note
    crowd_works(world, ["always_yes", "careful"])
    bad = TrustState.objects.get(worker=world.workers[0], kind=q.COREF_LINK)
    assert bad.state == SUSPENDED and bad.examined_items is None
    assert all(row.items >= before.get(row.pk, 0) for row in TrustState.objects.all())
    assert told_again(world)


@pytest.mark.parametrize("measured", [False, True])
def test_a_drawer_goes_by_verdicts_only_where_judges_are_measured(measured: bool):
    world = drawable()
    if measured:
        world.measure_verdicts()
    drawer = draw_badly(world, 30)
    assert (drawer.state == SUSPENDED, drawer.known > 0) == (measured, measured)
    assert told_again(world)


def test_verdicts_that_were_asked_for_before_there_were_items_never_count():
    world = drawable()
    assert draw_badly(world, 6).known == 0
    drawn = world.held(0, q.BOX_DRAWING)
    world.submit(0, drawn, then=False)
    early = world.held(1, q.BOX_QUALITY)
    world.measure_verdicts()
    world.submit(1, early, Answer("bad"), then=False)
    assert draw_badly(world, 3).known == 3
    assert (
        told_again(world) and trust_replay.replay_rows(TrustState.objects.values_list("pk", flat=True)) == []
    )


@pytest.mark.parametrize("tasks", ["relevance", "graded", "regions"])
def test_pairs_are_judged_and_regions_described_without_control_items(tasks: str):
    a_corpus("photos", some_images(8))
    campaign = campaigns.open_campaign(campaigns.CampaignPlan(name="c", corpus="photos", tasks=tasks))
    worker = Worker.objects.create(pseudonym="w").pk
    (kind,) = campaign.kinds
    assert isinstance(leases.take_lease(worker=worker, campaign=campaign, kind=kind), Lease)
    ((row,),) = [item.kinds for item in workers(campaign)]
    assert row.state == "unchecked"


def drawable() -> World:
    """Scenes whose boxes must be drawn, by unknown workers."""
    settings: dict[str, Any] = {"trust": {"qualification": False, "double_check_share": 0.0}}
    world = scenes(6, settings=settings)
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    return world
