"""Discarding and restoring a worker: what is withdrawn, what remains of others, and interruptions."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from annotation import jobs
from annotation.models import Assignment, AuditEntry, Job, Judgment, Task, TrustState
from annotation.moderation import control_items, worker_status
from annotation.moderation.worker_status import CannotDo
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import mention_from
from annotation.protocol.image import Fold
from annotation.protocol.rng import SeededRng
from annotation.protocol.terms import Box
from annotation.quality import worker_trust
from annotation.queue import image_state
from annotation.queue.leases import NoTask
from tests import worlds
from tests.factories import some_images
from tests.queue.world import TRUSTING, World
from tests.sizes import by_default, sized
from tests.trust.scenes import crowd_works, gold, reason_of_refusal, scenes

pytestmark = pytest.mark.django_db


def picture(world: World) -> list[Any]:
    """Return the queue's data of a campaign's images, without ids of rows and versions."""
    images = []
    for image in world.images():
        tasks = Task.objects.filter(image=image).exclude(state="withdrawn").order_by("key")
        state = image_state.state_of(image)
        images.append(
            (
                image.image.key,
                image.complete,
                image.in_review,
                sorted(image.state["open"]),
                image.state["chains"],
                image.state["merged"],
                state,
                [(t.key, t.role, t.needed, t.live) for t in tasks if t.state == "open"],
            )
        )
    return images


def counters_hold(world: World) -> None:
    """Check that no task has more answers and leases than required, and that counters are correct."""
    for task in Task.objects.filter(campaign=world.campaign, state="open", role="vote"):
        valid = Judgment.objects.filter(image=task.image, key=task.key, role="vote", withdrawn=False).count()
        leased = Assignment.objects.filter(task=task, state=Assignment.LEASED).count()
        assert task.live == valid + leased <= task.needed, task


@pytest.fixture
def spoilt() -> World:
    """Three images answered by four careful workers, and by number 4, who says yes to everything."""

    def build() -> World:
        world = scenes(3, settings=TRUSTING, workers=5)
        crowd_works(world, ["careful"] * 4 + ["always_yes"])
        return world

    return worlds.again("three images with a worker who says yes to everything", build)


# Discard


def test_discarded_judgments_are_withdrawn_and_everything_else_stays(spoilt):
    mine = Judgment.objects.filter(worker=spoilt.workers[4])
    provided = mine.count()
    done = worker_status.withdraw_worker_answers(campaign=spoilt.campaign, worker=spoilt.workers[4])
    assert done.judgments == provided == mine.filter(withdrawn=True).count() > 0
    assert not Judgment.objects.exclude(worker=spoilt.workers[4]).filter(withdrawn=True).exists()
    assert Assignment.objects.filter(worker=spoilt.workers[4], state="submitted").count() == provided
    counters_hold(spoilt)


def test_the_images_are_what_the_others_judgments_say(spoilt):
    worker_status.withdraw_worker_answers(campaign=spoilt.campaign, worker=spoilt.workers[4])
    for image in spoilt.images():
        fold = Fold([mention_from(mention) for mention in image.mentions], settings_of(TRUSTING).protocol)
        others = Judgment.objects.filter(image=image).exclude(worker=spoilt.workers[4]).order_by("id")
        assert image_state.state_of(image) == fold(map(pure, others.select_related("worker")))


def pure(row: Judgment) -> q.Judgment:
    """Return a judgment's row as input of the fold."""
    corners = (row.xmin, row.ymin, row.xmax, row.ymax)
    box = Box(*corners) if row.xmin is not None else None  # type: ignore[arg-type]
    return q.Judgment(row.name, row.key, row.worker.pseudonym, row.answer, box, row.flag, row.role)


def test_one_kind_only_is_discarded_where_one_is_named(spoilt):
    done = worker_status.withdraw_worker_answers(
        campaign=spoilt.campaign, worker=spoilt.workers[4], kind=q.COREF_LINK
    )
    assert done.kinds == (q.COREF_LINK,)
    judgments = Judgment.objects.filter(withdrawn=True)
    assert (
        set(judgments.values_list("kind", flat=True)) == {q.COREF_LINK}
        and judgments.count() == done.judgments
    )
    assert reason_of_refusal(spoilt, 4, q.COREF_LINK) == "blocked"
    assert reason_of_refusal(spoilt, 4, q.BOX_DRAWING) != "blocked"


