"""What the campaign page warns of, and when it stops doing so."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.core.cache import cache

from annotation import campaigns
from annotation.campaigns import monitoring
from annotation.common import database
from annotation.models import Campaign, Image, Job, OpenImage, TrustState
from annotation.protocol import questions as q
from annotation.quality.controls import ControlItem, add_control_items
from annotation.queue import leases
from annotation.queue.submission import Answer
from annotation.task_types.wording import BY_KEY
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


def alarms(campaign: Campaign, *codes: str) -> list[monitoring.Alarm]:
    cache.clear()
    result = monitoring.alarms(campaign)
    return [alarm for alarm in result if alarm.code in codes] if codes else result


def codes(campaign: Campaign) -> set[str]:
    return {alarm.code for alarm in alarms(campaign)} - {"no_pictures"}


def known(world: World, count: int) -> None:
    """Known links about the world's first images, as control items."""
    images = Image.objects.filter(corpus=world.corpus).order_by("position")[:count]
    items = [ControlItem(q.COREF_LINK, "control", image.key, ("0:0-2", "1:0-1"), "yes") for image in images]
    add_control_items(campaign=world.campaign, items=list(enumerate(items, 1)), source="page")


def test_every_alarm_says_what_helps():
    a_corpus("photos", some_images(2))
    result = alarms(
        campaigns.open_campaign(campaigns.CampaignPlan(name="c", corpus="photos", tasks="entities"))
    )
    assert len(result) == 12 and all(alarm.text and alarm.remedy for alarm in result)


def test_a_campaign_at_rest_has_no_alarm_of_work_and_a_closed_one_none():
    world = World()
    campaigns.close_campaign(campaign=world.campaign)
    assert alarms(world.campaign) == []


def test_a_draft_says_that_it_is_one():
    a_corpus("photos", some_images(1))
    draft = campaigns.create_campaign(name="c", corpus="photos", tasks="entities", settings=TRUSTING)
    assert codes(draft) == {"draft"}


def test_open_questions_that_nobody_answers_are_told(clock):
    world = World(some_images(2))
    world.campaign.opened_at = clock.at
    world.campaign.save()
    clock.advance(minutes=61)
    (stalled,) = alarms(world.campaign, "stalled")
    assert "6 questions are open" in stalled.text
    world.submit(0, world.held(0), then=False)
    assert "stalled" not in codes(world.campaign)
    clock.advance(minutes=61)
    assert "stalled" in codes(world.campaign)


def test_a_complete_campaign_is_not_stalled_but_done():
    world = World(some_images(1))
    world.work()
    assert codes(world.campaign) == {"complete"}


def test_too_small_a_crowd_is_told_once_it_works():
    world = World(workers=5)
    assert "few_workers" not in codes(world.campaign)
    for worker in range(3):
        world.submit(worker, world.held(worker, q.BOX_DRAWING if worker else q.COREF_LINK), then=False)
    (few,) = alarms(world.campaign, "few_workers")
    assert few.text.startswith("3 workers")
    world.submit(3, world.held(3, q.BOX_REQUIREMENT), then=False)
    assert "few_workers" not in codes(world.campaign)
    world.campaign.settings["link_votes"] = 7
    assert "at least 7 are needed" in alarms(world.campaign, "few_workers")[0].text


def test_questions_that_every_active_worker_had_are_told():
    world = World(some_images(1), workers=2)
    world.submit(0, world.held(0, q.BOX_DRAWING), then=False)
    world.submit(1, world.held(1, q.COREF_LINK), then=False)
    assert q.BOX_QUALITY not in {alarm.kind for alarm in alarms(world.campaign, "no_worker")}
    # 0 drew the box and may not judge it; 1 gives the question back, and then there is nobody.
    lease = world.held(1, q.BOX_QUALITY)
    leases.return_lease(worker=world.workers[1], assignment=lease.id)
    result = {alarm.kind: alarm.text for alarm in alarms(world.campaign, "no_worker")}
    assert "no eligible worker for 1 of the first 1 open questions of “quality”" in result[q.BOX_QUALITY]


def test_a_task_that_ran_out_in_a_workers_hands_is_not_out_of_reach(clock):
    world = World(some_images(1), workers=1)
    world.submit(0, world.held(0, q.COREF_LINK), then=False)
    world.held(0, q.BOX_DRAWING)
    clock.advance(minutes=21)
    leases.end_expired_leases()
    assert q.BOX_DRAWING not in {alarm.kind for alarm in alarms(world.campaign, "no_worker")}


def test_a_kind_that_no_active_worker_is_admitted_to_is_told():
    world = World(some_images(5), workers=4)
    for worker in range(4):
        world.submit(worker, world.held(worker, q.BOX_DRAWING if worker else q.COREF_LINK), then=False)
    TrustState.objects.filter(kind=q.COREF_LINK).update(blocked=True)
    for worker in world.workers[1:]:
        TrustState.objects.update_or_create(
            campaign=world.campaign,
            worker_id=worker,
            kind=q.COREF_LINK,
            defaults={"state": "suspended", "changed_at": "2026-01-01T00:00:00Z"},
        )
    result = {alarm.kind: alarm.text for alarm in alarms(world.campaign, "no_worker")}
    assert "no active worker is admitted" in result[q.COREF_LINK]


