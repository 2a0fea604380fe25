"""Many at the same moment: places of a link, attempts, a participant's two windows. Real threads and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import pytest
from django.db import connection

from annotation import confirming, instructions, invitations, throttle
from annotation.confirming import Arrival
from annotation.invitations import InvitationError
from annotation.models import Account, Identity, Invitation
from annotation.prolific_api import Link
from annotation.throttle import Limit, Try
from tests.crowd import platform
from tests.queue.world import World

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 6


def at_once(act: Callable[[], object]) -> list[object]:
    """What `act` returned, in MANY threads that begin together."""
    barrier = Barrier(MANY)

    def run(_number: int) -> object:
        try:
            barrier.wait(30)
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(run, range(MANY)))


def test_a_link_lets_in_no_more_than_it_has_places():
    world = World()
    instructions.publish(campaign=world.campaign, kind=instructions.CONSENT, text="You agree to be kind.")
    row = invitations.make(campaign=world.campaign, uses=2)

    def come() -> str:
        try:
            invitations.accept(invitation=row, version=1)
            return "in"
        except InvitationError:
            return "out"

    assert Counter(at_once(come)) == {"in": 2, "out": MANY - 2}
    assert Account.objects.count() == 2 and Invitation.objects.get().used == 2


def test_attempts_side_by_side_all_count():
    limited = Try(Limit("three", 3, 600), "ann")
    waits = at_once(lambda: throttle.attempt(limited))
    assert waits.count(0) == 3


def test_a_participant_with_many_windows_is_one_worker():
    study = platform.prolific_study(World())
    link = Link(platform.ANN, platform.STUDY, platform.FIRST, "")

    def come() -> int:
        return confirming.arrive(Arrival(study, platform.ANN, f"{uuid4()}", link=link)).identity_id

    assert len(set(at_once(come))) == 1
    assert Identity.objects.count() == Account.objects.count() == 1
