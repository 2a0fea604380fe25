"""Simultaneous requests: places of a link, attempts, a participant's two windows. Real threads and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse

from annotation import instructions
from annotation.common import database
from annotation.models import Account, Identity, Invitation, Judgment
from annotation.simulation_driver.soundness import violations
from annotation.workers import confirmation, invitations, rate_limit
from annotation.workers.confirmation import Arrival
from annotation.workers.prolific_api import Link, SubmissionReport
from annotation.workers.rate_limit import Limit, Try
from phrasebox.errors import PhraseboxError
from tests.crowd import platform
from tests.factories import some_images
from tests.queue.world import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_both]
MANY = 6


def at_once(act: Callable[[], object]) -> list[object]:
    """Return the results of `act` in MANY threads that begin together."""
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
    instructions.publish_text(
        campaign=world.campaign, kind=instructions.CONSENT, text="You agree to be kind."
    )
    row = invitations.make_invitation(campaign=world.campaign, uses=2)

    def come() -> str:
        try:
            invitations.accept_invitation(invitation=row, version=1)
            return "in"
        except PhraseboxError:
            return "out"

    assert Counter(at_once(come)) == {"in": 2, "out": MANY - 2}
    assert Account.objects.count() == 2 and Invitation.objects.get().used == 2


def test_attempts_side_by_side_all_count():
    limited = Try(Limit("three", 3, 600), "ann")
    waits = at_once(lambda: rate_limit.attempt(limited))
    assert waits.count(0) == 3


def test_a_participant_with_many_windows_is_one_worker():
    study = platform.prolific_study(World())
    link = Link(platform.ANN, platform.STUDY, platform.FIRST, "")

    def come() -> int:
        return confirmation.arrive(Arrival(study, platform.ANN, f"{uuid4()}", link=link)).identity_id

    assert len(set(at_once(come))) == 1
    assert Identity.objects.count() == Account.objects.count() == 1


def test_who_works_while_they_are_confirmed_loses_no_answer_and_gets_no_error():
    """The provisional worker answers by the API, one after the other, while the platform confirms them."""
    world = World(some_images(12), workers=1)
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    study = platform.prolific_study(world, expected=1000)
    link = Link(platform.ANN, platform.STUDY, platform.SECOND, "")
    known = confirmation.arrive(Arrival(study, platform.ANN, platform.SECOND, link=link)).identity.worker
    client = Client()
    with override_settings(PROLIFIC_WEBHOOK_SECRET=platform.SECRET):
        client.get(platform.address(platform.ANN, platform.FIRST))
    assert platform.visit().verification == "waiting"
    begun, stored, response = Event(), list[int](), list[int]()

    def call(route: str, *args: Any, **data: Any) -> Any:
        answer = client.post(reverse(route, args=args), data, content_type="application/json")
        if answer.status_code != 503:
            return answer
        assert answer.json()["code"] == "moved"
        return client.post(reverse(route, args=args), data, content_type="application/json")

    def work() -> None:
        try:
            for number in range(20):
                task = call("api_next", campaign="quay", kind="coref_link").json()
                if "id" not in task:
                    break
                answer = call("api_answer", task["id"], answer="no", token=f"t{number}", next=False)
                (stored if answer.status_code == 200 else response).append(task["id"])
                begun.set()
        finally:
            begun.set()
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        assert begun.wait(60)
        submission_report = SubmissionReport(platform.ANN, (), "ACTIVE")
        assert confirmation.note_submission(
            provider="prolific", report=submission_report, submission=platform.FIRST, at=database.now()
        )
        working.result(60)
    assert len(stored) > 5 and not response
    assert set(Judgment.objects.values_list("worker", "assignment")) == {(known.pk, item) for item in stored}
    assert not any(violations(world.campaign).values())
