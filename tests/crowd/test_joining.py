"""Two workers who are one person: after any history they are merged, and nothing is lost."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from annotation.common import database, erasures
from annotation.models import (
    Account,
    Assignment,
    AuditEntry,
    Consent,
    Identity,
    Instructions,
    Judgment,
    Payout,
    Task,
    TrustState,
    Worker,
)
from annotation.moderation import trust_replay, worker_status
from annotation.protocol import questions as q
from annotation.protocol.questions import Answer
from annotation.quality import qualification, worker_trust
from annotation.queue import image_state, leases
from annotation.queue.leases import Lease
from annotation.simulation_driver.soundness import violations
from annotation.workers import joining, pseudonyms
from tests.crowd import platform
from tests.factories import some_images
from tests.queue.test_leases import known_link
from tests.queue.test_same_question import met
from tests.queue.world import World
from tests.sizes import by_default
from tests.trust.test_qualification import examining, take_test

pytestmark = pytest.mark.django_db
KNOWN, PROVISIONAL = 0, 1
#: Every question is asked of several workers, so that both often answer the same one.
SEVERAL: dict[str, Any] = {
    "link_votes": 3,
    "verification_votes": 3,
    "trust": {
        "qualification": False,
        "control_share": 0.0,
        "double_check_share": 0.3,
        "warm_up_known": 1,
        "warm_up_items": 1000,
    },
}


def identified(world: World) -> tuple[Identity, Identity]:
    """Return the two workers with their accounts: the known one, and the provisional one."""
    values = []
    for number, external_id in ((KNOWN, "60a1"), (PROVISIONAL, "")):
        worker = Worker.objects.get(pk=world.workers[number])
        account = Account.objects.create_user(worker.pseudonym)
        values.append(
            Identity.objects.create(
                worker=worker, account=account, provider="prolific", external_id=external_id
            )
        )
    return values[0], values[1]


def join(known: Identity, provisional: Identity) -> None:
    with database.writing():
        joining.merge_workers(provisional=provisional, known=known)


def anything(world: World, rng: Random, worker: int) -> None:
    """Let a worker take something and answer it, correctly or not, report it, return it or keep it."""
    result = world.take(worker, rng.choice(q.QUESTIONS))
    if not isinstance(result, Lease):
        return
    act = rng.random()
    if act < 0.1:
        leases.return_lease(worker=world.workers[worker], assignment=result.id)
    elif act < 0.15:
        Assignment.objects.filter(pk=result.id).update(expires_at=database.now())
        leases.end_expired_leases()
    elif act < 0.2:
        world.submit(worker, result, Answer(flag="offensive"), then=False)
    elif act < 0.35 and result.kind != q.BOX_DRAWING:
        another = rng.choice(q.ANSWERS[result.kind])
        world.submit(worker, result, Answer(another), then=False)
    elif act < 0.92:
        world.submit(worker, result, then=False)


@pytest.mark.parametrize("seed", by_default(2, range(6)))
def test_whatever_both_did_they_are_one_worker_afterwards(seed: int):
    """By brute force: many random histories, compared with what one worker's answers fold to."""
    rng = Random(seed)
    world = World(some_images(2), settings=SEVERAL, workers=3)
    known, provisional = identified(world)
    for _ in range(120):
        anything(world, rng, rng.choice((KNOWN, PROVISIONAL, PROVISIONAL, 2)))
    if seed % 3 == 2:
        worker_status.withdraw_worker_answers(
            campaign=world.campaign,
            worker=world.workers[rng.choice((KNOWN, PROVISIONAL))],
            kind=q.COREF_LINK,
        )
    Assignment.objects.filter(state=Assignment.SUBMITTED).update(pay=1000)
    before = {row.pk: row for row in Judgment.objects.select_related("worker").order_by("pk")}
    paid = Assignment.objects.filter(state=Assignment.SUBMITTED).count()

    assert not any(violations(world.campaign).values())
    join(known, provisional)

    after = {row.pk: row for row in Judgment.objects.order_by("pk")}
    assert set(after) == set(before), "an answer was lost"
    assert Assignment.objects.filter(state=Assignment.SUBMITTED, pay=1000).count() == paid
    assert not Worker.objects.filter(pk=world.workers[PROVISIONAL]).exists()
    assert Account.objects.count() == Identity.objects.count() == 1
    for pk, row in before.items():
        was = world.workers[KNOWN] if row.worker_id == world.workers[PROVISIONAL] else row.worker_id
        assert after[pk].worker_id == was
        unchanged = ("name", "key", "answer", "flag", "xmin", "role")
        assert [getattr(after[pk], name) for name in unchanged] == [getattr(row, name) for name in unchanged]
        assert after[pk].withdrawn >= row.withdrawn, "a void answer counts again"
    assert not any(violations(world.campaign).values()), violations(world.campaign)
    twice = 0
    for image in world.images():
        drawn = {row.name: row.worker_id for row in after.values() if row.image_id == image.pk}
        values = set()
        for row in after.values():
            if row.image_id != image.pk or row.withdrawn:
                continue
            assert (row.worker_id, row.key) not in values, "a key is judged twice"
            values.add((row.worker_id, row.key))
            if row.kind == q.BOX_QUALITY:
                assert drawn[row.key.split("|")[1]] != row.worker_id, "a box is judged by who drew it"
        twice += sum(
            row.image_id == image.pk and row.withdrawn and not before[row.pk].withdrawn
            for row in after.values()
        )
        # The stored state equals the fold of the answers, and folding again changes nothing.
        stored = dict(image.state)
        image_state.refold_image(image.pk)
        image.refresh_from_db()
        assert dict(image.state) == stored
    assert seed % 3 == 2 or twice, "nothing was answered twice: this seed shows little"
    for item in TrustState.objects.filter(campaign=world.campaign):
        assert worker_trust.trust_from_row(item) == trust_replay.replay_row(item)
    # The work continues to its end, and void answers stay void when a researcher reinstates somebody.
    world.workers[PROVISIONAL:] = [
        world.workers[2],
        *(Worker.objects.create(pseudonym=f"n{i}").pk for i in (1, 2, 3)),
    ]
    world.work()
    assert not any(violations(world.campaign).values()), violations(world.campaign)
    worker_status.restore_worker_answers(campaign=world.campaign, worker=world.workers[KNOWN])
    assert not violations(world.campaign)["answers set aside that count"]