def test_after_discard_an_image_is_the_same_whatever_the_worker_had_answered(spoilt):
    bad = spoilt.workers[4]
    worker_status.withdraw_worker_answers(campaign=spoilt.campaign, worker=bad)
    before = picture(spoilt)
    for seed in range(3):
        worker_status.restore_worker_answers(campaign=spoilt.campaign, worker=bad)
        _answer_otherwise(spoilt, bad, seed)
        assert picture(spoilt) != before
        worker_status.withdraw_worker_answers(campaign=spoilt.campaign, worker=bad)
        assert picture(spoilt) == before
        counters_hold(spoilt)


@pytest.mark.parametrize("bad", by_default(1, ["random", "always_yes", "sloppy"]))
def test_what_errorless_workers_make_of_it_after_discard_is_gold_no_matter_who_was_discarded(bad):
    world = scenes(sized(1, 2), settings=TRUSTING, workers=6)
    crowd_works(world, ["perfect"] * 4 + [bad, bad])
    for worker in world.workers[4:]:
        worker_status.withdraw_worker_answers(campaign=world.campaign, worker=worker)
    crowd_works(world, ["perfect"] * 4 + [bad, bad])
    for image in world.images():
        assert image.complete
        truth = world.truths[image.image_id]
        layer = image_state.state_of(image).layer
        chains = {
            (frozenset(m.id for m in chain.mentions), frozenset(layer.boxes_of(chain.id)))
            for chain in layer.chains
        }
        names = set(truth.chain_of.values())
        assert chains == {
            (frozenset(m for m, c in truth.chain_of.items() if c == name), frozenset(truth.boxes[name]))
            for name in names
        }


def test_questions_that_lack_answers_are_open_again_and_never_for_the_discarded(spoilt):
    assert not Task.objects.filter(state="open").exists()
    worker_status.withdraw_worker_answers(campaign=spoilt.campaign, worker=spoilt.workers[4])
    opened = Task.objects.filter(state="open").count()
    assert opened > 0
    assert {reason_of_refusal(spoilt, 4, kind) for kind in q.QUESTIONS} == {"blocked"}
    crowd_works(spoilt, ["careful"] * 4 + ["always_yes"])
    assert not Judgment.objects.filter(worker=spoilt.workers[4], withdrawn=False).exists()
    assert Task.objects.filter(state="open").count() < opened


def test_what_was_in_hand_goes_back_and_what_is_handed_in_late_is_withdrawn():
    world = World(settings=TRUSTING)
    lease = world.held(0)
    worker_status.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    assert Assignment.objects.get(pk=lease.id).state == Assignment.RETURNED
    assert world.held(1, holding=()) is not None
    receipt = world.submit(0, lease)
    assert not receipt.counted and isinstance(receipt.next, NoTask) and receipt.next.code == "blocked"
    assert Judgment.objects.get(worker=world.workers[0]).withdrawn
    counters_hold(world)


def test_a_suspension_and_a_withdrawal_are_each_undone_by_itself():
    world = World(settings=TRUSTING)
    about: dict[str, Any] = {"campaign": world.campaign, "worker": world.workers[0], "kind": q.COREF_LINK}

    def refused() -> str:
        result = world.take(0, q.COREF_LINK)
        return result.text if isinstance(result, NoTask) else ""

    worker_status.suspend_worker(**about, reason="you are too fast")
    for reason in ("", "a machine answered"):
        worker_status.withdraw_worker_answers(**about, reason=reason)
        assert "you are too fast" in refused()
        worker_status.restore_worker_answers(**about)
        assert "you are too fast" in refused()
    worker_status.reinstate_worker(**about)
    assert refused() == ""
    worker_status.withdraw_worker_answers(**about, reason="a machine answered")
    assert "a machine answered" in refused()
    # Suspended afterwards, they stay suspended.
    worker_status.suspend_worker(**about, reason="write to us")
    worker_status.restore_worker_answers(**about)
    assert "write to us" in refused()


def test_an_answer_that_comes_while_the_worker_is_being_withdrawn_frees_its_place():
    world = World(some_images(1), settings=TRUSTING)
    lease = world.held(0)
    TrustState.objects.filter(worker=world.workers[0]).update(withdrawn_at="2026-01-01T00:00Z")
    assert not world.submit(0, lease).counted
    assert Judgment.objects.get().withdrawn and Task.objects.filter(key=lease.key, live=0).exists()
    assert world.held(1).task == lease.task


