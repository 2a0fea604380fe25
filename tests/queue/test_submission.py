"""What happens to an answer: counted, superseded, extra, repeated, refused; and its effects."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F

from annotation.common import database
from annotation.models import Assignment, Flag, Judgment, Move, Task, TrustState
from annotation.protocol import questions as q
from annotation.protocol.questions import BadJudgment
from annotation.protocol.terms import Box
from annotation.queue import image_state, leases, submission
from annotation.queue.submission import Answer
from tests.factories import some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db


def later(monkeypatch, minutes):
    at = database.now() + timedelta(minutes=minutes)
    monkeypatch.setattr(database, "now", lambda: at)


def task_of(lease: leases.Lease) -> Task:
    assert lease.task is not None
    return Task.objects.get(pk=lease.task)


def test_right_answers_to_everything_complete_every_image():
    world = World(some_images(3))
    assert world.work() > 0
    for row in world.images():
        assert row.complete and row.in_review == 0
        state = image_state.state_of(row)
        assert state.complete
        assert {c["s"] for c in row.state["chains"]} <= {"BOXED", "NON_VISUAL"}
    assert not Task.objects.filter(state=Task.OPEN).exists()
    assert Judgment.objects.count() == Assignment.objects.filter(state=Assignment.SUBMITTED).count()


def test_every_step_of_the_box_loop_is_a_row_once():
    world = World(some_images(1))
    world.work()
    (row,) = world.images()
    logged = Move.objects.filter(image=row, undone_at=None).order_by("chain", "number")
    assert [[m.stage, m.outcome, m.next] for m in logged] == [
        move
        for chain in sorted(row.state["chains"], key=lambda c: " ".join(c["m"]))
        for move in chain["moves"]
    ]


def test_the_same_token_again_stores_nothing_and_says_the_same():
    world = World()
    lease = world.held(0)
    first = world.submit(0, lease, token="once")
    second = world.submit(0, lease, token="once")
    assert not first.repeated and second.repeated
    assert second.next == first.next
    assert Judgment.objects.count() == 1


def test_another_token_for_an_answered_task_is_a_conflict():
    world = World()
    lease = world.held(0)
    world.submit(0, lease, token="one")
    with pytest.raises(submission.Conflict, match="already answered this task"):
        world.submit(0, lease, token="two")
    assert Judgment.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_token_for_two_tasks_is_a_conflict_and_the_second_task_stays_in_hand():
    world = World()
    lease = world.held(0)
    following = world.submit(0, lease, token="one").next
    assert isinstance(following, leases.Lease)
    with pytest.raises(submission.Conflict, match="used for another task"):
        world.submit(0, following, token="one")
    assert Judgment.objects.count() == 1
    assert world.held(0).id == following.id


def test_nobody_hands_in_what_another_holds():
    world = World()
    lease = world.held(0)
    with pytest.raises(submission.NotYours):
        world.submit(1, lease)


@pytest.mark.parametrize(
    "answer",
    [
        Answer("maybe"),
        Answer("yes", Box(1, 1, 2, 2)),
        Answer(),
        Answer("yes", flag="offensive"),
        Answer(flag="bored"),
    ],
)
def test_an_answer_that_its_question_does_not_take_is_refused_and_loses_nothing(answer):
    world = World()
    lease = world.held(0)
    with pytest.raises(BadJudgment):
        world.submit(0, lease, answer)
    assert world.held(0).id == lease.id
    assert world.submit(0, lease).counted


def test_a_box_outside_the_picture_is_refused():
    world = World()
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    lease = world.held(0, q.BOX_DRAWING)
    with pytest.raises(BadJudgment, match="500 x 375"):
        world.submit(0, lease, Answer("drawn", Box(1, 1, 501, 375)))
    assert world.submit(0, lease, Answer("drawn", Box(1, 1, 500, 375))).counted


def test_how_a_box_came_about_is_stored_and_changes_nothing_else():
    states = []
    for name, way in (("quay", "extreme"), ("pier", "")):
        world = World(name=name)
        world.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
        lease = world.held(0, q.BOX_DRAWING)
        world.submit(0, lease, replace(world.right(lease), way=way), then=False)
        assert Judgment.objects.get(assignment=lease.id).way == way
        states.append(task_of(lease).state)
    assert states[0] == states[1]


def test_a_late_answer_takes_a_place_that_is_left(monkeypatch):
    world = World()
    lease = world.held(0)
    later(monkeypatch, 30)
    assert leases.end_expired_leases() == 1
    assert world.submit(0, lease, then=False).counted
    task = task_of(lease)
    assert task.state == Task.SETTLED and task.live == 1


def test_a_late_answer_to_a_closed_question_is_kept_paid_and_superseded(monkeypatch):
    world = World(
        some_images(1), settings={**TRUSTING, "pay": {"basis": "item", "per_item": {q.COREF_LINK: 0.02}}}
    )
    lease = world.held(0)
    later(monkeypatch, 30)
    leases.end_expired_leases()
    another = world.held(1)
    assert another.task == lease.task
    world.submit(1, another, then=False)
    receipt = world.submit(0, lease, then=False)
    assert not receipt.counted
    assert Assignment.objects.get(pk=lease.id).pay == 20_000
    assert Judgment.objects.get(assignment=lease.id).role == q.VOTE


def test_a_late_answer_while_another_holds_the_only_place_is_extra(monkeypatch):
    world = World(some_images(1))
    lease = world.held(0)
    later(monkeypatch, 30)
    leases.end_expired_leases()
    another = world.held(1)
    assert another.task == lease.task
    assert not world.submit(0, lease, then=False).counted
    assert Judgment.objects.get(assignment=lease.id).role == q.EXTRA
    assert task_of(lease).state == Task.OPEN
    assert world.submit(1, another, then=False).counted


def test_two_votes_are_asked_of_two_workers_and_the_second_waits_for_the_first():
    world = World(some_images(1), settings={**TRUSTING, "link_votes": 3})
    item, two = world.held(0), world.held(1)
    assert item.task == two.task
    task = task_of(item)
    assert (task.needed, task.live) == (2, 2)
    world.submit(0, item, then=False)
    world.submit(1, two, world.wrong_answer(two), then=False)
    task.refresh_from_db()
    assert (task.needed, task.live, task.state) == (3, 2, Task.OPEN)
    assert world.held(2).task == task.pk


def test_a_flag_hides_the_task_from_that_worker_and_asks_another():
    world = World(some_images(1))
    lease = world.held(0)
    receipt = world.submit(0, lease, Answer(flag="chunk_wrong", comment="two people"))
    assert Flag.objects.get().comment == "two people"
    assert not isinstance(receipt.next, leases.Lease)
    assert world.held(1).task == lease.task
    world.submit(1, world.held(1), Answer(flag="chunk_wrong"), then=False)
    assert world.images()[0].in_review == 1


def test_a_share_of_single_answers_is_asked_twice_outside_the_fold():
    twice = {**TRUSTING["trust"], "double_check_share": 1.0}
    world = World(some_images(1), settings={"trust": twice})
    lease = world.held(0)
    world.submit(0, lease, then=False)
    task = task_of(lease)
    assert (task.state, task.role, task.needed, task.live) == (Task.OPEN, q.DOUBLE_CHECK, 2, 1)
    result = world.take(0)
    assert not isinstance(result, leases.Lease) or result.task != lease.task
    check = world.held(1)
    assert check.task == lease.task and check.role == q.DOUBLE_CHECK
    before = world.images()[0].state["chains"]
    world.submit(1, check, world.wrong_answer(check), then=False)
    task.refresh_from_db()
    assert task.state == Task.SETTLED
    assert world.images()[0].state["chains"] == before


def test_the_drawer_never_judges_their_own_box():
    world = World(some_images(1), workers=2)
    world.measure_verdicts()
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    drawing = world.held(0, q.BOX_DRAWING)
    world.submit(0, drawing, then=False)
    result = world.take(0, q.BOX_QUALITY)
    assert isinstance(result, leases.NoTask) and result.code == "all_judged"
    quality = world.held(1, q.BOX_QUALITY)
    world.submit(1, quality, then=False)
    assert TrustState.objects.get(worker=world.workers[0], kind=q.BOX_DRAWING).last == "1"


def test_every_answer_counts_as_an_item_of_the_trust_state():
    world = World()
    lease = world.held(0)
    world.submit(0, lease, then=False)
    assert TrustState.objects.get(worker=world.workers[0], kind=q.COREF_LINK).items == 1


def test_time_is_paid_as_far_as_the_page_saw_it(monkeypatch):
    world = World(settings={**TRUSTING, "pay": {"basis": "hour", "hourly": 36.0, "idle_after": 60.0}})
    lease = world.held(0)
    later(monkeypatch, 10)
    world.submit(0, lease, seconds=30.0, then=False)
    assigned = Assignment.objects.get(pk=lease.id)
    assert (assigned.seconds, assigned.pay) == (30.0, 300_000)
    lease = world.held(0)
    later(monkeypatch, 10)
    world.submit(0, lease, then=False)
    assert Assignment.objects.get(pk=lease.id).seconds == 60.0


def test_no_task_is_over_assigned_after_everything():
    world = World(some_images(4))
    world.work()
    assert not Task.objects.filter(live__gt=F("needed")).exists()


def test_a_connection_just_in_use_is_not_asked_whether_it_lives(monkeypatch):
    clock = [database.monotonic() + 1000]
    monkeypatch.setattr(database, "monotonic", lambda: clock[0])
    requested = []
    for pause in (0, database.ALIVE / 2, database.ALIVE + 1):
        clock[0] += pause
        connection.health_check_done = False  # type: ignore[attr-defined]
        database.spare_the_check()
        requested.append(not connection.health_check_done)  # type: ignore[attr-defined]
    assert requested == [True, False, True]