def test_leases_that_nobody_sweeps_are_told(clock):
    world = World()
    world.held(0)
    clock.advance(minutes=24)
    assert "sweep" not in codes(world.campaign)
    clock.advance(minutes=2)
    (late,) = alarms(world.campaign, "sweep")
    assert late.text == (
        "1 task is still reserved for a worker whose time for it ended more than 5 minutes ago"
    )
    leases.end_expired_leases()
    assert "sweep" not in codes(world.campaign)


def test_a_campaign_whose_leases_run_out_is_told(clock):
    world = World(some_images(30))
    for worker in range(4):
        for kind in (q.COREF_LINK, q.BOX_DRAWING, q.BOX_REQUIREMENT):
            holding: Sequence[int] = ()
            for _ in range(2):
                holding = (*holding, world.held(worker, kind, holding).id)
    clock.advance(minutes=25)
    leases.end_expired_leases()
    (lost,) = alarms(world.campaign, "leases_lost")
    assert lost.text.startswith("of 24 tasks that workers had in the last hour, 24 ran out of time")
    clock.advance(minutes=61)
    assert "leases_lost" not in codes(world.campaign)


def test_a_job_that_failed_is_told_until_one_of_its_kind_follows_or_a_week_is_over():
    world = World()

    def ended(kind: str, state: str, *, days: float = 0.0) -> Job:
        at = database.now() - timedelta(days=days)
        return Job.objects.create(campaign=world.campaign, kind=kind, state=state, finished_at=at)

    ended("export_dataset", Job.DONE)
    old = ended("refresh_layer", Job.FAILED, days=8)
    assert "jobs_failed" not in codes(world.campaign)
    failed = ended("export_dataset", Job.FAILED)
    (alarm,) = alarms(world.campaign, "jobs_failed")
    assert alarm.text.startswith("1 job failed") and alarm.remedy and old.pk < failed.pk
    ended("open_images", Job.FAILED)
    (alarm,) = alarms(world.campaign, "jobs_failed")
    assert alarm.text.startswith("2 jobs failed")
    ended("export_dataset", Job.QUEUED)
    ended("open_images", Job.DONE)
    assert "jobs_failed" not in codes(world.campaign)


def test_a_test_with_one_answer_alone_is_told_in_words_and_by_key_in_a_terminal():
    world = World(settings={})
    images = Image.objects.filter(corpus=world.corpus)
    items = [
        ControlItem(q.COREF_LINK, "qualification", image.key, ("0:0-2", "1:0-1"), "no") for image in images
    ]
    add_control_items(campaign=world.campaign, items=list(enumerate(items, 1)), source="page")
    message = {alarm.kind: alarm.text for alarm in alarms(world.campaign, "qualification")}
    assert message[q.COREF_LINK] == (
        "nobody can begin “links”: all items of its test have the gold answer “no”; add some with another one"
    )
    cache.clear()
    names = [item for item in monitoring.alarms(world.campaign, words=BY_KEY) if item.code == "qualification"]
    by_key = {item.kind: item.text for item in names}
    assert "nobody can begin coref_link" in by_key[q.COREF_LINK] and "answer 'no';" in by_key[q.COREF_LINK]


def test_images_in_review_are_told_paused_or_not():
    world = World()
    OpenImage.objects.filter(pk=world.images()[0].pk).update(in_review=1)
    campaigns.pause_campaign(campaign=world.campaign, reason="lunch")
    (review,) = alarms(world.campaign, "review")
    assert review.text.startswith("1 image ") and review.remedy


def test_a_kind_without_control_items_is_told_unless_none_are_wanted():
    assert "no_controls" not in codes(World().campaign)
    watchful = {"trust": {"qualification": False}}
    world = World(name="watchful", settings=watchful)
    kinds = {alarm.kind for alarm in alarms(world.campaign, "no_controls")}
    assert kinds == set(q.QUESTIONS) - {q.BOX_DRAWING}  # a drawer is measured on the boxes they draw
    known(world, 1)
    assert q.COREF_LINK not in {alarm.kind for alarm in alarms(world.campaign, "no_controls")}


def test_control_items_that_run_out_are_told():
    # In warm-up, every item is a known one.
    trust = {"qualification": False, "warm_up_items": 5, "warm_up_known": 5}
    world = World(some_images(5), settings={"trust": trust})
    known(world, 5)
    for _ in range(3):
        world.submit(0, world.held(0), Answer("yes"), then=False)
    assert alarms(world.campaign, "controls_low", "controls_used_up") == []
    world.submit(0, world.held(0), Answer("yes"), then=False)
    (low,) = alarms(world.campaign, "controls_low", "controls_used_up")
    assert (low.code, low.kind) == ("controls_low", q.COREF_LINK) and "has seen 4 of the 5" in low.text
    world.submit(0, world.held(0), Answer("yes"), then=False)
    (ended,) = alarms(world.campaign, "controls_low", "controls_used_up")
    assert ended.code == "controls_used_up" and ended.text.startswith("1 active workers have seen all 5")


def test_pictures_that_are_missing_are_told():
    (bare,) = alarms(World().campaign, "no_pictures")
    assert bare.text.startswith("2 open images have no picture")
