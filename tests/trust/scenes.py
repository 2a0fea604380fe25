"""Campaigns over generated scenes with gold, with control items or without: what tests of trust start
from."""

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

#: Everybody is let in; control items come as the rules have it.
NO_QUALIFICATION: dict[str, Any] = {"trust": {"qualification": False}}


def scenes(
    images: int = 6, *, settings: Mapping[str, Any] = NO_QUALIFICATION, workers: int = 4, name: str = "scenes"
) -> World:
    """An open campaign over `images` generated scenes."""
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
    """Let simulated workers of these presets answer by turns until nobody gets anything, or so many `items`.

    Returns how many answers that took; `after_answer` is called after each. With `only`, one of them works
    while others may elsewhere. A worker answers as the simulator's of their pseudonym.
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
    """The code of what keeps a worker from a kind; empty where they get something."""
    result = world.take(worker, kind)
    return result.code if isinstance(result, NoTask) else ""


def _pseudonyms(world: World) -> list[str]:
    names = dict(Worker.objects.values_list("pk", "pseudonym"))
    return [names[pk] for pk in world.workers]
