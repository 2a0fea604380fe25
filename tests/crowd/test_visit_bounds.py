"""A platform's visitor gets nothing outside their study, on pages or by API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Campaign, Judgment, Visit
from annotation.protocol import questions as q
from annotation.queue import leases
from annotation.queue.leases import Lease
from tests.crowd.platform import FIRST, SECOND, come, report_state, visit, work_as
from tests.queue.world import World

pytestmark = pytest.mark.django_db
TASK = ("quay", q.COREF_LINK)


def call(client: Client, address: str, **data: Any) -> tuple[int, dict[str, Any]]:
    answer = client.post(address, json.dumps(data), content_type="application/json")
    return answer.status_code, json.loads(answer.content)


def take(client: Client, kind: str = q.COREF_LINK, holding: tuple[int, ...] = ()) -> dict[str, Any]:
    status, text = call(client, "/api/tasks/next", campaign="quay", kind=kind, holding=holding)
    assert status == 200, text
    return text


def answered(client: Client, assignment: int, token: str = "a", **also: Any) -> tuple[int, dict[str, Any]]:
    return call(client, f"/api/assignments/{assignment}/answer", answer="no", token=token, **also)


def finish(client: Client) -> None:
    assert client.post(reverse("finish_visit")).status_code == 302
    assert visit().outcome == Visit.COMPLETE


def fill(client: Client, work: World) -> None:
    work_as(work, answers=2)


def end(client: Client, work: World) -> None:
    work_as(work, answers=1)
    Campaign.objects.update(state=Campaign.PAUSED)
    finish(client)
    Campaign.objects.update(state=Campaign.OPEN)


def is_returned(client: Client, work: World) -> None:
    work_as(work, answers=1)
    assert report_state("RETURNED").status_code == 200


def is_rejected(client: Client, work: World) -> None:
    work_as(work, answers=1)
    assert report_state("REJECTED").status_code == 200


OVER = pytest.mark.parametrize("over", [fill, end, is_returned, is_rejected])


@OVER
def test_neither_page_nor_program_gets_a_task_once_a_visit_is_full_or_over(work: World, over: Any):
    client = come()
    over(client, work)
    response = take(client)
    assert response["nothing"] == "done" and "Go back to your platform" in response["text"]
    page = client.get(reverse("task", args=TASK))
    assert page.status_code == 303 and page["Location"] == reverse("visit")
    assert not Assignment.objects.filter(state=Assignment.LEASED).exists()


def test_the_last_answer_that_was_asked_for_brings_no_task_along(work: World):
    client = come()
    work_as(work, answers=1)
    status, text = answered(client, take(client)["id"])
    assert status == 200 and text["next"]["nothing"] == "done"
    assert Judgment.objects.count() == 2


def test_what_is_in_hand_counts_and_comes_again(work: World):
    client = come()
    work_as(work, answers=1)
    mine = take(client)
    assert take(client)["id"] == mine["id"]
    assert take(client, holding=(mine["id"],))["nothing"] == "done"


@pytest.mark.parametrize("over", [end, is_returned, is_rejected])
def test_an_answer_that_was_under_way_when_the_visit_ended_is_stored_and_brings_nothing(
    work: World, over: Any
):
    client = come()
    work_as(work, answers=0)
    mine = work.held(-1)
    work.workers.pop()
    if over is end:
        # Another of their pages answered and returned meanwhile.
        Visit.objects.update(outcome=Visit.COMPLETE, ended_at=visit().begun_at)
        leases.return_lease(worker=visit().identity.worker_id, assignment=mine.id)
    else:
        report_state("RETURNED" if over is is_returned else "REJECTED")
    assert Assignment.objects.get(pk=mine.id).state == Assignment.RETURNED
    status, text = answered(client, mine.id)
    assert status == 200 and text["next"]["nothing"] == "done"
    assert Judgment.objects.count() == 1


def test_tasks_taken_and_returned_are_not_answered_beyond_what_was_asked(work: World):
    client = come()
    taken = []
    for _ in range(4):
        taken.append(take(client)["id"])
        assert call(client, f"/api/assignments/{taken[-1]}/return")[1] == {"returned": True}
    values = [answered(client, item, f"t{item}", next=False) for item in taken]
    assert [status for status, _message in values] == [200, 200, 410, 410]
    assert values[-1][1]["code"] == "not_yours" and "Go back to your platform" in values[-1][1]["detail"]
    assert Judgment.objects.count() == 2


def test_who_comes_by_a_second_submission_may_have_what_that_one_asks_for(work: World):
    client = come()
    fill(client, work)
    assert take(client)["nothing"] == "done"
    come(submission=SECOND, client=client)
    # The first one's end does not affect the second.
    report_state("REJECTED", FIRST)
    mine = take(client)["id"]
    assert "id" in answered(client, mine)[1]["next"]


def test_workers_who_came_by_no_visit_have_no_such_bound(work: World):
    for _ in range(3):
        receipt = work.submit(0, work.held(0))
    assert isinstance(receipt.next, Lease)
