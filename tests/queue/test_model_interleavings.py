"""For any order of actions of people and a model annotator, the queue equals the pure fold of the answers;
without the model annotator's answers it equals the result of people alone."""

from __future__ import annotations

from random import Random

import pytest
from django.db import connection

from annotation.campaigns import model_annotators
from annotation.models import Judgment, OpenImage, Task, Worker
from annotation.moderation import worker_status
from annotation.protocol import questions as q
from annotation.protocol.image import Fold
from annotation.protocol.model_annotators import ProposedBox
from annotation.protocol.questions import Answer
from annotation.protocol.terms import Box
from annotation.queue import image_state, leases, model_answers, submission
from annotation.queue.leases import Lease
from annotation.simulation_driver.soundness import violations
from tests.factories import some_images
from tests.queue.world import TRUSTING, World

pytestmark = pytest.mark.django_db

SETTINGS = {**TRUSTING, "model_annotator": {"share": 1.0}}
STEPS = 60


def fold_of(image: OpenImage) -> Fold:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {image_state.OPEN_IMAGE_COLUMNS} FROM annotation_openimage o WHERE o.id = %s", [image.pk]
        )
        result = image_state.fold_of(image_state.row_from(cursor.fetchone()))
    assert isinstance(result, Fold)
    return result


def votes_of(image: OpenImage) -> list[image_state.Vote]:
    with connection.cursor() as cursor:
        return image_state.votes_of(cursor, image.pk)


def holds_the_fold(world: World, *, without: int = 0, counted: bool = True) -> None:
    """Check that each image's row and open tasks equal the fold of its answers, without those of one worker.

    If not `counted`: answers were restored that others had given again meanwhile, so that a settled task has
    more than it requires.
    """
    for image in world.images():
        votes = [vote for vote in votes_of(image) if vote.worker_id != without]
        if without:
            assert len(votes) == len(votes_of(image))
        state = fold_of(image)(vote.judgment for vote in votes)
        assert image.state["chains"] == [image_state.chain_of(chain) for chain in state.chains]
        assert image.complete == state.complete
        keys = {question.key for question in state.questions}
        tasks = Task.objects.filter(image=image, state=Task.OPEN)
        assert set(tasks.values_list("key", flat=True)) == keys
    if counted:
        assert not any(violations(world.campaign).values())


def model_of(world: World, rng: Random) -> Worker:
    """Add a model annotator that is right about some phrases, wrong about others, and silent about the
    rest."""
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")
    model_annotators.record_training(model_annotator, images=0, source="dice")
    result = []
    for truth in world.truths.values():
        boxes = {}
        for name, chain in truth.chain_of.items():
            kind = rng.choice(("right", "wrong", "unsure", "none"))
            good = [ProposedBox(box, 0.1 if kind == "unsure" else 0.9) for box in truth.boxes[chain]]
            bad = [ProposedBox(Box(1, 1, 3, 3), 0.9), ProposedBox(Box(5, 5, 9, 9), 0.8)]
            boxes[name] = {"right": good, "unsure": good, "wrong": bad, "none": []}[kind]
        result.append((truth.image, boxes))
    model_annotators.store_proposals(model_annotator, result)
    return model_annotator.worker


def model_links(world: World, worker: Worker) -> None:
    """Let the model annotator answer that some link is the same, right or wrong."""
    task = Task.objects.filter(campaign=world.campaign, kind=q.COREF_LINK, state=Task.OPEN, live=0).first()
    if task is None:
        return
    lease = leases.take_model_lease(
        worker=worker.pk, campaign=world.campaign, kind=q.COREF_LINK, task=task.pk
    )
    if isinstance(lease, Lease):
        submission.submit(
            worker=worker.pk, assignment=lease.id, answer=Answer("yes"), token=f"m{lease.id}", then=False
        )


def a_person(world: World, rng: Random) -> None:
    """Let a person take a question and answer it, sometimes wrongly, or return it."""
    worker, kind = rng.randrange(len(world.workers)), rng.choice(q.QUESTIONS)
    result = world.take(worker, kind)
    if not isinstance(result, Lease):
        return
    step = rng.random()
    if step < 0.05:
        leases.return_lease(worker=world.workers[worker], assignment=result.id)
    elif step < 0.15 and kind != q.BOX_DRAWING:
        world.submit(worker, result, world.wrong_answer(result), then=False)
    elif step < 0.15:
        world.submit(worker, result, Answer("drawn", Box(2, 2, 8, 8)), then=False)
    else:
        world.submit(worker, result, then=False)


def interleave(seed: int, steps: int) -> None:
    rng = Random(seed)
    world = World(some_images(2), settings=SETTINGS, workers=5)
    model_annotator = model_of(world, rng)
    withdrawn = restored = False
    for _ in range(steps):
        match rng.choices(("person", "draws", "links", "withdraw"), (8, 2, 1, 0.2))[0]:
            case "person":
                a_person(world, rng)
            case "draws":
                model_answers.answer_waiting_images(world.campaign, submission.submit)
            case "links":
                model_links(world, model_annotator)
            case "withdraw" if withdrawn:
                worker_status.restore_worker_answers(campaign=world.campaign, worker=model_annotator.pk)
                withdrawn, restored = False, True
            case "withdraw":
                worker_status.withdraw_worker_answers(campaign=world.campaign, worker=model_annotator.pk)
                withdrawn = True
        if rng.random() < 0.1:
            holds_the_fold(world, counted=not restored)
    holds_the_fold(world, counted=not restored)
    assert set(Judgment.objects.filter(worker=model_annotator).values_list("answer", flat=True)) <= {
        "yes",
        "drawn",
    }
    worker_status.withdraw_worker_answers(campaign=world.campaign, worker=model_annotator.pk)
    holds_the_fold(world, without=model_annotator.pk, counted=not restored)
    for image in world.images():
        state = image_state.state_of(image)
        assert not any(drawn.by_model for chain in state.chains for drawn in chain.boxes)


@pytest.mark.parametrize("seed", range(2))
def test_people_and_a_model_in_any_order(seed: int) -> None:
    interleave(seed, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_people_and_a_model_in_many_orders(seed: int) -> None:
    interleave(seed, 3 * STEPS)