def test_of_two_answers_to_one_question_the_later_one_is_withdrawn_and_both_are_paid():
    world = World(some_images(1), settings=SEVERAL, workers=2)
    known, provisional = identified(world)
    first = world.held(KNOWN)
    world.submit(KNOWN, first, then=False)
    while world.held(PROVISIONAL).task != first.task:
        world.submit(PROVISIONAL, world.held(PROVISIONAL), then=False)
    again = world.held(PROVISIONAL)
    world.submit(PROVISIONAL, again, then=False)
    join(known, provisional)
    both = Judgment.objects.filter(key=first.key).order_by("pk").values_list("assignment", "withdrawn")
    assert list(both) == [(first.id, False), (again.id, True)]
    assert set(Assignment.objects.filter(task=first.task).values_list("worker", "attempt", "state")) == {
        (world.workers[KNOWN], 0, "submitted"),
        (world.workers[KNOWN], 1, "submitted"),
    }
    # Another worker now has its vote.
    task = Task.objects.get(key=first.key)
    assert (task.live, task.needed) == (1, 2) or task.live < task.needed


def test_what_is_in_hand_goes_on_but_not_what_the_person_may_not_answer():
    world = World(some_images(1), settings=SEVERAL, workers=2)
    known, provisional = identified(world)
    first = world.held(KNOWN)
    world.submit(KNOWN, first, then=False)
    held = [world.held(PROVISIONAL)]
    while held[-1].task != first.task:
        held.append(world.held(PROVISIONAL, holding=[lease.id for lease in held]))
    join(known, provisional)
    left = set(Assignment.objects.filter(state=Assignment.LEASED).values_list("pk", "worker"))
    assert left == {(lease.id, world.workers[KNOWN]) for lease in held[:-1]}
    assert not any(violations(world.campaign).values())


def test_what_one_met_as_a_control_item_and_the_other_as_a_task_is_answered_by_others():
    world = World(some_images(2), settings=SEVERAL, workers=3)
    known, provisional = identified(world)
    first, second = (known_link(world, image.image_id) for image in world.images())
    met(first, world.workers[KNOWN], state=Assignment.EXPIRED)
    met(second, world.workers[PROVISIONAL], role=qualification.QUALIFICATION_ROLE, state=Assignment.RETURNED)
    answered, held = world.held(PROVISIONAL), world.held(KNOWN)
    assert (answered.image, held.image) == (first.image_id, second.image_id)
    world.submit(PROVISIONAL, answered, then=False)
    join(known, provisional)
    judged = Judgment.objects.get(key=answered.key, assignment=answered.id)
    assert judged.withdrawn and judged.worker_id == world.workers[KNOWN]
    assert not Assignment.objects.filter(pk=held.id).exists()
    assert not any(violations(world.campaign).values()), violations(world.campaign)
    assert isinstance(world.take(KNOWN), leases.NoTask)
    assert {world.held(2).image} <= {first.image_id, second.image_id}


