"""The qualification test: its questions, their number, and its results."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.common import database
from annotation.models import Assignment, Control
from annotation.moderation import trust_replay, worker_status
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.controls import PooledControl as Item
from annotation.protocol.controls import test_items as items_of_a_test
from annotation.protocol.terms import Box
from annotation.protocol.trust import Refusal
from annotation.quality import controls, qualification, worker_trust
from annotation.quality.controls import ControlItem
from annotation.quality.qualification import TEST_ATTEMPTS
from annotation.queue import leases
from annotation.queue.leases import Lease, NoTask
from annotation.queue.submission import Answer, NotYours
from tests.factories import some_images
from tests.queue.world import World

TESTED: dict[str, Any] = {"trust": {"double_check_share": 0.0}}
#: Spans of the first caption of an image; with a mention of the second each makes a link. Without the man's,
#: whose link is a task: nobody is asked a question of their test again.
SPANS = [f"0:{start}-{end}" for start in range(7) for end in range(start + 1, 8) if (start, end) != (0, 2)]

# Selection of questions: pure


@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=4),
    count=st.integers(1, 20),
    seed=st.integers(0, 99),
    attempt=st.integers(0, 3),
)
def test_no_answer_is_right_more_than_once_oftener_than_another(sizes, count, seed, attempt):
    pool = [Item(f"{answer} {n}", str(answer)) for answer, size in enumerate(sizes) for n in range(size)]
    items = items_of_a_test(pool, count, seed=seed, worker="w", kind="k", attempt=attempt)
    counts = Counter(item.stratum for item in items)
    assert len(set(items)) == len(items) <= count
    assert max(counts.values()) - min(counts[str(answer)] for answer in range(len(sizes))) <= 1
    if min(sizes) * len(sizes) >= count:
        assert len(items) == count
    assert len(items) >= min(count, min(sizes) * len(sizes))


def test_a_test_whose_answers_are_all_the_same_is_none():
    assert (
        items_of_a_test([Item("a", "yes"), Item("b", "yes")], 12, seed=1, worker="w", kind="k", attempt=0)
        == []
    )


def test_a_retake_asks_other_items_as_long_as_there_are_any():
    pool = [Item(f"{answer} {n}", answer) for answer in ("yes", "no") for n in range(9)]
    used: Counter[str] = Counter()
    for attempt in range(3):
        items = items_of_a_test(pool, 6, seed=1, worker="w", kind="k", attempt=attempt, used=used)
        assert not {item.id for item in items} & set(used)
        used.update(item.id for item in items)
    again = items_of_a_test(pool, 6, seed=1, worker="w", kind="k", attempt=3, used=used)
    assert len(again) == 6


def test_workers_and_attempts_get_different_tests_in_an_order_that_tells_nothing():
    pool = [Item(f"{answer} {n}", answer) for answer in ("yes", "no") for n in range(18)]

    def drawn(worker: str, attempt: int) -> tuple[Item, ...]:
        return tuple(items_of_a_test(pool, 12, seed=1, worker=worker, kind="k", attempt=attempt))

    tests = {drawn(f"w{n}", attempt) for n in range(20) for attempt in range(3)}
    assert len(tests) == 60
    orders = {"".join(item.stratum[0] for item in test) for test in tests}
    assert len(orders) > 50


# The test of a worker, on rows


@pytest.fixture
def world(db) -> World:
    """A campaign that requires tests, with eighteen known links of each answer."""
    return examining()


def examining(per_answer: int = 18, **trust: Any) -> World:
    world = World(some_images(2), settings={"trust": {**TESTED["trust"], **trust}}, workers=3)
    controls.add_control_items(campaign=world.campaign, items=enumerate(links(per_answer), 1), source="page")
    return world


def links(per_answer: int) -> list[ControlItem]:
    """Return `per_answer` known links of each answer."""
    places = [(image, span) for image in ("1000", "1001") for span in SPANS][: 2 * per_answer]
    return [
        ControlItem(q.COREF_LINK, Control.QUALIFICATION, image, ("1:0-1", span), ("no", "yes")[n % 2])
        for n, (image, span) in enumerate(places)
    ]


def begin(world: World, worker: int = 0) -> qualification.QualificationTest | Refusal:
    return qualification.begin_qualification(
        worker=world.workers[worker], campaign=world.campaign, kind=q.COREF_LINK
    )


def known(lease: Lease) -> Any:
    assert lease.control is not None
    return Control.objects.get(pk=lease.control).known


def take_test(world: World, *, right: int, worker: int = 0) -> int:
    """Take a test, with the first `right` items correct; return its number of items."""
    test = begin(world, worker)
    assert isinstance(test, qualification.QualificationTest)
    for number in range(test.items):
        lease = world.held(worker)
        answer = known(lease) if number < right else {"yes": "no", "no": "yes"}[known(lease)]
        world.submit(worker, lease, Answer(answer), then=False)
    return test.items


def trust_state(world: World, worker: int = 0):
    return world.campaign.trust_states.get(worker=world.workers[worker], kind=q.COREF_LINK)


def reason_of_refusal(lease: Lease | NoTask | qualification.QualificationTest | Refusal) -> str:
    assert isinstance(lease, NoTask | Refusal), lease
    return lease.code


def test_nobody_works_before_the_test_and_somebody_who_passes_it_works(world):
    assert reason_of_refusal(world.take(0)) == "no_test"
    assert take_test(world, right=10) == 12
    assert (
        trust_state(world).state,
        trust_state(world).examined_right,
        trust_state(world).examined_items,
    ) == (
        "warm_up",
        10,
        12,
    )
    lease = world.held(0)
    assert lease.role != "qualification" and lease.task is not None


def test_a_trust_state_told_again_keeps_the_test_that_was_passed(world):
    take_test(world, right=10)
    before = worker_trust.trust_from_row(trust_state(world))
    assert trust_replay.replay_row(trust_state(world)) == before
    assert trust_replay.replay_rows([trust_state(world).pk]) == []


def test_a_test_is_balanced_and_looks_like_work(world):
    begin(world)
    rows = Assignment.objects.filter(worker=world.workers[0])
    assert Counter(rows.values_list("control__stratum", flat=True)) == {"yes": 6, "no": 6}
    lease = world.held(0)
    assert set(lease.content) == {"mentions", "boxes", "pending"} and lease.task is None


def test_answers_of_a_test_are_no_items_no_gold_answers_and_unpaid(world):
    take_test(world, right=12)
    row = trust_state(world)
    assert (row.items, row.known, row.right) == (0, 0, 0)
    assert not Assignment.objects.filter(pay__gt=0).exists()
    assert set(world.campaign.judgments.values_list("role", flat=True)) == {"qualification"}


def test_the_next_item_comes_with_the_answer_and_after_the_last_one_the_first_task(world):
    begin(world)
    lease = world.held(0)
    for _ in range(11):
        following = world.submit(0, lease, Answer(known(lease))).next
        assert isinstance(following, Lease) and following.role == "qualification"
        lease = following
    following = world.submit(0, lease, Answer(known(lease))).next
    assert isinstance(following, Lease) and following.role != "qualification"


def test_nine_of_twelve_fail_and_a_retake_asks_other_questions(world):
    take_test(world, right=9)
    assert reason_of_refusal(world.take(0)) == "test_failed"
    take_test(world, right=12)
    assert trust_state(world).state == "warm_up"
    first, second = (
        set(Assignment.objects.filter(attempt=attempt).values_list("control", flat=True))
        for attempt in (0, 1)
    )
    assert len(first) == len(second) == 12 and not first & second


def test_somebody_who_always_answers_the_same_fails(world):
    begin(world)
    for _ in range(12):
        world.submit(0, world.held(0), Answer("yes"), then=False)
    assert trust_state(world).examined_right == 6 and reason_of_refusal(world.take(0)) == "test_failed"


def test_a_test_may_be_taken_three_times(world):
    for _ in range(TEST_ATTEMPTS):
        take_test(world, right=0)
    for result in (begin(world), world.take(0)):
        assert reason_of_refusal(result) == "too_many_tests"
    assert isinstance(begin(world, 1), qualification.QualificationTest)


def test_beginning_again_goes_on_where_the_test_stands(world):
    assert begin(world) == qualification.QualificationTest(1, 12, 0)
    world.submit(0, world.held(0), then=False, answer=Answer("yes"))
    assert begin(world) == qualification.QualificationTest(1, 12, 1)
    assert Assignment.objects.count() == 12


def test_an_item_that_was_returned_or_ran_out_comes_again(world, monkeypatch):
    begin(world)
    lease = world.held(0)
    assert leases.return_lease(worker=world.workers[0], assignment=lease.id)
    again = world.held(0)
    assert (again.id, again.key) == (lease.id, lease.key)
    later = database.now() + timedelta(hours=1)
    monkeypatch.setattr(database, "now", lambda: later)
    assert leases.end_expired_leases() == 1
    assert world.held(0).id == lease.id
    assert Assignment.objects.get(pk=lease.id).state == Assignment.LEASED


def test_at_most_three_items_are_in_hand_and_each_comes_once(world):
    begin(world)
    held: list[int] = []
    for _ in range(3):
        held.append(world.held(0, holding=held).id)
    assert len(set(held)) == 3
    assert not isinstance(world.take(0, holding=held), Lease)
    assert world.held(0, holding=held[1:]).id == held[0]


def test_an_item_whose_turn_has_not_come_cannot_be_answered(world):
    begin(world)
    first = world.held(0)
    planned = Assignment.objects.filter(state=Assignment.PLANNED).exclude(pk=first.id).first()
    assert planned is not None
    lease = Lease(**{**{name: getattr(first, name) for name in first.__slots__}, "id": planned.pk})
    with pytest.raises(NotYours, match="comes later"):
        world.submit(0, lease, Answer("yes"))


def test_items_added_or_retired_meanwhile_do_not_change_a_test_under_way(world):
    begin(world)
    controls.retire_control_items(
        campaign=world.campaign, controls=list(Control.objects.values_list("id", flat=True))
    )
    for _ in range(12):
        lease = world.held(0)
        world.submit(0, lease, Answer(known(lease)), then=False)
    assert trust_state(world).state == "warm_up"


@pytest.mark.django_db
def test_a_test_of_fewer_items_is_judged_by_the_same_bar():
    world = examining(per_answer=2)
    assert take_test(world, right=3) == 4
    assert reason_of_refusal(world.take(0)) == "test_failed"
    assert take_test(world, right=4) == 4
    assert trust_state(world).state == "warm_up"


@pytest.mark.django_db
def test_without_items_there_is_no_test_and_the_campaign_page_says_what_to_do():
    world = World(settings=TESTED)
    assert reason_of_refusal(begin(world)) == "no_test_needed"
    assert isinstance(world.take(0), Lease)
    settings = settings_of(world.campaign.settings)
    reported = qualification.test_warnings(campaign=world.campaign, settings=settings)
    assert set(reported) == set(q.QUESTIONS) and "add control items for a test" in reported[q.COREF_LINK]


@pytest.mark.django_db
def test_items_that_are_all_known_to_be_the_same_are_no_test():
    world = World(settings=TESTED)
    items = [ControlItem(q.COREF_LINK, Control.QUALIFICATION, "1000", ("1:0-1", s), "no") for s in SPANS[:9]]
    controls.add_control_items(campaign=world.campaign, items=enumerate(items, 1), source="page")
    assert reason_of_refusal(begin(world)) == "no_test_items"
    settings = settings_of(world.campaign.settings)
    reported = qualification.test_warnings(campaign=world.campaign, settings=settings)
    assert "have the gold answer 'no'" in reported[q.COREF_LINK]


@pytest.mark.django_db
def test_a_short_test_is_told_of_and_a_whole_one_is_not():
    short = examining(per_answer=3)
    reported = qualification.test_warnings(campaign=short.campaign, settings=settings_of(TESTED))
    assert "the test of coref_link has 6 of 12 items" in reported[q.COREF_LINK]
    controls.add_control_items(campaign=short.campaign, items=enumerate(links(18), 1), source="page")
    reported = qualification.test_warnings(campaign=short.campaign, settings=settings_of(TESTED))
    assert q.COREF_LINK not in reported and q.BOX_QUALITY in reported


@pytest.mark.django_db
@pytest.mark.parametrize(("tight", "passes"), [(True, True), (False, False)])
def test_drawing_is_tested_by_how_far_a_box_overlaps_a_missing_one(tight, passes):
    world = World(some_images(1), settings=TESTED)
    man = Box(10, 10, 100, 200)
    items = []
    for n in range(6):
        other_box = Box(300 + n, 1, 310 + n, 9)
        control_item = ControlItem(
            q.BOX_DRAWING, Control.QUALIFICATION, "1000", ("0:0-2",), (man,), (other_box,)
        )
        items += [control_item, replace(control_item, known=(), boxes=(man, other_box))]
    controls.add_control_items(campaign=world.campaign, items=enumerate(items, 1), source="page")
    qualification.begin_qualification(worker=world.workers[0], campaign=world.campaign, kind=q.BOX_DRAWING)
    drawn = Box(12, 12, 98, 190) if tight else Box(12, 12, 98, 90)
    for _ in range(12):
        lease = world.held(0, q.BOX_DRAWING)
        world.submit(0, lease, Answer("drawn", drawn) if known(lease) else Answer("none"), then=False)
    row = world.campaign.trust_states.get(worker=world.workers[0], kind=q.BOX_DRAWING)
    assert (row.examined_right, row.state == "warm_up") == (12 if passes else 6, passes)


@pytest.mark.django_db
def test_where_no_test_is_asked_for_none_can_be_begun():
    world = examining(qualification=False)
    assert reason_of_refusal(begin(world)) == "no_test_needed"
    assert isinstance(world.take(0), Lease)


def test_who_is_taken_off_begins_no_test(world):
    worker_status.suspend_worker(
        campaign=world.campaign, worker=world.workers[0], reason="see the guidelines"
    )
    result = begin(world)
    assert (
        reason_of_refusal(result) == "blocked"
        and isinstance(result, Refusal)
        and "see the guidelines" in result.text
    )


def test_who_failed_three_tests_may_try_again_when_a_researcher_says_so(world):
    for _ in range(TEST_ATTEMPTS):
        take_test(world, right=0)
    assert worker_status.reinstate_worker(campaign=world.campaign, worker=world.workers[0]) == (q.COREF_LINK,)
    assert reason_of_refusal(world.take(0)) == "no_test"
    assert begin(world) == qualification.QualificationTest(4, 12, 0)
    for _ in range(12):
        lease = world.held(0)
        world.submit(0, lease, Answer(known(lease)), then=False)
    assert trust_state(world).state == "warm_up"