def test_gold_answers_stay_graded_when_a_worker_is_discarded():
    world = scenes(6, workers=1)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    crowd_works(world, ["careful"], items=200)
    before = TrustState.objects.get(kind=q.COREF_LINK)
    assert before.known > 0
    worker_status.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0])
    assert not Judgment.objects.filter(role="control", withdrawn=True).exists()
    after = TrustState.objects.get(kind=q.COREF_LINK)
    assert (after.known, after.right, after.is_out) == (before.known, before.right, True)


@pytest.mark.django_db(transaction=True)
def test_discarding_while_everybody_works_leaves_nothing_of_the_worker():
    world = scenes(4, settings=TRUSTING, workers=4)
    presets = ["careful", "careful", "average", "always_yes"]
    begun = threading.Event()

    def reported(provided: int) -> None:
        if provided == 10:
            begun.set()

    def works(index: int) -> None:
        try:
            crowd_works(
                world, presets, only=index, after_answer=reported if index == 3 else lambda count: None
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=4) as pool:
        crowd = [pool.submit(works, index) for index in range(4)]
        assert begun.wait(60)
        worker_status.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[3])
        for visit in crowd:
            visit.result(120)
    mine = Judgment.objects.filter(worker=world.workers[3])
    assert mine.exists() and not mine.filter(withdrawn=False).exists()
    assert not Assignment.objects.filter(worker=world.workers[3], state="leased").exists()
    counters_hold(world)
    for image in world.images():
        state = image_state.state_of(image)
        assert [chain["s"] for chain in image.state["chains"]] == [chain.stage for chain in state.chains]
        assert set(image.state["open"]) == {question.key for question in state.questions}


# Interrupted, repeated, undone


class Killed(Exception):
    pass


def dies_after(images: int) -> Any:
    def progress(done: int, total: int) -> None:
        if done == images:
            raise Killed

    return progress


@pytest.mark.parametrize("images", [1, 2])
def test_a_discard_that_died_is_finished_by_asking_again_and_audited_once(spoilt, images):
    bad = spoilt.workers[4]
    with pytest.raises(Killed):
        worker_status.withdraw_worker_answers(
            campaign=spoilt.campaign, worker=bad, progress=dies_after(images)
        )
    half = Judgment.objects.filter(worker=bad, withdrawn=True).count()
    assert 0 < half < Judgment.objects.filter(worker=bad).count()
    assert reason_of_refusal(spoilt, 4, q.COREF_LINK) == "blocked"
    messages: list[tuple[int, int]] = []
    worker_status.withdraw_worker_answers(
        campaign=spoilt.campaign, worker=bad, progress=lambda *share: messages.append(share)
    )
    assert messages[-1] == (3 - images, 3 - images)
    assert not Judgment.objects.filter(worker=bad, withdrawn=False).exists()
    assert AuditEntry.objects.filter(act="withdraw_worker_answers").count() == 1
    once_more = worker_status.withdraw_worker_answers(campaign=spoilt.campaign, worker=bad)
    assert (once_more.judgments, once_more.images, once_more.drawers) == (0, 0, 0)


def test_restoring_brings_back_what_was_there(spoilt):
    before, rows = picture(spoilt), _trust()
    worker_status.withdraw_worker_answers(
        campaign=spoilt.campaign, worker=spoilt.workers[4], reason="guessing"
    )
    assert picture(spoilt) != before
    with pytest.raises(Killed):
        worker_status.restore_worker_answers(
            campaign=spoilt.campaign, worker=spoilt.workers[4], progress=dies_after(2)
        )
    worker_status.restore_worker_answers(campaign=spoilt.campaign, worker=spoilt.workers[4])
    assert picture(spoilt) == before and _trust() == rows
    assert not Judgment.objects.filter(withdrawn=True).exists()
    acts = list(AuditEntry.objects.order_by("id").values_list("act", flat=True))
    assert acts == ["withdraw_worker_answers", "restore_worker_answers"]


