"""A campaign whose images can be brought to every state that a reviewer handles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.models import Assignment, OpenImage
from annotation.protocol import questions as q
from annotation.protocol.terms import ImageRecord
from annotation.queue import leases
from annotation.queue.leases import Lease
from annotation.queue.submission import Answer
from tests.factories import an_image, boxed
from tests.queue.world import TRUSTING, World

MAN, THE_MAN, HAT = "0:0-2", "1:0-2", "0:3-5"
#: A man in two captions, with the same head noun, and his hat.
CAPTIONS = ("[/EN#1/people A man] in [/EN#2/clothing a hat] walks .", "[/EN#1/people The man] walks .")
MAN_BOX, HAT_BOX = (10, 10, 100, 200), (30, 10, 60, 30)


def a_man(key: str = "man", **also: Any) -> ImageRecord:
    return an_image(key, *CAPTIONS, objects=(boxed("1", *MAN_BOX), boxed("2", *HAT_BOX)), **also)


def the_world(
    records: Sequence[ImageRecord] | None = None, *, name: str = "review", **settings: Any
) -> World:
    """Return a world of workers who answer correctly; a chain whose box is not found is in review after one
    round."""
    plain_value = {**TRUSTING, "limits": {"fruitless": 0}, "lease": {"in_hand": 50}, **settings}
    return World(records if records is not None else [a_man()], settings=plain_value, name=name)


def held(world: World, worker: int, kind: str, *, index: int = 0, mention: str = "") -> Lease:
    """Return the worker's task of a kind about the image at `index` and `mention` of it; return others to the
    queue."""
    seen: list[Lease] = []
    image_id = world.images()[index].image_id
    while True:
        lease = world.held(worker, kind, [row.id for row in seen])
        seen.append(lease)
        if lease.image == image_id and (not mention or mention in lease.content["mentions"]):
            for another in seen[:-1]:
                leases.return_lease(worker=world.workers[worker], assignment=another.id)
                # Otherwise this worker would not get it again.
                Assignment.objects.filter(pk=another.id).delete()
            return lease


def answer(world: World, kind: str, reply: str, *, worker: int = 0, **about: Any) -> Lease:
    """Let a worker answer `reply` to a question of a kind."""
    lease = held(world, worker, kind, **about)
    world.submit(worker, lease, Answer(reply), then=False)
    return lease


def report(
    world: World, kind: str, flag: str = "chunk_wrong", *, worker: int = 0, comment: str = "", **about: Any
) -> Lease:
    """Let a worker report a question of a kind."""
    lease = held(world, worker, kind, **about)
    world.submit(worker, lease, Answer(flag=flag, comment=comment), then=False)
    return lease


def refuse(world: World, index: int = 0) -> None:
    """Link the two mentions of the man, then reject the chain: it cannot be split."""
    answer(world, q.COREF_LINK, "yes", index=index)
    answer(world, q.CHAIN_VERIFICATION, "false", index=index)


def lose_the_hat(world: World, index: int = 0, worker: int = 0) -> None:
    """Report the hat's box as not found: its chain is in review, with nothing drawn."""
    answer(world, q.BOX_DRAWING, "none", worker=worker, index=index, mention=HAT)


def image(world: World, index: int = 0) -> OpenImage:
    return world.images()[index]


def chain(row: OpenImage, *mentions: str) -> dict[str, Any]:
    """Return the stored chain of exactly these mentions."""
    row.refresh_from_db()
    return next(c for c in row.state["chains"] if set(c["m"]) == set(mentions))
