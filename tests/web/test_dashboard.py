"""The part of a campaign's page that updates itself: its charts, its tag, its cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation import campaigns
from annotation.models import Assignment, Bonus, OpenImage
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.selectors.campaign.glance import overview
from annotation.selectors.campaign.hours import answer_hours, done_hours
from annotation.selectors.campaign.series import campaign_series
from annotation.web.staff.dashboard import part
from annotation.workers.bonuses import give_bonus, withdraw_bonus
from tests import worlds
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.web import world as people
from tests.web.staff import words

pytestmark = pytest.mark.django_db

PAY = {"basis": "item", "currency": "EUR", "per_item": {q.COREF_LINK: 0.02, q.BOX_DRAWING: 0.05}}


SETTINGS = {
    **TRUSTING,
    "trust": {**TRUSTING["trust"], "double_check_share": 1.0},
    "pay": PAY,
    "stop": {"budget": 10.0},
}


def _build() -> World:
    world = World(some_images(3), settings=SETTINGS)
    world.work()
    return world


@pytest.fixture
def world(db) -> World:
    return worlds.again("three images answered, paid by item, with a budget", _build)


@pytest.fixture
def ada():
    return people.signed_in("ada", "researcher")


@pytest.fixture
def address(world) -> str:
    return reverse("dashboard", args=[world.campaign.name]) + "?part=1"


def test_an_unchanged_dashboard_is_an_empty_answer_of_a_few_queries(world, ada, address):
    first = ada.get(address)
    assert first.status_code == 200 and first.content.count(b"<svg") == 4
    with CaptureQueriesContext(
        connection,
    ) as queries:
        again = ada.get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert len(queries) <= 8, [item["sql"] for item in queries]


def test_an_answer_and_an_act_change_the_dashboard_and_its_tag(world, ada, address, monkeypatch):
    tag = ada.get(address)["ETag"]
    campaigns.pause_campaign(campaign=world.campaign, reason="lunch")
    paused = ada.get(address, headers={"If-None-Match": tag})
    assert paused.status_code == 200 and paused["ETag"] != tag
    campaigns.resume_campaign(campaign=world.campaign)
    monkeypatch.setattr(part, "HELD", 0)
    tag = ada.get(address)["ETag"]
    newest = Assignment.objects.filter(state=Assignment.SUBMITTED, task__isnull=False).latest("pk")
    assert newest.ended_at is not None
    Assignment.objects.filter(pk=newest.pk).update(ended_at=newest.ended_at + timedelta(hours=1))
    cache.clear()
    assert ada.get(address, headers={"If-None-Match": tag}).status_code == 200


def test_answers_that_come_fast_are_drawn_every_ten_seconds_at_most(world, ada, address, monkeypatch):
    monkeypatch.setattr(part, "HELD", 200)
    tag = ada.get(address)["ETag"]
    monkeypatch.setattr(part, "newest_answer_at", lambda campaign: timezone.now())
    assert ada.get(address, headers={"If-None-Match": tag}).status_code == 304


def test_the_charts_are_plain_svg_with_their_data_as_tables_below(world, ada, address):
    page = ada.get(reverse("dashboard", args=[world.campaign.name]))
    text = page.content.decode()
    assert text.count("<svg") == text.count('role="img"') == 4 and "style=" not in text.split("<main", 1)[1]
    assert "currentColor" in text and "#000000" not in text
    page_text = words(page)
    for item in ("Answers an hour", "Images done", "3 of 3 images are done.", "Cost against budget",
                 "of the budget of 10.00 EUR", "Agreement by question"):  # fmt: skip
        assert item in page_text
    assert text.count(">UTC</text>") == 3, "the three axes of times say their zone"
    assert text.count("<summary>") >= 3


def test_a_worker_sees_no_dashboard_and_a_reviewer_no_button_that_they_may_not_press(world, address):
    assert people.signed_in("wanda", "annotator").get(address).status_code == 403
    rev, researcher = people.signed_in("rev", "reviewer"), people.signed_in("bob", "researcher")
    assert reverse("jobs", args=["quay"]) in researcher.get(address).content.decode()
    assert reverse("jobs", args=["quay"]) not in rev.get(address).content.decode()


def test_hours_add_up_to_what_was_answered_and_earned_and_done(world):
    hours = answer_hours(world.campaign)
    done = Assignment.objects.filter(campaign=world.campaign, state=Assignment.SUBMITTED)
    assert sum(hour.answers for hour in hours.values()) == done.filter(task__isnull=False).count() > 0
    assert sum(hour.pay for hour in hours.values()) == sum(done.values_list("pay", flat=True)) > 0
    assert sum(done_hours(world.campaign).values()) == OpenImage.objects.filter(complete=True).count() == 3


def test_hours_that_are_kept_and_those_that_came_since_are_counted_once(world):
    early = timezone.now() - timedelta(days=2)
    rows = list(Assignment.objects.filter(state=Assignment.SUBMITTED).order_by("pk"))
    Assignment.objects.filter(pk__in=[row.pk for row in rows[:4]]).update(ended_at=early)
    cache.clear()
    answer_hours(world.campaign)  # cached from here on
    late = Assignment.objects.filter(pk=rows[-1].pk)
    late.update(ended_at=timezone.now())
    hours = answer_hours(world.campaign)
    assert sum(hour.answers for hour in hours.values()) == len([row for row in rows if row.task_id])
    assert hours[early.astimezone(UTC).replace(minute=0, second=0, microsecond=0)].answers == 4


def test_bonuses_count_towards_the_budget_in_the_chart_too(world, ada, address):
    settings = settings_of(world.campaign.settings)
    earned = overview(world.campaign, settings.pay).cost.earned
    for amount in (2_000_000, 500_000):
        give_bonus(campaign=world.campaign, workers=world.workers[:1], amount=amount, reason="thorough")
    twice = Bonus.objects.get(amount=500_000)
    withdraw_bonus(campaign=world.campaign, bonus=twice.pk, reason="twice")
    series = campaign_series(world.campaign, settings, overview(world.campaign, settings.pay))
    assert series.cost[-1][1] == earned + 2_000_000 and series.bonuses == 2_000_000
    text = words(ada.get(address))
    assert "Bonuses of 2.00 EUR are included." in text and "Earned, bonuses included" in text


def test_running_totals_end_at_the_sums_and_forecasts_begin_there(world):
    settings = settings_of(world.campaign.settings)
    series = campaign_series(world.campaign, settings, overview(world.campaign, settings.pay))
    assert series.done[-1][1] == 3 == series.images and series.images_end is None
    assert series.cost[0][1] == 0 and series.cost[-1][1] == overview(world.campaign, settings.pay).cost.earned
    assert series.budget == 10_000_000
    assert [at for at, _n in series.cost] == sorted(at for at, _n in series.cost)
    assert all(isinstance(at, datetime) for at, _n in series.answers)
