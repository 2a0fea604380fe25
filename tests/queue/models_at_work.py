"""Worlds in which a machine draws, and its turns."""

from __future__ import annotations

from typing import Any

from annotation.campaigns import machines
from annotation.models import (
    Machine,
)
from annotation.protocol import questions as q
from annotation.protocol.gold import Truth
from annotation.protocol.machines import Proposals, ProposedBox
from annotation.protocol.terms import Box
from annotation.queue import machine_turns, submission
from annotation.queue.leases import NoTask
from tests.factories import some_images
from tests.queue.world import TRUSTING, World

WITH_MACHINE = {**TRUSTING, "machine": {"share": 1.0}}


#: Boxes that show nothing, none like another.
_WRONG = (Box(1, 1, 4, 4), Box(6, 1, 9, 4))


def proposals_of(truth: Truth, *, chance: float = 0.9, invalid: bool = False, bad: int = 0) -> Proposals:
    """For each mention its chain's gold boxes, after so many `bad` ones; or a corner of the picture."""
    return {
        name: [
            ProposedBox(box, chance) for box in (_WRONG[:1] if invalid else _WRONG[:bad] + truth.boxes[chain])
        ]
        for name, chain in truth.chain_of.items()
    }


def a_machine(
    world: World, *, invalid: bool = False, chance: float = 0.9, bad: int = 0, name: str = "drawer"
) -> Machine:
    model_annotator = machines.machine_add(campaign=world.campaign, name=name)
    machines.machine_trained(model_annotator, images=0, source="the truth")
    result = [
        (truth.image, proposals_of(truth, invalid=invalid, chance=chance, bad=bad))
        for truth in world.truths.values()
    ]
    assert machines.store_proposals(model_annotator, result) == len(result)
    return model_annotator


def turns(world: World) -> int:
    return machine_turns.take_turns(world.campaign, submission.submit)


def work(world: World) -> int:
    """People and the machine answer in turn until nobody gets anything; how many answers people gave."""
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


def to_draw(images: int, **settings: Any) -> tuple[World, Machine]:
    """A world whose people have done all that comes before drawing, and who may judge boxes."""
    world = World(some_images(images), settings={**WITH_MACHINE, **settings})
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT])
    assert isinstance(world.take(0, q.BOX_QUALITY), NoTask)
    return world, a_machine(world)
