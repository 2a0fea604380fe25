"""A worker changes one of their last answers: the result is as if they had given it at once, or the answer
stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import StringIO
from random import Random
from threading import Barrier, Thread
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command
from django.db import connection

from annotation.common import database
from annotation.models import Assignment, AuditEntry, Campaign, Control, Flag, Judgment, Task, TrustState
from annotation.moderation.control_items.from_answers import PROMOTED_SOURCE
from annotation.moderation.reopening import CannotReopen, change_answer, reopen_answer
from annotation.moderation.trust_replay import events_of, replay_row
from annotation.protocol import questions as q
from annotation.protocol.questions import BadJudgment
from annotation.protocol.terms import Box
from annotation.protocol.trust import SUSPENDED, TRUSTED, BoxJudged
from annotation.protocol.work import PaySettings
from annotation.quality import controls, worker_trust
from annotation.queue import leases
from annotation.queue.image_state import state_of
from annotation.queue.leases import Lease, ended_lease
from annotation.queue.submission import Answer
from annotation.selectors.campaign.glance import overview
from annotation.selectors.drawing_ways import drawing_ways
from annotation.selectors.workers.recent_answers import (
    CHANGEABLE_FOR,
    LATER_ANSWERS,
    recent_answers,
)
from annotation.simulation_driver.soundness import violations
from annotation.web.staff.campaign_tables import worded_acts
from tests.queue.world import TRUSTING, World
from tests.rehearsal.play import Play, check_database
from tests.rehearsal.script import Script, pictured
from tests.review.world import HAT, MAN, THE_MAN, answer, chain, held, image, report, the_world
from tests.sizes import sized
from tests.web.staff import words
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db


def change(world: World, lease: Lease, provided: Answer, *, worker: int = 0) -> bool:
    return change_answer(worker=world.workers[worker], assignment=lease.id, answer=provided)


def stands(world: World, lease: Lease, why: str, *, worker: int = 0) -> None:
    """Check that the answer cannot be changed, is not listed as such, and that an attempt changes nothing."""
    before = list(Judgment.objects.order_by("pk").values())
    another = Answer("none" if lease.kind == q.BOX_DRAWING else "no")
    for attempt in (
        lambda: reopen_answer(worker=world.workers[worker], assignment=lease.id),
        lambda: change(world, lease, another, worker=worker),
    ):
        with pytest.raises(CannotReopen, match=why):
            attempt()
    assert list(Judgment.objects.order_by("pk").values()) == before


def test_a_changed_answer_leaves_what_the_answer_given_at_once_would_have():
    slip, steady = the_world(name="slip"), the_world(name="steady")
    lease = answer(slip, q.COREF_LINK, "no")
    answer(steady, q.COREF_LINK, "yes")
    assert change(slip, lease, Answer("yes"))
    of_slip, of_steady = image(slip), image(steady)
    assert of_slip.state == of_steady.state
    open_tasks = Task.objects.filter(state=Task.OPEN).order_by("kind", "key")
    assert [*open_tasks.filter(image=of_slip).values("kind", "needed", "live")] == [
        *open_tasks.filter(image=of_steady).values("kind", "needed", "live")
    ]
    assert change(slip, lease, Answer("no"))
    assert chain(image(slip), MAN)["m"] == [MAN]


def test_a_change_is_audited_and_saying_the_same_again_is_none():
    world = the_world()
    lease = answer(world, q.COREF_LINK, "no")
    assert not change(world, lease, Answer("no"))
    assert change(world, lease, Answer("yes"))
    assert not change(world, lease, Answer("yes"))
    entry = AuditEntry.objects.get(act="change_answer")
    assert entry.about["before"] == {"answer": "no"} and entry.about["after"] == {"answer": "yes"}
    assert entry.about["assignment"] == lease.id


def test_what_the_question_does_not_take_is_refused():
    world = the_world()
    lease = answer(world, q.COREF_LINK, "no")
    with pytest.raises(BadJudgment):
        change(world, lease, Answer("good"))
    assert Judgment.objects.get(assignment=lease.id).answer == "no"


def test_pay_and_time_stay():
    world = the_world(pay={"basis": "item", "per_item": {q.COREF_LINK: 0.5}})
    lease = answer(world, q.COREF_LINK, "no")
    before = Assignment.objects.values("pay", "seconds", "state", "token", "ended_at").get(pk=lease.id)
    change(world, lease, Answer("yes"))
    assert before["pay"] == 500_000
    assert (
        Assignment.objects.values("pay", "seconds", "state", "token", "ended_at").get(pk=lease.id) == before
    )


def test_what_others_built_on_a_changed_answer_stays_stored_and_paid_and_is_counted():
    pay = {"basis": "item", "per_item": {q.CHAIN_VERIFICATION: 0.5}}
    world = the_world(pay=pay)
    lease = answer(world, q.COREF_LINK, "yes")
    built = answer(world, q.CHAIN_VERIFICATION, "true", worker=1)
    assert change(world, lease, Answer("no"))
    assert chain(image(world), MAN)["m"] == [MAN]
    assert Assignment.objects.get(pk=built.id).pay == 500_000
    assert Judgment.objects.get(assignment=built.id).name in state_of(image(world)).superseded
    assert AuditEntry.objects.get(act="change_answer").about["superseded"] == 1
    seen = overview(world.campaign, PaySettings(), fresh=True)
    assert (seen.superseded, seen.superseded_share) == (1, 1 / 2)
    out = StringIO()
    call_command("campaign_status", world.campaign.name, stdout=out)
    assert "1 (50.0%) lost their use because earlier ones were changed, and stay paid" in out.getvalue()
    out = StringIO()
    call_command("campaign_status", world.campaign.name, "--json", stdout=out)
    progress = json.loads(out.getvalue().splitlines()[-1])["progress"]
    assert (progress["answers_superseded"], progress["superseded_share"]) == (1, 0.5)
    page = words(signed_in("ada", "researcher").get(f"/campaigns/{world.campaign.name}/"))
    assert "1 answer (50.0 %) lost its use because a worker changed an earlier one; it stays paid." in page
    # Changed back, it counts again.
    assert change(world, lease, Answer("yes"))
    assert not state_of(image(world)).superseded
    assert overview(world.campaign, PaySettings(), fresh=True).superseded == 0


def test_what_somebody_has_in_hand_that_a_change_ends_is_stored_and_paid():
    world = the_world(pay={"basis": "item", "per_item": {q.CHAIN_VERIFICATION: 0.5}})
    lease = answer(world, q.COREF_LINK, "yes")
    waiting = held(world, 1, q.CHAIN_VERIFICATION)
    assert change(world, lease, Answer("no"))
    receipt = world.submit(1, waiting, Answer("true"), then=False)
    assert not receipt.counted and Assignment.objects.get(pk=waiting.id).pay == 500_000
    assert not any(violations(world.campaign).values())


def test_a_verdict_is_on_the_box_that_was_shown_and_another_one_is_judged_anew():
    world = the_world()
    world.measure_verdicts()
    lease = held(world, 0, q.BOX_DRAWING, mention=HAT)
    world.submit(0, lease, then=False)
    late = held(world, 2, q.BOX_QUALITY, mention=HAT)
    leases.return_lease(worker=world.workers[2], assignment=late.id)
    judged = held(world, 1, q.BOX_QUALITY, mention=HAT)
    assert change(world, lease, Answer("drawn", Box(1, 2, 30, 40), way="drag"))
    assert chain(image(world), HAT)["p"] == [1, 2, 30, 40]
    # They answer about the box that they saw; so does the worker who had returned it.
    world.submit(1, judged, Answer("bad"), then=False)
    world.submit(2, late, Answer("bad"), then=False)
    assert chain(image(world), HAT)["p"] == [1, 2, 30, 40]
    second = held(world, 1, q.BOX_QUALITY, mention=HAT)
    assert (judged.content["pending"], second.content["pending"]) != ([1, 2, 30, 40],) * 2
    assert second.content["pending"] == [1, 2, 30, 40]
    world.submit(1, second, Answer("good"), then=False)
    assert chain(image(world), HAT)["b"] == [[1, 2, 30, 40]]
    # Both were on boxes of theirs, even if they say that there is none.
    drawer = TrustState.objects.get(worker=world.workers[0], kind=q.BOX_DRAWING)
    assert [event.good for *_, event in events_of(drawer) if isinstance(event, BoxJudged)] == [False, True]
    assert worker_trust.trust_from_row(drawer) == replay_row(drawer)
    assert [(way.judged, way.good) for way in drawing_ways(world.campaign, fresh=True)] == [(1, 1.0)]
    assert change(world, lease, Answer("none"))
    drawer.refresh_from_db()
    assert worker_trust.trust_from_row(drawer) == replay_row(drawer)


def test_votes_of_others_on_the_same_question_do_not_hold_an_answer():
    world = the_world(link_votes=3)
    lease = answer(world, q.COREF_LINK, "no")
    answer(world, q.COREF_LINK, "yes", worker=1)
    assert change(world, lease, Answer("yes"))
    assert sorted(chain(image(world), MAN, THE_MAN)["m"]) == [MAN, THE_MAN]


def test_a_report_becomes_an_answer_and_an_answer_a_report():
    world = the_world(flags_to_review=2)
    lease = report(world, q.COREF_LINK, comment="odd")
    assert change(world, lease, Answer("yes"))
    assert not Flag.objects.exists()
    assert change(world, lease, Answer(flag="chunk_wrong", comment="odd, really"))
    assert Flag.objects.get().comment == "odd, really"
    assert "odd" not in str(AuditEntry.objects.filter(act="change_answer").values("about"))
    Flag.objects.update(resolved_at=database.now())
    assert change(world, lease, Answer("yes"))
    assert not Flag.objects.exists()


def test_the_last_five_answers_of_ten_minutes_are_offered_and_may_be_changed():
    world = the_world(trust={**TRUSTING["trust"]})
    lease = answer(world, q.COREF_LINK, "no")
    [recent] = recent_answers(worker=world.workers[0], campaign=world.campaign.pk, kind=q.COREF_LINK)
    assert (recent.assignment, recent.answer.answer, recent.image) == (lease.id, "no", lease.image)
    displayed = ended_lease(worker=world.workers[0], assignment=lease.id)
    assert displayed is not None and (displayed.content, displayed.key) == (lease.content, lease.key)
    assert ended_lease(worker=world.workers[1], assignment=lease.id) is None
    stands(world, lease, "no such answer", worker=1)
    row = Assignment.objects.get(pk=lease.id)
    ended_at = row.ended_at
    assert ended_at is not None
    with mock.patch.object(database, "now", lambda: ended_at + CHANGEABLE_FOR + timedelta(seconds=1)):
        stands(world, lease, "last five answers")
    # After this number of answers it is no longer one of the last.
    row.pk, row.task, row.token = None, None, ""
    for number in range(LATER_ANSWERS):
        assert reopen_answer(worker=world.workers[0], assignment=lease.id)
        known = Control.objects.create(
            campaign=world.campaign, kind=q.COREF_LINK, image_id=lease.image, key=f"k{number}", content={},
            known="no", stratum="no", source="page",
        )  # fmt: skip
        row.pk, row.control, row.role = None, known, "control"
        row.ended_at = ended_at + timedelta(seconds=1 + number)
        row.save(force_insert=True)
    stands(world, lease, "last five answers")


def test_answers_of_a_test_of_the_suspended_and_of_a_campaign_that_is_not_open_stand():
    world = the_world()
    lease = answer(world, q.COREF_LINK, "no")
    Assignment.objects.filter(pk=lease.id).update(role="qualification")
    stands(world, lease, "none of a test")
    Assignment.objects.filter(pk=lease.id).update(role="vote")
    TrustState.objects.filter(worker=world.workers[0], kind=q.COREF_LINK).update(blocked=True)
    stands(world, lease, "A researcher has suspended you")
    # More than the rules allow.
    TrustState.objects.filter(worker=world.workers[0], kind=q.COREF_LINK).update(state=SUSPENDED)
    stands(world, lease, "A researcher has suspended you")
    TrustState.objects.filter(worker=world.workers[0]).update(blocked=False)
    stands(world, lease, "Too few of your checked answers were right")
    TrustState.objects.filter(worker=world.workers[0]).update(state=TRUSTED)
    Campaign.objects.filter(pk=world.campaign.pk).update(state=Campaign.PAUSED)
    stands(world, lease, "not open")


def test_a_changed_verdict_is_told_to_who_drew_the_box():
    world = the_world()
    world.measure_verdicts()
    drawn = held(world, 0, q.BOX_DRAWING, mention=HAT)
    world.submit(0, drawn, then=False)
    lease = answer(world, q.BOX_QUALITY, "bad", worker=1, mention=HAT)
    drawer = TrustState.objects.get(worker=world.workers[0], kind=q.BOX_DRAWING)
    bad = worker_trust.trust_from_row(drawer)
    assert change(world, lease, Answer("good"), worker=1)
    drawer.refresh_from_db()
    assert worker_trust.trust_from_row(drawer) == replay_row(drawer) != bad


def control_item(world: World) -> controls.ControlItem:
    return controls.ControlItem(q.COREF_LINK, Control.CONTROL, "man", (MAN, THE_MAN), "yes")


def test_control_items_that_a_change_retires_read_as_retired_by_it():
    world = the_world()
    lease = answer(world, q.COREF_LINK, "yes")
    item = controls.ControlItem(q.CHAIN_VERIFICATION, Control.CONTROL, "man", (MAN, THE_MAN), "true")
    controls.add_control_items(campaign=world.campaign, items=[(1, item)], source=PROMOTED_SOURCE)
    assert change(world, lease, Answer("no"))
    assert not Control.objects.get().active
    line = AuditEntry.objects.get(act="retire_control_items")
    assert line.about["because"] == AuditEntry.CHANGE_ANSWER
    reported = "by a worker’s change of an answer"
    assert worded_acts([line])[0].who == reported
    admin = signed_in("boss", "admin")
    assert reported in words(admin.get("/people/audit/")) and "because" not in words(
        admin.get("/people/audit/")
    )


def test_a_control_item_keeps_its_grade_and_may_be_changed_as_any_answer_may():
    world = the_world(trust={**TRUSTING["trust"], "control_share": 1.0})
    lease = answer(world, q.COREF_LINK, "yes")
    controls.add_control_items(campaign=world.campaign, items=[(1, control_item(world))], source="page")
    item = Control.objects.get()
    row = Assignment.objects.get(pk=lease.id)
    row.pk, row.task, row.control, row.role, row.token, row.right = None, None, item, "control", "k", False
    row.save(force_insert=True)
    Judgment.objects.create(
        campaign=world.campaign, assignment=row, worker_id=world.workers[0], kind=q.COREF_LINK, key=item.key,
        name="k", role="control", answer="no", created_at=database.now(),
    )  # fmt: skip
    graded = Lease(
        row.pk, q.COREF_LINK, "control", item.image_id, {}, item.key, row.expires_at, None, item.pk
    )
    assert change(world, graded, Answer("yes"))
    row.refresh_from_db()
    assert row.right is False and Judgment.objects.get(assignment=row).answer == "yes"
    answer(world, q.CHAIN_VERIFICATION, "true", worker=1)
    for either in (lease, graded):
        assert reopen_answer(worker=world.workers[0], assignment=either.id).answer == Answer("yes")


@pytest.mark.parametrize("seed", range(sized(1, 12)))
def test_whatever_is_changed_in_between_the_fold_stays_right(seed: int):
    """Dearer than others: a whole play, looked at after every change."""
    rng = Random(seed)
    trust = {"qualification": False, "control_share": 0.0, "double_check_share": 0.3}
    images = [pictured(seed), pictured(100 + seed)]
    play = Play(images, Script(seed), {"link_votes": 1 + 2 * (seed % 2), "trust": trust})
    changed = 0
    with play.time():
        for _ in range(sized(60, 200)):
            number = rng.randrange(4)
            if rng.random() < 0.7:
                play.answer(number, rng.randrange(40))
                play.at += timedelta(seconds=20)
            elif play.change(number, rng.randrange(40)):
                changed += 1
                play.check_fold()
                check_database()
        assert changed > 5
        play.check_fold()
        play.finish()
        assert all(state.complete for state in play.check_fold())
    assert not any(violations(play.campaign).values())
    for trust_state in TrustState.objects.filter(campaign=play.campaign):
        assert replay_row(trust_state) == worker_trust.trust_from_row(trust_state)


@pytest.mark.django_db(transaction=True)
def test_one_changes_an_answer_while_another_answers_about_the_same_image():
    """In either order the image is what its answers say, and no lease, vote or pay is lost."""
    play = Play([pictured(3)], Script(3), {"trust": TRUSTING["trust"]})
    for turn in range(sized(12, 60)):
        for number in (0, 1, 2):
            play.answer(number, turn)
        start, errors = Barrier(2), list[BaseException]()

        def at_once(act: Callable[[], object], start: Barrier = start, errors: list[Any] = errors) -> None:
            try:
                start.wait(10)
                act()
            except BaseException as error:
                errors.append(error)
            finally:
                connection.close()

        acts = (partial(play.change, turn % 3, turn), partial(play.answer, (turn + 1) % 3, turn))
        threads = [Thread(target=at_once, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == []
        play.check_fold()
        check_database()
    assert play.changed
