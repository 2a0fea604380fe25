"""The number and choice of a model annotator's boxes for a chain; people draw before it goes to review."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple
from typing import Any

import pytest

from annotation.models import Judgment, ModelProposals, Task, Worker
from annotation.moderation import worker_status
from annotation.moderation.reopening import change_answer
from annotation.protocol import boxes as loop
from annotation.protocol import questions as q
from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.queue import image_state, leases, model_answers, submission
from annotation.queue.leases import Lease, NoTask
from annotation.selectors.campaign.glance import agreement
from annotation.selectors.model_annotators.reports import model_annotator_reports
from annotation.simulation_driver.soundness import violations
from tests.queue.models_at_work import WITH_MODEL, a_model, to_draw, turns, work
from tests.queue.world import TRUSTING, World
from tests.sizes import by_default

pytestmark = pytest.mark.django_db

#: Boxes that show nothing, all different.
NOTHING = ((1, 1, 4, 4), (6, 1, 9, 4), (1, 6, 4, 9), (6, 6, 9, 9))


def proposes_nothing_good(world: World, boxes: int = len(NOTHING)) -> None:
    """Let the model annotator of a world propose `boxes` boxes that show nothing, with high confidence."""
    for row in ModelProposals.objects.all():
        row.boxes = {name: [[*box, 0.9] for box in NOTHING[:boxes]] for name in row.boxes}
        row.save()


def more(world: World) -> None:
    """Let everybody answer that boxes are missing."""
    for worker in range(len(world.workers)):
        while not isinstance(requested := world.take(worker, q.BOX_COVERAGE), NoTask):
            world.submit(worker, requested, Answer("more"), then=False)


@pytest.mark.parametrize(("tries", "invalid"), by_default(2, [(2, 2), (3, 2), (1, 1), (2, 1)]))
def test_a_model_proposes_another_box_where_one_was_refused(tries: int, invalid: int) -> None:
    world = World(settings={**WITH_MODEL, "model_annotator": {"share": 1.0, "tries": tries}})
    model_annotator = a_model(world, bad=invalid)
    work(world)
    assert all(image.complete for image in world.images()) and not any(violations(world.campaign).values())
    judgments = Judgment.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING)
    counts = Counter(judgments.values_list("image", "key"))
    chains = [chain for image in world.images() for chain in image_state.state_of(image).chains]
    accepted = [drawn for chain in chains for drawn in chain.boxes if drawn.by_model]
    assert max(counts.values()) == min(tries, invalid + 1)
    assert bool(accepted) == (tries > invalid)
    layers = [image_state.state_of(image).layer for image in world.images()]
    # All of it is withdrawn with the model annotator, and restored with it.
    worker_status.withdraw_worker_answers(campaign=world.campaign, worker=model_annotator.worker.pk)
    assert not Judgment.objects.filter(worker=model_annotator.worker, withdrawn=False).exists()
    worker_status.restore_worker_answers(campaign=world.campaign, worker=model_annotator.worker.pk)
    assert not Judgment.objects.filter(worker=model_annotator.worker, withdrawn=True).exists()
    assert [image_state.state_of(image).layer for image in world.images()] == layers


def test_a_model_may_draw_where_a_persons_box_was_refused() -> None:
    world, model_annotator = to_draw(1)
    drawn = world.held(0, q.BOX_DRAWING)
    world.submit(0, drawn, Answer("drawn", Box(1, 1, 4, 4)), then=False)
    judged = world.held(1, q.BOX_QUALITY)
    world.submit(1, judged, Answer("bad"), then=False)
    turns(world)
    assert Judgment.objects.filter(worker=model_annotator.worker, image__isnull=False, key=drawn.key).exists()


def test_a_refused_box_is_not_proposed_again_once_a_person_has_drawn_another() -> None:
    world = World(settings=WITH_MODEL)
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    model_annotator = a_model(world, invalid=True)
    turns(world)
    first = Judgment.objects.filter(worker=model_annotator.worker).count()
    world.work([q.BOX_QUALITY])
    again = Judgment.objects.filter(campaign=world.campaign, kind=q.BOX_DRAWING).exclude(
        worker=model_annotator.worker
    )
    # People draw and accept a box of their own, and say that there is one more.
    drawn = world.held(0, q.BOX_DRAWING)
    world.submit(0, drawn, then=False)
    world.work([q.BOX_QUALITY])
    while isinstance(result := world.take(1, q.BOX_COVERAGE), Lease):
        world.submit(1, result, Answer("more"), then=False)
    assert again.count() == 1
    names = drawn.key.split("|")[1]
    tasks = Task.objects.filter(campaign=world.campaign, kind=q.BOX_DRAWING, state="open", live=0)
    assert any(names == key.split("|")[1] and key != drawn.key for key in tasks.values_list("key", flat=True))
    turns(world)
    assert Judgment.objects.filter(worker=model_annotator.worker).count() == first


@pytest.mark.parametrize(("fruitless", "tries"), by_default(2, [(1, 2), (0, 2), (3, 4)]))
def test_people_draw_before_a_chain_goes_to_review(fruitless: int, tries: int) -> None:
    model_sets = {"share": 1.0, "tries": tries}
    world = World(settings={**WITH_MODEL, "limits": {"fruitless": fruitless}, "model_annotator": model_sets})
    model_annotator = a_model(world)
    proposes_nothing_good(world)
    work(world)
    drawn = Judgment.objects.filter(kind=q.BOX_DRAWING)
    assert drawn.exclude(worker=model_annotator.worker).exists()
    counts = Counter(drawn.filter(worker=model_annotator.worker).values_list("image", "key"))
    assert set(counts.values()) == ({fruitless} if fruitless else set())
    chains = [chain for image in world.images() for chain in image_state.state_of(image).chains]
    assert not any(chain.stage == loop.REVIEW for chain in chains)


def test_the_boxes_of_two_models_count_together() -> None:
    world, first = to_draw(1, model_annotator={"share": 1.0, "tries": 2})
    proposes_nothing_good(world)
    turns(world)
    second = a_model(world, name="another")
    proposes_nothing_good(world)
    while not isinstance(judged := world.take(1, q.BOX_QUALITY), NoTask):
        world.submit(1, judged, Answer("bad"), then=False)
        turns(world)
    drawn = Judgment.objects.filter(worker__kind=Worker.MODEL, kind=q.BOX_DRAWING)
    assert {row.worker_id for row in drawn} == {first.worker_id, second.worker_id}
    assert max(Counter(drawn.values_list("image", "key")).values()) == 2


def test_what_people_refused_of_a_person_is_not_proposed() -> None:
    world, model_annotator = to_draw(1)
    drawn = world.held(0, q.BOX_DRAWING)
    right = world.right(drawn)
    world.submit(0, drawn, right, then=False)
    world.submit(1, world.held(1, q.BOX_QUALITY), Answer("bad"), then=False)
    turns(world)
    boxes = Judgment.objects.filter(worker=model_annotator.worker, key=drawn.key)
    assert right.box is not None
    assert astuple(right.box) not in list(boxes.values_list("xmin", "ymin", "xmax", "ymax"))


def test_a_model_does_not_draw_where_a_person_reports_a_problem() -> None:
    world, model_annotator = to_draw(1, flags_to_review=2)
    drawn = world.held(0, q.BOX_DRAWING)
    world.submit(0, drawn, Answer(flag="chunk_wrong"), then=False)
    turns(world)
    assert Judgment.objects.filter(worker=model_annotator.worker).exists()
    assert not Judgment.objects.filter(worker=model_annotator.worker, key=drawn.key).exists()


def test_a_turn_that_was_overtaken_does_not_propose_a_refused_box_again() -> None:
    """While it answers one question, another turn answers the next, and a person refuses that box."""
    world = World(settings=WITH_MODEL)
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    model_annotator = a_model(world, bad=2)
    overtaken: list[int] = []

    def submit(**provided: Any) -> Any:
        done = submission.submit(**provided)
        if not overtaken:
            overtaken.append(turns(world))
            for worker in range(len(world.workers)):
                while not isinstance(judged := world.take(worker, q.BOX_QUALITY), NoTask):
                    world.submit(worker, judged, Answer("bad"), then=False)
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submission, "_let_model_answer", lambda image: None)
        model_answers.answer_waiting_images(world.campaign, submit)
    assert overtaken[0]
    drawn = Judgment.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING)
    assert max(Counter(drawn.values_list("image", "key", "xmin", "ymin")).values()) == 1


def test_a_refusal_may_be_taken_back_as_long_as_nobody_looked_at_the_next_box() -> None:
    world, model_annotator = to_draw(1)
    proposes_nothing_good(world)
    turns(world)
    first, second = world.held(1, q.BOX_QUALITY), world.held(2, q.BOX_QUALITY)
    world.submit(1, first, Answer("bad"), then=False)
    world.submit(2, second, Answer("bad"), then=False)
    turns(world)
    tried = Judgment.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING)
    assert tried.count() > tried.values("key").distinct().count()
    change_answer(worker=world.workers[1], assignment=first.id, answer=Answer("good"))
    assert not any(violations(world.campaign).values())
    # A worker has been assigned what the model annotator drew after the other refusal.
    looked = [world.take(worker, q.BOX_QUALITY) for worker in range(len(world.workers))]
    assert any(not isinstance(row, NoTask) for row in looked)
    change_answer(worker=world.workers[2], assignment=second.id, answer=Answer("good"))
    assert not any(violations(world.campaign).values())


def test_a_box_that_nobody_refused_may_be_proposed_again() -> None:
    """The model annotator drew it after a refusal, which was taken back."""
    world, model_annotator = to_draw(1)
    proposes_nothing_good(world, boxes=2)
    turns(world)
    first = world.held(1, q.BOX_QUALITY)
    drawn = Judgment.objects.get(name=first.key.split("|")[1])
    world.submit(1, first, Answer("bad"), then=False)
    turns(world)
    judgments = Judgment.objects.filter(worker=model_annotator.worker, kind=q.BOX_DRAWING).order_by("pk")
    assert judgments.filter(key=drawn.key).count() == 2
    waiting = model_annotator_reports(world.campaign)[0].waiting
    change_answer(worker=world.workers[1], assignment=first.id, answer=Answer("good"))
    # Nobody is asked about it any more; nor is the finally accepted one waiting.
    assert model_annotator_reports(world.campaign)[0].waiting == waiting - 1
    more(world)
    turns(world)
    unused, again = judgments.filter(key__startswith=drawn.key[: drawn.key.rindex("|")]).values_list(
        "xmin", "ymin", "xmax", "ymax"
    )[1:]
    assert unused == again == NOTHING[1]


def test_what_a_person_drew_late_and_nobody_refused_may_be_proposed() -> None:
    world, model_annotator = to_draw(1)
    proposes_nothing_good(world, boxes=1)
    late = world.held(0, q.BOX_DRAWING)
    leases.return_lease(worker=world.workers[0], assignment=late.id)
    leased = {worker: world.take(worker, q.BOX_DRAWING) for worker in (1, 2, 3)}
    for worker, lease in leased.items():
        if isinstance(lease, Lease) and lease.key == late.key:
            world.submit(worker, lease, Answer("drawn", Box(20, 20, 60, 60)), then=False)
    world.submit(0, late, Answer("drawn", Box(*NOTHING[0])), then=False)
    for worker in leased:
        while not isinstance(judged := world.take(worker, q.BOX_QUALITY), NoTask):
            world.submit(worker, judged, Answer("good"), then=False)
    more(world)
    turns(world)
    about = late.key[: late.key.rindex("|")]
    assert Judgment.objects.filter(
        worker=model_annotator.worker, key__startswith=f"{about}|20,20,60,60"
    ).exists()


def test_a_double_check_of_a_drawing_is_compared_with_a_person() -> None:
    trust = {**TRUSTING["trust"], "double_check_share": 1.0}
    world = World(settings={"trust": trust, "model_annotator": {"share": 1.0}}, workers=6)
    a_model(world, invalid=True)
    work(world)
    result = agreement(world.campaign, fresh=True)[q.BOX_DRAWING]
    assert result.pairs and result.overlap is not None and result.overlap.value == 1.0
