"""Campaigns over generated scenes with gold, with or without control items: the start of the tests of
trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from annotation.models import Campaign, Layer, Worker
from annotation.protocol import questions as q
from annotation.protocol.contents import question_from
from annotation.queue.leases import Lease, NoTask
from annotation.queue.submission import Answer
from annotation.simulation.workers import PRESETS
from annotation.simulation.workers import SimulatedWorker as Simulated
from tests.queue.world import World
from tests.worlds import painted

#: Everybody is admitted; control items follow the rules.
NO_QUALIFICATION: dict[str, Any] = {"trust": {"qualification": False}}


def scenes(
    images: int = 6, *, settings: Mapping[str, Any] = NO_QUALIFICATION, workers: int = 4, name: str = "scenes"
) -> World:
    """Return an open campaign over `images` generated scenes."""
    return World(painted(images), settings=settings, name=name, workers=workers)


def gold(campaign: Campaign) -> Layer:
    return campaign.corpus.layers.get(name="import")


def crowd_works(
    world: World,
    presets: Sequence[str],
    *,
    seed: int = 1,
    items: int = 10**9,
    only: int | None = None,
    after_answer: Callable[[int], object] = lambda count: None,
) -> int:
    """Let simulated workers of these presets answer in turn until nobody gets a task, or up to `items`
    answers.

    Returns the number of answers; `after_answer` is called after each. With `only`, one of them works while
    others may work elsewhere. A worker answers like the simulator's worker with this pseudonym.
    """
    people = [
        (index, Simulated(pseudonym, PRESETS[preset], seed))
        for index, (pseudonym, preset) in enumerate(zip(_pseudonyms(world), presets, strict=True))
        if only in (None, index)
    ]
    count = 0
    idle = False
    while not idle and count < items:
        idle = True
        for index, person in people:
            for kind in q.QUESTIONS:
                lease = world.take(index, kind)
                if isinstance(lease, Lease):
                    question = question_from(lease.kind, lease.key, lease.content)
                    answer, box = person.answer(question, world.truths[lease.image])
                    world.submit(index, lease, Answer(answer, box), then=False)
                    count, idle = count + 1, False
                    after_answer(count)
    return count


def reason_of_refusal(world: World, worker: int, kind: str) -> str:
    """Return the code of the reason why a worker gets no task of a kind; empty if there is a task."""
    result = world.take(worker, kind)
    return result.code if isinstance(result, NoTask) else ""


def _pseudonyms(world: World) -> list[str]:
    names = dict(Worker.objects.values_list("pk", "pseudonym"))
    return [names[pk] for pk in world.workers]
