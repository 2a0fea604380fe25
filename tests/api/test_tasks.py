"""The API of a worker's tasks: take, answer, return; and every kind of invalid request."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation import instructions
from annotation.models import Assignment, Campaign, Flag, Judgment
from annotation.protocol import questions as q
from annotation.queue import submission
from annotation.task_types.base import TASK_TYPES
from tests.api.conftest import Program, annotator, codes
from tests.queue.world import World
from tests.web import world as web


def test_a_task_carries_all_that_it_shows_and_nothing_that_gives_it_away(ann: Program):
    task = ann.take()
    assert task["image"]["width"], task["image"]["height"] == web.SIZE
    assert task["captions"][0]["tokens"][:2] == ["A", "couple"]
    first, second = task["mentions"]
    words = task["captions"][second["caption"]]["tokens"][second["start"] : second["end"]]
    assert " ".join(words) in {"A woman", "a man", "dogs"}
    assert (task["boxes"], task["pending"], task["test"]) == ([], None, False)
    assert set(task) == {
        "id",
        "kind",
        "expires_at",
        "test",
        "image",
        "captions",
        "mentions",
        "boxes",
        "pending",
    }


def test_times_are_told_to_the_second(ann: Program):
    """Parts of one would tell control items: they are found and graded by other work (docs/trust.md)."""
    task = ann.take()
    _, text = ann.answer(task, answer="no")
    _, answered = ann.post("/api/tasks/answers", {"campaign": "quay", "kind": task["kind"]})
    _, stored = ann.post(f"/api/assignments/{text['next']['id']}/heartbeat")
    lines = [
        task["expires_at"],
        text["next"]["expires_at"],
        answered["answers"][0]["at"],
        stored["expires_at"],
    ]
    assert all(re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", time) for time in lines), lines


def test_the_picture_is_there_for_the_token_it_was_told_to_and_for_no_other(ann: Program):
    address = ann.take()["image"]["picture"]
    picture: Any = ann.client.get(address)
    assert b"".join(picture.streaming_content)[:4] == b"\x89PNG"
    program = Program(annotator("bob")[0])
    assert program.client.get(address).status_code == 403
    assert Client().get(address).status_code == 403


def test_asking_again_gives_the_same_task_unless_it_is_held(ann: Program):
    task = ann.take()
    assert ann.take()["id"] == task["id"]
    assert ann.take(holding=[task["id"]])["id"] != task["id"]


def test_an_answer_brings_the_next_task(ann: Program):
    task = ann.take()
    status, text = ann.answer(task, answer="no", seconds=4.5)
    assert (status, text["repeated"]) == (200, False)
    assert text["next"]["id"] != task["id"]
    judgment = Judgment.objects.get()
    assert (judgment.answer, judgment.assignment_id) == ("no", task["id"])


def test_the_same_token_again_is_said_again_and_stored_once(ann: Program):
    task = ann.take()
    first = ann.answer(task, answer="no")[1]
    status, again = ann.answer(task, answer="no")
    assert (status, again["repeated"]) == (200, True)
    assert (first["today"], again["today"]["answers"]) == (None, 1)
    assert again["next"]["id"] == first["next"]["id"]
    assert Judgment.objects.count() == 1


def test_an_answer_without_next_brings_none(ann: Program):
    assert ann.answer(ann.take(), answer="no", next=False)[1]["next"] is None
    assert Assignment.objects.filter(state=Assignment.LEASED).count() == 0


def test_a_second_answer_under_another_token_is_a_conflict(ann: Program):
    task = ann.take()
    ann.answer(task, answer="no")
    assert codes(ann.answer(task, answer="yes", token="other")) == (409, "answered")
    assert Judgment.objects.get().answer == "no"


def test_a_flag_is_stored_with_its_comment(ann: Program):
    status, text = ann.answer(ann.take(), flag="chunk_wrong", comment=" cut off ")
    assert status == 200
    assert (Flag.objects.get().comment, Judgment.objects.get().flag) == ("cut off", "chunk_wrong")


def test_a_drawn_box_is_stored_to_the_pixel(work: World, ann: Program):
    work.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    task = ann.take(q.BOX_DRAWING)
    assert ann.answer(task, answer="drawn", box=[3, 4, 480, 360])[0] == 200
    judgment = Judgment.objects.get(assignment=task["id"])
    assert (judgment.xmin, judgment.ymin, judgment.xmax, judgment.ymax) == (3, 4, 480, 360)


@pytest.mark.parametrize(
    ("box", "problem"),
    [
        (None, (422, "bad_answer")),
        ([9, 1, 3, 4], (422, "bad_answer")),
        *(
            (box, (400, "bad_request"))
            for box in (
                [1, 2, 3],
                [1, 2, 3, "4"],
                [1, 2, 3, 4.0],
                [True, 1, 1, 1],
                [0, 0, 3, 4],
                [1, 1, 2, 10**6 + 1],
                "1,2,3,4",
            )
        ),
    ],
)
def test_what_is_no_box_is_refused_and_nothing_stored(
    work: World, ann: Program, box: Any, problem: tuple[int, str]
):
    work.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    stored = Judgment.objects.count()
    task = ann.take(q.BOX_DRAWING)
    assert codes(ann.answer(task, answer="drawn", box=box)) == problem
    assert Judgment.objects.count() == stored


@pytest.mark.parametrize("box", [[1, 1, 481, 360], [1, 1, 480, 361]])
def test_a_box_that_leaves_the_picture_is_refused(work: World, ann: Program, box: list[int]):
    work.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    task = ann.take(q.BOX_DRAWING)
    assert codes(ann.answer(task, answer="drawn", box=box)) == (422, "bad_answer")


@pytest.mark.parametrize(
    "data",
    [
        {"answer": "maybe"},
        {"answer": "good"},
        {"answer": ""},
        {},
        {"answer": "yes", "box": [1, 1, 9, 9]},
        {"flag": "offensive", "answer": "yes"},
    ],
)
def test_what_the_question_does_not_take_is_refused(ann: Program, data: dict[str, Any]):
    task = ann.take()
    assert codes(ann.answer(task, **data)) == (422, "bad_answer")
    assert not Judgment.objects.exists()
    assert ann.take()["id"] == task["id"]


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"token": ""}, "token"),
        ({"token": None}, "token"),
        ({"token": "a\0"}, "token"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": "4"}, "seconds"),
        ({"seconds": True}, "seconds"),
        ({"token": "x" * 65}, "token"),
        ({"answer": 3}, "answer"),
        ({"answer": "yes\0"}, "answer"),
        ({"flag": "boring"}, "flag"),
        ({"flag": "offensive", "comment": "x" * 2001}, "comment"),
        ({"answer": "yes", "sure": True}, "sure"),
        ({"holding": 3}, "holding"),
        ({"holding": None}, "holding"),
        ({"holding": ["3"]}, "holding.0"),
        ({"holding": [1] * 101}, "holding"),
        ({"next": 1}, "next"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(ann: Program, data: dict[str, Any], field: str):
    status, text = ann.answer(ann.take(), **{"answer": "no", **data})
    assert (status, text["code"], text["field"]) == (400, "bad_request", field)
    assert not Judgment.objects.exists()


def test_a_pages_form_is_read_as_its_page_would_read_it(work: World, ann: Program):
    for kind in (q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT):
        work.work([kind])
    task = ann.take(q.BOX_DRAWING)
    edges = {"xmin": "3", "ymin": "4", "xmax": "50", "ymax": "60"}
    form = {"answer": "drawn", "way": "drag", **edges}
    status, text = ann.answer(task, kind=q.BOX_DRAWING, form={**form, "xmax": "5"})
    assert (status, text["code"], text["field"]) == (422, "bad_answer", "box")
    assert ann.answer(task, kind=q.BOX_DRAWING, form=form)[0] == 200
    judgment = Judgment.objects.get(assignment=task["id"])
    assert [judgment.xmin, judgment.ymin, judgment.xmax, judgment.ymax] == [3, 4, 50, 60]
    assert (judgment.way, judgment.schema) == ("drag", TASK_TYPES.get(q.BOX_DRAWING).schema_version)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"form": {"answer": "no"}}, (400, "bad_request")),
        ({"form": {"answer": "no"}, "kind": "quiz"}, (404, "unknown")),
        ({"form": ["no"], "kind": q.COREF_LINK}, (400, "bad_request")),
        ({"form": {"answer": 1}, "kind": q.COREF_LINK}, (400, "bad_request")),
        ({"form": {"answer": "good"}, "kind": q.COREF_LINK}, (422, "bad_answer")),
        ({"form": {"answer": "good"}, "kind": q.BOX_QUALITY}, (422, "bad_answer")),
    ],
)
def test_what_is_no_form_is_refused(ann: Program, data: dict[str, Any], problem: tuple[int, str]):
    assert codes(ann.answer(ann.take(), **data)) == problem
    assert not Judgment.objects.exists()


@pytest.mark.parametrize("body", ["{", "[]", "3", '{"seconds": NaN}', "[" * 100_000])
def test_what_is_no_json_object_is_refused(ann: Program, body: str):
    assert codes(ann.post("/api/tasks/next", body)) == (400, "bad_request")


def test_a_problem_has_its_type_and_says_its_status(ann: Program):
    answer = ann.client.post("/api/tasks/next", "{", content_type="application/json")
    assert answer["Content-Type"] == "application/problem+json"
    document = json.loads(answer.content)
    assert (document["type"], document["title"], document["status"]) == ("about:blank", "Bad Request", 400)
    assert document["detail"]


def test_nobody_answers_returns_or_keeps_what_another_has(ann: Program):
    task = ann.take()
    bob = Program(annotator("bob")[0])
    assert codes(bob.answer(task, answer="no")) == (410, "not_yours")
    assert bob.post(f"/api/assignments/{task['id']}/return") == (200, {"returned": False})
    assert codes(bob.post(f"/api/assignments/{task['id']}/heartbeat")) == (410, "not_yours")
    assert Assignment.objects.get().state == Assignment.LEASED


@pytest.mark.parametrize("number", [0, 2**31, 2**63, 10**30])
@pytest.mark.parametrize("act", ["answer", "heartbeat"])
def test_a_number_that_is_no_task_is_nobodys(ann: Program, number: int, act: str):
    body = {"answer": "no", "token": "t"} if act == "answer" else {}
    response = ann.post(f"/api/assignments/{number}/{act}", body)
    assert codes(response) == (410, "not_yours")


def test_a_return_gives_the_place_back_and_another_task(ann: Program):
    task = ann.take()
    assert ann.post(f"/api/assignments/{task['id']}/return") == (200, {"returned": True})
    assert ann.take()["id"] != task["id"]
    assert ann.post(f"/api/assignments/{task['id']}/return") == (200, {"returned": False})


def test_a_heartbeat_tells_the_new_end(ann: Program):
    task = ann.take()
    status, text = ann.post(f"/api/assignments/{task['id']}/heartbeat")
    assert status == 200 and text["expires_at"] >= task["expires_at"]


def test_nothing_says_why_and_when_to_ask_again(work: World, ann: Program):
    text = ann.take(q.BOX_QUALITY)
    assert (text["nothing"], text["again_at"]) == ("none_open", None)
    assert text["text"]
    Campaign.objects.update(state=Campaign.PAUSED, reason="lunch")
    text = ann.take()
    assert text["nothing"] == "paused" and "lunch" in text["text"]


def test_an_answer_is_taken_while_the_campaign_is_paused(ann: Program):
    task = ann.take()
    Campaign.objects.update(state=Campaign.PAUSED)
    status, text = ann.answer(task, answer="no")
    assert (status, text["next"]["nothing"]) == (200, "paused")


@pytest.mark.parametrize(
    ("campaign", "kind"), [("other", "coref_link"), ("quay", "relevance"), ("quay", "x")]
)
def test_what_there_is_not_is_not_found(ann: Program, campaign: str, kind: str):
    assert codes(ann.post("/api/tasks/next", {"campaign": campaign, "kind": kind})) == (404, "unknown")


def test_a_draft_is_not_there_yet(ann: Program):
    Campaign.objects.update(state=Campaign.DRAFT)
    response = ann.post("/api/tasks/next", {"campaign": "quay", "kind": "coref_link"})
    assert codes(response) == (404, "unknown")


def test_consent_comes_first(work: World, ann: Program):
    instructions.publish_text(campaign=work.campaign, kind=instructions.CONSENT, text="We keep your answers.")
    assert ann.take()["nothing"] == "no_consent"
    response = ann.get("/api/campaigns/quay/consent")[1]
    assert (response["needed"], response["text"]) == (True, "We keep your answers.")
    assert response["contact"] == "people@phrasebox.example"
    stale = ann.post("/api/campaigns/quay/consent", {"version": response["version"] - 1})
    assert codes(stale) == (409, "stale_text")
    assert ann.post("/api/campaigns/quay/consent", {"version": response["version"]})[1]["needed"] is False
    assert "id" in ann.take()


def test_a_consent_text_that_changes_in_mid_task_loses_no_answer_and_hands_out_nothing_more(
    work: World, ann: Program
):
    first = ann.take()
    second = ann.take(holding=[first["id"]])
    instructions.publish_text(campaign=work.campaign, kind=instructions.CONSENT, text="We keep your answers.")
    assert ann.post(f"/api/assignments/{first['id']}/heartbeat")[0] == 200
    status, message = ann.answer(first, answer="no", token="a")
    assert (status, message["next"]["nothing"]) == (200, "no_consent")
    assert ann.answer(first, answer="no", token="a")[1]["next"]["nothing"] == "no_consent"
    begun = ann.post("/api/tasks/test", {"campaign": "quay", "kind": "coref_link"})
    assert begun[1]["nothing"] == "no_consent"
    text = instructions.current_text(campaign=work.campaign, kind=instructions.CONSENT)
    ann.post("/api/campaigns/quay/consent", {"version": text.version})
    assert ann.answer(first, answer="no", token="a")[1]["next"]["id"] == second["id"]
    assert ann.answer(second, answer="no", token="b")[1]["next"]["id"] not in (first["id"], second["id"])


def test_the_list_tells_what_there_is_and_why_not(work: World, ann: Program):
    ann.answer(ann.take(), answer="no", seconds=3.0, next=False)
    status, text = ann.get("/api/tasks")
    by_kind = {task["kind"]: task for task in text["tasks"]}
    assert status == 200 and list(by_kind) == list(q.QUESTIONS)
    link = by_kind["coref_link"]
    assert (link["nothing"], link["today"]["answers"], link["trust"]) == (None, 1, "unchecked")
    assert by_kind["box_quality"]["nothing"] == "none_open"


@pytest.mark.parametrize("path", ["/api/tasks", "/api/tasks/next"])
def test_the_wrong_method_is_told_the_right_one(ann: Program, path: str):
    response = ann.client.put(path)
    assert response.status_code == 405 and response["Allow"] in ("GET", "POST")


def test_the_api_adds_one_query_to_the_queues_and_two_where_it_counts_today(work: World, ann: Program):
    task = ann.take()
    ann.answer(task, answer="no")
    with CaptureQueriesContext(connection) as service:
        submission.submit(
            worker=work.workers[0], assignment=task["id"], answer=q.Answer("no"), token="t", then=True
        )
    with CaptureQueriesContext(connection) as api:
        assert ann.answer(task, answer="no")[1]["repeated"]
    assert len(api) == len(service) + 1 + 2