def test_who_is_signed_in_as_the_one_goes_on_as_the_other():
    world = World(workers=2)
    known, provisional = identified(world)
    browser, stranger = Client(), Client()
    assert provisional.account is not None
    browser.force_login(provisional.account)
    session = browser.session
    session["instructions_read"] = {"links": 1}
    session.save()
    stranger.force_login(Account.objects.create_user("stranger"))
    join(known, provisional)
    assert browser.session["_auth_user_id"] == str(known.account_id)
    assert browser.session["instructions_read"] == {"links": 1}
    assert browser.get("/visit/").status_code != 302 or "sign-in" not in browser.get("/visit/")["Location"]
    assert Session.objects.count() == 2


def test_consents_payouts_and_equal_tokens_come_along():
    world = World(some_images(1), settings=SEVERAL, workers=2)
    known, provisional = identified(world)
    texts = [
        Instructions.objects.create(campaign=world.campaign, kind="consent", version=n, text="Yes.")
        for n in (7, 8)
    ]
    for identity, text in ((known, texts[0]), (provisional, texts[0]), (provisional, texts[1])):
        Consent.objects.create(worker=identity.worker, text=text)
    Payout.objects.create(campaign=world.campaign, worker=provisional.worker, amount=5)
    for number in (KNOWN, PROVISIONAL):
        world.submit(number, world.held(number), token="the same", then=False)
    join(known, provisional)
    assert list(Consent.objects.order_by("text").values_list("worker", "text__version")) == [
        (known.worker_id, 7),
        (known.worker_id, 8),
    ]
    assert Payout.objects.get().worker_id == known.worker_id
    assert Assignment.objects.filter(worker=known.worker_id, token="the same").count() == 1
    assert AuditEntry.objects.filter(act="join_worker").count() == 1


def test_tests_of_both_count():
    """The person who comes again cannot take the test more often than it may be taken."""
    world = examining()
    known, provisional = identified(world)
    for number in (KNOWN, PROVISIONAL):
        take_test(world, right=0, worker=number)
    join(known, provisional)
    row = TrustState.objects.get(worker=known.worker, kind=q.COREF_LINK)
    assert row.attempt == 2 and qualification.count_tests_taken(row) == 2


def test_a_test_passed_before_one_was_known_admits():
    world = examining()
    known, provisional = identified(world)
    take_test(world, right=0, worker=KNOWN)
    take_test(world, right=12, worker=PROVISIONAL)
    join(known, provisional)
    row = TrustState.objects.get(worker=known.worker, kind=q.COREF_LINK)
    assert row.state == "warm_up" and row.attempt == 2


@pytest.mark.parametrize("number", [KNOWN, PROVISIONAL])
def test_a_suspension_of_either_is_one_of_the_person(number: int):
    world = World(workers=2)
    known, provisional = identified(world)
    for item in (KNOWN, PROVISIONAL):
        world.submit(item, world.held(item), then=False)
    worker_status.suspend_worker(
        campaign=world.campaign, worker=world.workers[number], kind=q.COREF_LINK, reason="bots"
    )
    join(known, provisional)
    row = TrustState.objects.get(worker=known.worker, kind=q.COREF_LINK)
    assert row.blocked and row.reason == "bots"


def test_withdrawn_judgments_are_not_escaped_by_coming_again():
    world = World(workers=2)
    known, provisional = identified(world)
    for item in (KNOWN, PROVISIONAL):
        world.submit(item, world.held(item), then=False)
    worker_status.withdraw_worker_answers(
        campaign=world.campaign, worker=world.workers[KNOWN], kind=q.COREF_LINK
    )
    join(known, provisional)
    assert set(Judgment.objects.values_list("withdrawn", flat=True)) == {True}


def test_what_begins_meanwhile_makes_it_be_tried_again(monkeypatch: pytest.MonkeyPatch):
    world = World(some_images(2), settings=SEVERAL, workers=2)
    known, provisional = identified(world)
    reference = joining._lock

    def overtaken(was: int, stays: int, images: list[int]) -> Any:
        result = reference(was, stays, images)
        world.held(PROVISIONAL)
        return result

    monkeypatch.setattr(joining, "_lock", overtaken)
    with pytest.raises(joining.ProvisionalWorkerMoved):
        join(known, provisional)
    assert Worker.objects.filter(pk=provisional.worker_id).exists()
    assert Identity.objects.count() == 2


def test_who_is_erased_is_erased_under_both_names():
    """A backup from before knows the provisional worker, with the participant's id beside it."""
    world = World(workers=2)
    known, provisional = identified(world)
    study = platform.prolific_study(world)
    provisional.visits.create(study=study, external_id="s", participant="60a1", begun_at=database.now())
    was = provisional.worker.pseudonym
    join(known, provisional)
    pseudonyms.erase_worker(worker=known.worker)
    assert {was, known.worker.pseudonym} <= {erasure.pseudonym for erasure in erasures.all_erasures()}
