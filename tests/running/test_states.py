"""Pausing, resuming, closing, and the rules by which a campaign stops itself."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.utils import translation

from annotation import campaigns
from annotation.campaigns import CampaignError, monitoring
from annotation.models import Account, Assignment, AuditEntry, Campaign, OpenImage
from annotation.protocol import questions as q
from annotation.queue import leases
from annotation.selectors.campaign.summaries import reason_in_words
from tests.factories import a_corpus, some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db

PAID = {**TRUSTING, "pay": {"basis": "item", "per_item": {q.BOX_DRAWING: 0.25}}}


def stopping(**stop) -> World:
    return World(settings={**PAID, "stop": stop})


def acts() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("act", flat=True))


def test_a_paused_campaign_hands_out_nothing_and_says_why():
    world = World()
    campaigns.pause_campaign(campaign=world.campaign, reason="the pictures of Tuesday are wrong")
    nothing = world.take(0)
    assert isinstance(nothing, leases.NoTask) and nothing.code == "paused"
    assert "the pictures of Tuesday are wrong" in nothing.text
    campaigns.resume_campaign(campaign=world.campaign)
    assert isinstance(world.take(0), leases.Lease) and world.campaign.reason == ""


@pytest.mark.parametrize(
    "stop", [campaigns.close_campaign, lambda **c: campaigns.pause_campaign(**c, reason="x")]
)
def test_what_is_in_hand_when_a_campaign_stops_is_taken_and_paid(stop):
    world = World(settings=PAID)
    lease = world.held(0, q.BOX_DRAWING)
    stop(campaign=world.campaign)
    receipt = world.submit(0, lease)
    assert receipt.counted and isinstance(receipt.next, leases.NoTask)
    assert Assignment.objects.get(pk=lease.id).pay == 250_000


def test_every_act_is_on_record_with_who_did_it():
    world = World()
    account = Account.objects.create(username="rita")
    before = world.campaign.revision
    campaigns.pause_campaign(campaign=world.campaign, reason="lunch", actor=account)
    campaigns.resume_campaign(campaign=world.campaign, actor=account)
    campaigns.set_stop_rules(campaign=world.campaign, rules={"images": 5}, actor=account)
    campaigns.close_campaign(campaign=world.campaign, reason="done", actor=account)
    assert acts() == ["pause_campaign", "resume_campaign", "set_stop_rules", "close_campaign"]
    assert set(AuditEntry.objects.values_list("actor__username", flat=True)) == {"rita"}
    assert AuditEntry.objects.get(act="pause_campaign").about == {"reason": "lunch"}
    assert world.campaign.revision == before + 4
    assert world.campaign.state == Campaign.CLOSED and world.campaign.ended_at is not None


def test_the_same_act_again_is_no_act():
    world = World()
    for _ in range(2):
        campaigns.resume_campaign(campaign=world.campaign)
        campaigns.pause_campaign(campaign=world.campaign, reason="lunch")
        campaigns.pause_campaign(campaign=world.campaign, reason="lunch")
        campaigns.set_stop_rules(campaign=world.campaign, rules={"images": None})
        campaigns.resume_campaign(campaign=world.campaign)
    campaigns.close_campaign(campaign=world.campaign)
    ended = world.campaign.ended_at
    campaigns.close_campaign(campaign=world.campaign)
    assert acts() == ["pause_campaign", "resume_campaign"] * 2 + ["close_campaign"]
    assert world.campaign.ended_at == ended


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda c: campaigns.pause_campaign(campaign=c, reason=""), "is closed; only an open one"),
        (lambda c: campaigns.resume_campaign(campaign=c), "is closed; only a paused one"),
        (lambda c: campaigns.set_stop_rules(campaign=c, rules={"images": 1}), "is closed; its settings"),
    ],
)
def test_nothing_leads_out_of_closed(act, message):
    world = World()
    campaigns.close_campaign(campaign=world.campaign)
    with pytest.raises(CampaignError, match=message):
        act(world.campaign)


def test_a_draft_is_neither_paused_nor_resumed():
    a_corpus("photos", some_images(1))
    draft = campaigns.create_campaign(name="c", corpus="photos", tasks="entities")
    for act in (
        lambda: campaigns.pause_campaign(campaign=draft, reason=""),
        lambda: campaigns.resume_campaign(campaign=draft),
    ):
        with pytest.raises(CampaignError, match="is a draft"):
            act()


def test_a_long_reason_is_cut_rather_than_refused():
    world = World()
    campaigns.pause_campaign(campaign=world.campaign, reason="because\n" * 100)
    assert world.campaign.reason.startswith("because because") and world.campaign.reason.endswith("…")
    assert len(world.campaign.reason) == 200


def test_a_spent_budget_pauses_and_what_is_in_hand_counts():
    world = stopping(budget=0.5)
    world.submit(0, world.held(0, q.BOX_DRAWING), then=False)
    assert monitoring.tick(world.campaign).stopped is None
    lease = world.held(1, q.BOX_DRAWING)
    tick = monitoring.tick(world.campaign)
    assert tick.stopped is not None and tick.stopped.rule == "budget"
    assert (tick.state, reason_in_words(world.campaign.reason)) == (
        Campaign.PAUSED,
        "the budget of 0.50 USD is spent or reserved",
    )
    with translation.override("de"):
        assert (
            reason_in_words(world.campaign.reason) == "das Budget von 0,50 USD ist ausgegeben oder vergeben"
        )
    assert AuditEntry.objects.get(act="pause_campaign").about["rule"] == "budget"
    assert world.submit(1, lease).counted


def test_by_the_hour_a_task_in_hand_counts_as_long_as_its_kind_takes():
    world = World(settings={**TRUSTING, "pay": {"basis": "hour", "hourly": 36.0, "idle_after": 60.0}})
    lease = world.held(0, q.BOX_DRAWING)
    pay = campaigns.states.settings_of(world.campaign.settings).pay
    assert campaigns.states.spent(world.campaign, pay) == 600_000  # a minute, as long as nothing is known
    world.submit(0, lease, seconds=0.0, then=False)
    world.held(0, q.BOX_DRAWING)
    assert campaigns.states.spent(world.campaign, pay) == 0


def test_a_campaign_stops_at_the_end_of_its_last_day(clock):
    clock.at = datetime(2027, 3, 1, 23, 59, tzinfo=UTC)
    world = stopping(until="2027-03-01")
    assert monitoring.tick(world.campaign).stopped is None
    clock.advance(minutes=2)
    stopped = monitoring.tick(world.campaign).stopped
    assert stopped is not None and stopped.text == "its last day, 2027-03-01, has passed"


def test_a_campaign_stops_when_enough_images_are_complete():
    world = stopping(images=1)
    assert monitoring.tick(world.campaign).stopped is None
    OpenImage.objects.filter(pk=world.images()[0].pk).update(complete=True)
    stopped = monitoring.tick(world.campaign).stopped
    assert stopped is not None and stopped.rule == "images"
    assert stopped.text == "1 image is complete, the number requested"


@pytest.mark.parametrize("written", ["lunch", "=", "=lunch", "=budget much USD", "=images all", "=until"])
def test_what_somebody_wrote_is_read_as_they_wrote_it(written):
    assert reason_in_words(written) == written


def test_a_stopped_campaign_goes_on_only_under_a_new_rule():
    world = stopping(images=0)
    monitoring.tick(world.campaign)
    with pytest.raises(CampaignError, match="set a new stop rule"):
        campaigns.resume_campaign(campaign=world.campaign)
    campaigns.set_stop_rules(campaign=world.campaign, rules={"images": None, "budget": 100})
    campaigns.resume_campaign(campaign=world.campaign)
    assert monitoring.tick(world.campaign).stopped is None
    assert world.campaign.settings["stop"] == {"budget": 100, "until": None, "images": None}


def test_a_tick_leaves_alone_what_a_person_paused():
    world = stopping(images=0)
    campaigns.pause_campaign(campaign=world.campaign, reason="lunch")
    tick = monitoring.tick(world.campaign)
    assert (tick.stopped, tick.state, world.campaign.reason) == (None, Campaign.PAUSED, "lunch")


def test_a_tick_sees_what_another_process_wrote():
    world = stopping(images=0)
    stale = Campaign.objects.get(pk=world.campaign.pk)
    campaigns.pause_campaign(campaign=world.campaign, reason="lunch")
    assert monitoring.tick(stale).state == Campaign.PAUSED and stale.reason == "lunch"


@pytest.mark.parametrize(
    ("day", "why"),
    [
        *(
            (day, "expected a day that exists")
            for day in ("2026-02-30", "2027-02-29", "2026-13-01", "0000-01-01")
        ),
        *((day, "expected a day in quotes") for day in ("soon", "2026-1-1", "1-1-2026", date(2026, 1, 1))),
    ],
)
def test_a_last_day_that_does_not_exist_is_refused(day, why):
    a_corpus("photos", some_images(1))
    with pytest.raises(CampaignError, match=why):
        campaigns.create_campaign(
            name="c", corpus="photos", tasks="entities", settings={"stop": {"until": day}}
        )
    world = World(name="other")
    with pytest.raises(CampaignError, match=why):
        campaigns.set_stop_rules(campaign=world.campaign, rules={"until": day})