def test_a_discard_stops_where_the_worker_is_restored_meanwhile(spoilt):
    before, about = picture(spoilt), {"campaign": spoilt.campaign, "worker": spoilt.workers[4]}
    back: list[worker_status.Done] = []

    def restore(done: int, total: int) -> None:
        if not back:
            back.append(worker_status.restore_worker_answers(**about))

    done = worker_status.withdraw_worker_answers(**about, progress=restore)
    assert not Judgment.objects.filter(withdrawn=True).exists() and picture(spoilt) == before
    assert (done.images, done.overtaken) == (1, done.kinds)
    assert (back[0].images, back[0].overtaken) == (1, ())


def test_a_restore_stops_where_the_worker_is_discarded_meanwhile(spoilt):
    about = {"campaign": spoilt.campaign, "worker": spoilt.workers[4]}
    worker_status.withdraw_worker_answers(**about)
    before = picture(spoilt)

    def discard(done: int, total: int) -> None:
        worker_status.withdraw_worker_answers(**about, kind=q.COREF_LINK)

    done = worker_status.restore_worker_answers(**about, progress=discard)
    # Of one kind only: the others are restored.
    mine = Judgment.objects.filter(worker=spoilt.workers[4])
    assert (
        set(mine.filter(withdrawn=True).values_list("kind", flat=True)) == {q.COREF_LINK} == {*done.overtaken}
    )
    assert not mine.filter(kind=q.COREF_LINK, withdrawn=False).exists()
    worker_status.withdraw_worker_answers(**about)
    assert picture(spoilt) == before


@pytest.mark.parametrize(
    ("job", "act", "reported"),
    [
        ("withdraw_answers", "withdraw_worker_answers", "restored meanwhile"),
        ("restore_answers", "restore_worker_answers", "withdrawn meanwhile"),
    ],
)
def test_a_job_that_the_opposite_overtook_says_so(spoilt, monkeypatch, job, act, reported):
    kinds = (q.COREF_LINK,)
    monkeypatch.setattr(
        worker_status, act, lambda **provided: worker_status.Done(kinds, 0, 1, 0, overtaken=kinds)
    )
    arguments = {"campaign": "scenes", "workers": ["scenes-w4"]}
    row = jobs.enqueue(kind=job, arguments=arguments, campaign=spoilt.campaign)
    assert jobs.run_queued_job(row.pk) == Job.FAILED
    row.refresh_from_db()
    assert reported in row.error


def test_the_audit_says_whom_what_and_why(spoilt):
    worker_status.withdraw_worker_answers(
        campaign=spoilt.campaign, worker=spoilt.workers[4], kind=q.BOX_QUALITY, reason="clicks"
    )
    about = AuditEntry.objects.get().about
    assert about == {"worker": "scenes-w4", "kinds": [q.BOX_QUALITY], "reason": "clicks"}


# Refused


def test_nobody_is_reinstated_whose_judgments_are_withdrawn(spoilt):
    worker_status.withdraw_worker_answers(
        campaign=spoilt.campaign, worker=spoilt.workers[4], kind=q.COREF_LINK
    )
    with pytest.raises(CannotDo, match="restore them first"):
        worker_status.reinstate_worker(campaign=spoilt.campaign, worker=spoilt.workers[4])


def test_an_unknown_kind_is_refused_with_the_known_ones():
    world = World(settings=TRUSTING)
    with pytest.raises(CannotDo, match="unknown kind 'links'; campaign 'quay' asks coref_link, chain_ver"):
        worker_status.withdraw_worker_answers(campaign=world.campaign, worker=world.workers[0], kind="links")


def _trust() -> list[Any]:
    return [
        (row.worker_id, row.kind, row.blocked, row.withdrawn_at, worker_trust.trust_from_row(row))
        for row in TrustState.objects.order_by("worker", "kind")
    ]


def _answer_otherwise(world: World, worker: int, seed: int) -> None:
    """Replace a worker's answers by other legal ones, as if given so, and recompute."""
    for row in Judgment.objects.filter(worker=worker, image__isnull=False):
        rng = SeededRng("otherwise", seed, row.name)
        row.answer = rng.choice(q.ANSWERS[row.kind])
        left, top = 1 + rng.below(200), 1 + rng.below(200)
        box = Box(left, top, left + rng.below(99), top + rng.below(99)) if row.answer == "drawn" else None
        for side in ("xmin", "ymin", "xmax", "ymax"):
            setattr(row, side, getattr(box, side) if box else None)
        row.save()
    for image in world.images():
        image_state.refold_image(image.pk)
