"""The figures of the campaign page, against a plain count of the same rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from statistics import median
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.campaigns import close_campaign, monitoring, stored_sums
from annotation.models import Assignment, Campaign, CampaignSums, OpenImage, Task
from annotation.moderation import rulings, worker_status
from annotation.moderation.worker_status import restore_worker_answers, withdraw_worker_answers
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import mention_from
from annotation.protocol.rulings import KeepApart
from annotation.queue import image_state
from annotation.queue.leases import Lease
from annotation.queue.submission import Answer
from annotation.selectors.campaign import cached, cost, crowd, glance, ledger, progress, sums
from annotation.selectors.campaign.hours import answer_hours
from tests.factories import some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db

PAY = {"basis": "item", "per_item": dict.fromkeys(q.QUESTIONS, 0.01)}
PAID: dict[str, Any] = {**TRUSTING, "pay": PAY}


def twice(share: float = 1.0) -> dict[str, Any]:
    return {**PAID, "trust": {**TRUSTING["trust"], "double_check_share": share}}


def pay_of(campaign: Campaign):
    return settings_of(campaign.settings).pay


def test_chains_are_counted_by_the_stage_that_their_fold_gives_them():
    world = World(some_images(6))
    for worker in range(4):
        for kind in q.QUESTIONS:
            result = world.take(worker, kind)
            if isinstance(result, Lease):
                world.submit(worker, result, then=False)
    stages = Counter(chain.stage for row in world.images() for chain in image_state.state_of(row).chains)
    funnel = progress.funnel(world.campaign)
    assert {stage: n for stage, n in funnel.chains.items() if n} == stages and len(stages) > 3
    assert list(funnel.chains) == list(progress.CHAIN_STAGES)


def test_images_are_counted_from_untouched_to_complete():
    world = World(some_images(5), settings=PAID)
    lease = world.held(0)
    world.submit(0, lease, then=False)
    first, second, third, *_ = sorted(world.images(), key=lambda image: image.image_id != lease.image)
    OpenImage.objects.filter(pk=first.pk).update(version=60, complete=True)
    OpenImage.objects.filter(pk=second.pk).update(version=7, in_review=2)
    OpenImage.objects.filter(pk=third.pk).update(version=0, complete=True)  # without mentions
    funnel = progress.funnel(world.campaign, fresh=True)
    assert (funnel.images, funnel.complete, funnel.finished, funnel.in_review) == (5, 2, 1, 1)
    assert (funnel.answers, funnel.answers_finished) == (0, 1)
    assert progress.complete_images(world.campaign) == 2


def test_open_tasks_are_counted_by_kind_with_what_they_want_and_what_is_held():
    world = World(some_images(3))
    held = world.held(0)
    counts = progress.open_tasks_by_kind(world.campaign)
    assert list(counts) == list(q.QUESTIONS)
    for kind, of in counts.items():
        rows = Task.objects.filter(kind=kind, state=Task.OPEN)
        assert of.open == rows.count() and of.wanting == sum(row.needed - row.live for row in rows)
        assert of.in_hand == (held.kind == kind)


def test_tasks_that_wait_for_a_double_check_are_told_apart():
    world = World(some_images(2), settings=twice())
    world.submit(0, world.held(0), then=False)
    of = progress.open_tasks_by_kind(world.campaign)[q.COREF_LINK]
    assert (of.open, of.double_checks) == (2, 1)


def test_the_pace_counts_answers_on_tasks_of_the_last_hour_and_day(clock):
    world = World(some_images(4))
    world.campaign.opened_at = clock.at
    world.submit(0, world.held(0), then=False)
    clock.advance(hours=5)
    for worker in (0, 1):
        world.submit(worker, world.held(worker, q.BOX_DRAWING), then=False)
    now = progress.throughput(world.campaign, at=clock.at)
    assert (now.last_hour, now.per_hour, now.newest_at) == (2, 3 / 5, clock.at)
    clock.advance(hours=24)
    later = progress.throughput(world.campaign, at=clock.at - timedelta(minutes=1))
    assert later.per_hour == 2 / 24
    assert progress.throughput(World(name="new").campaign).newest_at is None


def test_the_end_is_told_from_what_finished_images_took(monkeypatch, clock):
    monkeypatch.setattr(progress, "TELLING", 2)
    world = World(some_images(10))
    world.campaign.opened_at = clock.at - timedelta(hours=10)
    for worker in (0, 1):
        world.submit(worker, world.held(worker, q.BOX_REQUIREMENT), then=False)
    tasks_by_kind = progress.open_tasks_by_kind(world.campaign)
    row = replace(progress.funnel(world.campaign), complete=1, finished=1, answers=27, answers_finished=20)
    assert progress.throughput(world.campaign, at=clock.at, counts=(row, tasks_by_kind)).to_come is None
    two = replace(row, complete=2, finished=2, answers_finished=60)
    now = progress.throughput(world.campaign, at=clock.at, counts=(two, tasks_by_kind))
    assert now.to_come == 30 * 8 - 27
    assert now.ends_at == clock.at + timedelta(hours=213 / (2 / 10))


def test_what_is_to_come_stays_whatever_is_withdrawn_and_given_back(monkeypatch):
    monkeypatch.setattr(progress, "TELLING", 1)
    world = World(some_images(4), settings=PAID)
    while progress.complete_images(world.campaign) < 2:
        for worker in range(4):
            for kind in q.QUESTIONS:
                result = world.take(worker, kind)
                if isinstance(result, Lease):
                    world.submit(worker, result, then=False)
    before = glance.forecast(world.campaign, pay_of(world.campaign))
    assert before.answers and before.pay
    worker = world.workers[0]
    for _ in range(3):
        withdraw_worker_answers(campaign=world.campaign, worker=worker)
        restore_worker_answers(campaign=world.campaign, worker=worker)
    row = world.images()[-1]
    first, *_, last = (mention_from(mention).id for mention in row.mentions)
    for _ in range(3):
        ruling = rulings.make_ruling(image=row.pk, ruling=KeepApart(first, last))
        rulings.withdraw_ruling(campaign=world.campaign, ruling=ruling.ruling.pk)
    assert glance.forecast(world.campaign, pay_of(world.campaign)) == before


def test_a_closed_campaign_has_nothing_to_come():
    world = World(some_images(2), settings=PAID)
    world.submit(0, world.held(0), then=False)
    close_campaign(campaign=world.campaign)
    seen = glance.overview(world.campaign, pay_of(world.campaign))
    assert (seen.throughput.to_come, seen.pay_to_come, seen.throughput.ends_at) == (0, 0, None)


def test_what_is_open_is_the_least_that_is_to_come(monkeypatch):
    monkeypatch.setattr(progress, "TELLING", 1)
    world = World(some_images(3))
    OpenImage.objects.filter(pk=world.images()[0].pk).update(version=1, complete=True)
    counts = progress.open_tasks_by_kind(world.campaign)
    assert progress.throughput(world.campaign).to_come == sum(of.wanting for of in counts.values()) > 2


def test_a_complete_campaign_has_nothing_to_come():
    world = World(some_images(2), settings=PAID)
    world.work()
    overview = glance.overview(world.campaign, pay_of(world.campaign), fresh=True)
    assert overview.throughput.to_come == 0 and overview.pay_to_come == 0
    assert overview.funnel.complete == 2 and overview.funnel.chains["BOXED"] == 4


def test_cost_adds_up_by_kind_and_says_what_is_to_come(monkeypatch):
    monkeypatch.setattr(progress, "TELLING", 1)
    world = World(some_images(4), settings=twice(0.5))
    while progress.complete_images(world.campaign) < 2:
        for worker in range(4):
            for kind in q.QUESTIONS:
                result = world.take(worker, kind)
                if isinstance(result, Lease):
                    world.submit(worker, result, seconds=0.0, then=False)
    world.held(0, q.BOX_DRAWING) if progress.open_tasks_by_kind(world.campaign)[
        q.BOX_DRAWING
    ].wanting else None
    whole = cost.costs(world.campaign, pay_of(world.campaign))
    done = Assignment.objects.filter(state=Assignment.SUBMITTED)
    assert whole.answers == done.count() and whole.earned == 10_000 * whole.answers
    assert whole.due == whole.earned and whole.hourly is None
    held = Assignment.objects.filter(state=Assignment.LEASED).count()
    assert whole.in_hand == 10_000 * held
    assert {k: of.answers for k, of in whole.kinds.items()} == Counter(done.values_list("kind", flat=True))
    checks = done.filter(role="double_check").count()
    assert sum(of.double_checks for of in whole.kinds.values()) == checks > 0
    overview = glance.overview(world.campaign, pay_of(world.campaign), fresh=True)
    assert overview.throughput.to_come and overview.pay_to_come == 10_000 * overview.throughput.to_come


def test_agreement_is_that_of_the_first_two_people():
    world = World(some_images(4), settings=twice())
    for _ in range(4):
        world.submit(0, world.held(0), Answer("yes"), then=False)
    before = glance.agreement(world.campaign)[q.COREF_LINK]
    assert (before.drawn, before.pairs, before.waiting, before.equal) == (4, 0, 4, None)
    for number in range(4):
        world.submit(2, world.held(2), Answer("yes" if number else "no"), then=False)
    agreement = glance.agreement(world.campaign)[q.COREF_LINK]
    assert agreement.equal is not None and agreement.overlap is None
    assert (agreement.pairs, agreement.waiting, agreement.equal.value) == (4, 0, 0.75)
    shares = [(answer.answer, answer.share.value) for answer in agreement.answers]
    assert shares == [("yes", 0.875), ("no", 0.125)]


def test_after_a_second_answer_is_withdrawn_the_next_person_s_counts():
    world = World(some_images(1), settings=twice())
    world.submit(0, world.held(0), Answer("yes"), then=False)
    world.submit(1, world.held(1), Answer("no"), then=False)
    apart = glance.agreement(world.campaign)[q.COREF_LINK].equal
    assert apart is not None and apart.value == 0.0
    worker_status.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[1])
    waits = glance.agreement(world.campaign, fresh=True)[q.COREF_LINK]
    assert (waits.pairs, waits.waiting) == (0, 1)
    world.submit(2, world.held(2), Answer("yes"), then=False)
    again = glance.agreement(world.campaign, fresh=True)[q.COREF_LINK].equal
    assert again is not None and again.value == 1.0
    worker_status.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    assert glance.agreement(world.campaign, fresh=True)[q.COREF_LINK].pairs == 0


def test_drawings_agree_by_the_overlap_of_their_boxes():
    world = World(some_images(1), settings=twice())
    world.submit(0, world.held(0, q.BOX_DRAWING), then=False)
    world.submit(1, world.held(1, q.BOX_DRAWING), then=False)
    agreement = glance.agreement(world.campaign)[q.BOX_DRAWING]
    assert agreement.equal is not None and agreement.overlap is not None
    assert (agreement.pairs, agreement.equal.value, agreement.overlap.value) == (1, 1.0, 1.0)


def test_the_worker_table_says_what_a_plain_count_says():
    world = World(some_images(5), settings=PAID)
    for item in range(8):
        for kind in (q.COREF_LINK, q.BOX_DRAWING, q.BOX_REQUIREMENT):
            result = world.take(item % 4, kind)
            if isinstance(result, Lease):
                world.submit(item % 4, result, seconds=0.0, then=False)
    for n, line in enumerate(Assignment.objects.order_by("pk")):
        Assignment.objects.filter(pk=line.pk).update(seconds=float((n + 1) ** 2))
    rows = crowd.workers(world.campaign)
    assert [row.id for row in rows] == world.workers
    for row in rows:
        mine = Assignment.objects.filter(worker=row.id, state=Assignment.SUBMITTED)
        assert row.answers == mine.count() and row.earned == row.due == 10_000 * row.answers
        assert row.hourly == round(row.earned * 3600 / sum(mine.values_list("seconds", flat=True)))
        assert [k.kind for k in row.kinds] == [k for k in q.QUESTIONS if k in {k.kind for k in row.kinds}]
        for at in row.kinds:
            times = list(mine.filter(kind=at.kind).values_list("seconds", flat=True))
            assert at.answers == len(times) and at.state == "unchecked"
            assert at.median_seconds == (median(times) if times else None)


def test_accuracy_is_over_the_newest_gold_answers():
    world = World()
    world.take(0)
    response = world.campaign.trust_states.get()
    response.known, response.right, response.last = 30, 20, "10110"
    response.save()
    (kind,) = crowd.workers(world.campaign)[0].kinds
    assert (kind.known, kind.right, kind.accuracy) == (30, 20, 0.6)


def test_workers_come_page_by_page_and_by_trust_state():
    world = World(some_images(3), workers=5)
    for worker in range(5):
        world.take(worker)
    world.campaign.trust_states.filter(worker=world.workers[3]).update(state="suspended")
    first = crowd.workers(world.campaign, limit=2)
    second = crowd.workers(world.campaign, limit=2, after=first[-1].id)
    assert [row.id for row in first + second] == world.workers[:4]
    assert [row.id for row in crowd.workers(world.campaign, state="suspended")] == [world.workers[3]]
    assert [row.id for row in crowd.workers(world.campaign, only=world.workers[1:3])] == world.workers[1:3]


def test_medians_are_told_for_more_workers_than_one_statement_takes(monkeypatch):
    monkeypatch.setattr(crowd, "TOGETHER", 2)
    world = World(some_images(5), workers=5)
    for worker in range(5):
        world.submit(worker, world.held(worker), seconds=0.0, then=False)
    assert [row.kinds[0].median_seconds for row in crowd.workers(world.campaign)] == [0.0] * 5


def test_figures_that_are_quickly_counted_are_counted_whenever_they_are_read():
    world = World(some_images(2))
    before = progress.funnel(world.campaign)
    world.submit(0, world.held(0), then=False)
    assert progress.funnel(world.campaign) != before
    assert glance.overview(world.campaign, pay_of(world.campaign)).counted_at is None


def test_figures_that_are_slowly_counted_are_kept_until_somebody_acts_and_say_how_old_they_are(monkeypatch):
    monkeypatch.setattr(cached, "SLOW", 0.0)
    world = World(some_images(2))
    pay = pay_of(world.campaign)
    before = glance.overview(world.campaign, pay)
    world.submit(0, world.held(0), then=False)
    later = glance.overview(world.campaign, pay)
    assert (later.funnel, later.since) == (before.funnel, 1)
    assert later.counted_at == before.counted_at is not None
    recounted = glance.overview(world.campaign, pay, fresh=True)
    assert recounted.funnel != before.funnel and recounted.since == 0
    world.submit(1, world.held(1), then=False)
    withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    assert progress.funnel(world.campaign).answers == 1


@pytest.mark.parametrize("images", [1, 6])
def test_the_number_of_queries_does_not_depend_on_the_size(images):
    world = World(some_images(images))
    for worker in range(images if images < 4 else 4):
        world.submit(worker, world.held(worker), then=False)
    with CaptureQueriesContext(connection) as queries:
        glance.overview(world.campaign, pay_of(world.campaign))
        crowd.workers(world.campaign)
    # Each figure that may be kept asks for the newest act.
    assert len(queries) <= 33
    with CaptureQueriesContext(connection) as queries:
        monitoring.tick(world.campaign)
    assert len(queries) <= 22


@pytest.mark.parametrize("in_the_database", [False, True])
def test_sums_that_are_kept_and_added_to_are_those_of_all_answers(in_the_database, monkeypatch, clock):
    world = World(some_images(6), settings=PAID)
    at = clock.at
    monkeypatch.setattr("annotation.selectors.campaign.ledger.timezone.now", clock)

    def reference() -> Counter[tuple[int, str, str]]:
        done = Assignment.objects.filter(state=Assignment.SUBMITTED)
        return Counter(done.values_list("worker", "kind", "role"))

    for item in range(8):
        worker, kind = item % 3, (q.COREF_LINK, q.BOX_DRAWING)[item % 2]
        world.submit(worker, world.held(worker, kind), seconds=0.0, then=False)
        clock.advance(minutes=4)
        if in_the_database:
            cache.clear()
            if item % 2:
                stored_sums.store_sums(world.campaign)
        lines = sums.earned(world.campaign)
        assert {(line.worker, line.kind, line.role): line.answers for line in lines} == reference()
        assert all(line.pay == 10_000 * line.answers for line in lines)
        hours = answer_hours(world.campaign)
        assert sum(hour.answers for hour in hours.values()) == reference().total()
        assert sum(hour.pay for hour in hours.values()) == sum(line.pay for line in lines)
    assert clock.at - at > 3 * ledger.UNSETTLED
    assert CampaignSums.objects.count() == (2 if in_the_database else 0)


def test_sums_in_the_database_are_read_where_no_process_keeps_any_and_added_up_again_each_day(
    monkeypatch, clock
):
    world = World(some_images(6), settings=PAID)
    monkeypatch.setattr("annotation.selectors.campaign.ledger.timezone.now", clock)
    world.submit(0, world.held(0), seconds=0.0, then=False)
    clock.advance(minutes=11)
    stored_sums.store_sums(world.campaign)
    right = sums.earned(world.campaign)
    # What is kept is read: a wrong sum shows, until all answers are counted again.
    row = CampaignSums.objects.get(what=CampaignSums.EARNED)
    row.sums[0][3] += 100
    row.save()

    def now(**later: int) -> int:
        cache.clear()
        clock.advance(**later)
        return sums.earned(world.campaign)[0].answers

    assert now() == right[0].answers + 100
    stored_sums.store_sums(world.campaign)
    world.submit(1, world.held(1), seconds=0.0, then=False)
    assert now(minutes=11) == right[0].answers + 100
    stored_sums.store_sums(world.campaign)
    assert now() == right[0].answers + 100
    world.campaign.revision += 1
    world.campaign.save()
    assert now() == right[0].answers
    world.campaign.revision -= 1
    world.campaign.save()
    clock.advance(hours=25)
    stored_sums.store_sums(world.campaign)
    assert now() == right[0].answers
    assert len(sums.earned(world.campaign)) == 2
    close_campaign(campaign=world.campaign)
    world.campaign.refresh_from_db()
    stored_sums.store_sums(world.campaign)
    with CaptureQueriesContext(connection) as queries:
        stored_sums.store_sums(world.campaign)
    assert len(queries) == 2


def test_what_is_kept_of_the_sums_is_not_added_up_again(monkeypatch, clock):
    world = World(some_images(3), settings=PAID)
    monkeypatch.setattr("annotation.selectors.campaign.ledger.timezone.now", clock)
    world.submit(0, world.held(0), seconds=0.0, then=False)
    clock.advance(minutes=11)
    before = sums.earned(world.campaign)
    with CaptureQueriesContext(connection) as queries:
        assert sums.earned(world.campaign) == before
    (query,) = queries.captured_queries
    assert "annotation_truststate" in query["sql"]


@pytest.mark.parametrize("in_the_database", [False, True])
def test_answers_that_end_before_what_is_kept_are_counted_once_the_clock_is_set_back(
    in_the_database, monkeypatch, clock
):
    world = World(some_images(6), settings=PAID)
    monkeypatch.setattr("annotation.selectors.campaign.ledger.timezone.now", clock)

    def stored() -> int:
        if in_the_database:
            stored_sums.store_sums(world.campaign)
            cache.clear()
        earned = sum(line.answers for line in sums.earned(world.campaign))
        assert sum(hour.answers for hour in answer_hours(world.campaign).values()) == earned
        return earned

    world.submit(0, world.held(0), seconds=0.0, then=False)
    clock.advance(hours=2)  # too fast
    world.submit(1, world.held(1), seconds=0.0, then=False)
    assert stored() == 2
    clock.advance(hours=-2)
    world.submit(2, world.held(2), seconds=0.0, then=False)
    assert stored() == 3


def test_a_process_that_is_used_every_day_counts_its_sums_again_once_a_day(monkeypatch, clock):
    world = World(some_images(6), settings=PAID)
    monkeypatch.setattr("annotation.selectors.campaign.ledger.timezone.now", clock)

    def earned(**later: int) -> int:
        clock.advance(**later)
        return sum(line.answers for line in sums.earned(world.campaign))

    world.submit(0, world.held(0), seconds=0.0, then=False)
    assert earned(hours=2) == 1
    clock.advance(hours=-2)
    world.submit(1, world.held(1), seconds=0.0, then=False)
    # Nobody looked before the clock had caught up: nothing tells that it was set back.
    assert earned(hours=3) == 1
    assert [earned(hours=8) for _ in range(3)] == [1, 1, 2]
    # The periodic work counts again first: its row is read, and not all of the ledger.
    clock.advance(hours=24)
    stored_sums.store_sums(world.campaign)
    with CaptureQueriesContext(connection) as queries:
        assert earned(hours=2) == 2
    assert not any("NOT INDEXED" in query["sql"] for query in queries.captured_queries)
    assert any("annotation_campaignsums" in query["sql"] for query in queries.captured_queries)
