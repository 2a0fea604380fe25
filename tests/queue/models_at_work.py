"""Worlds in which a model annotator draws, and its turns."""

from __future__ import annotations

from typing import Any

from annotation.campaigns import model_annotators
from annotation.models import (
    ModelAnnotator,
)
from annotation.protocol import questions as q
from annotation.protocol.gold import Truth
from annotation.protocol.model_annotators import Proposals, ProposedBox
from annotation.protocol.terms import Box
from annotation.queue import model_answers, submission
from annotation.queue.leases import NoTask
from tests.factories import some_images
from tests.queue.world import TRUSTING, World

WITH_MODEL = {**TRUSTING, "model_annotator": {"share": 1.0}}


#: Boxes that show nothing, all different.
_BAD_BOXES = (Box(1, 1, 4, 4), Box(6, 1, 9, 4))


def proposals_of(truth: Truth, *, chance: float = 0.9, invalid: bool = False, bad: int = 0) -> Proposals:
    """Return for each mention its chain's gold boxes, after `bad` wrong ones; if `invalid`, one wrong box."""
    return {
        name: [
            ProposedBox(box, chance)
            for box in (_BAD_BOXES[:1] if invalid else _BAD_BOXES[:bad] + truth.boxes[chain])
        ]
        for name, chain in truth.chain_of.items()
    }


def a_model(
    world: World, *, invalid: bool = False, chance: float = 0.9, bad: int = 0, name: str = "drawer"
) -> ModelAnnotator:
    model_annotator = model_annotators.model_annotator_add(campaign=world.campaign, name=name)
    model_annotators.record_training(model_annotator, images=0, source="the truth")
    result = [
        (truth.image, proposals_of(truth, invalid=invalid, chance=chance, bad=bad))
        for truth in world.truths.values()
    ]
    assert model_annotators.store_proposals(model_annotator, result) == len(result)
    return model_annotator


def turns(world: World) -> int:
    return model_answers.answer_waiting_images(world.campaign, submission.submit)


def work(world: World) -> int:
    """Let people and the model annotator answer in turn until nobody gets a task; return the number of
    people's answers."""
    provided = 0
    while True:
        before = provided
        turns(world)
        for worker in range(len(world.workers)):
            for kind in q.QUESTIONS:
                result = world.take(worker, kind)
                if not isinstance(result, NoTask):
                    world.submit(worker, result, then=False)
                    provided += 1
                    turns(world)
        if provided == before:
            return provided


def to_draw(images: int, **settings: Any) -> tuple[World, ModelAnnotator]:
    """Return a world in which all questions before drawing are answered, and people may judge boxes."""
    world = World(some_images(images), settings={**WITH_MODEL, **settings})
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    assert isinstance(world.take(0, q.BOX_QUALITY), NoTask)
    return world, a_model(world)
