"""Prolific's reports on submissions, and how researchers set up its studies."""

from __future__ import annotations

import json
import time
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Study
from annotation.protocol import questions as q
from annotation.recruitment.prolific import signature
from annotation.workers import platform_visits
from annotation.workers.platform_visits import VisitError
from tests.crowd import platform
from tests.crowd.platform import BOB, FIRST, SECOND, come, report_state, visit, work_as
from tests.queue.world import World
from tests.web import world as people
from tests.web.staff import press, words

pytestmark = pytest.mark.django_db


# Prolific's reports


@pytest.mark.parametrize("status", platform_visits.ENDED)
def test_a_submission_that_has_ended_gives_back_what_was_in_hand(work: World, status: str):
    come()
    work_as(work, answers=1)
    held = work.held(-1)
    assert report_state(status).json() == {"changed": True}
    assert Assignment.objects.get(pk=held.id).state == Assignment.RETURNED
    assert visit().reported == status


def test_other_news_takes_nothing_away(work: World):
    come()
    work_as(work, answers=1)
    held = work.held(-1)
    report_state("AWAITING REVIEW")
    assert Assignment.objects.get(pk=held.id).state == Assignment.LEASED
    assert visit().reported == "AWAITING REVIEW"


def test_a_submission_that_has_ended_is_not_worked_on(work: World):
    client = come()
    report_state("RETURNED")
    task = reverse("task", args=["quay", q.COREF_LINK])
    assert client.get(task)["Location"] == reverse("visit")
    assert "This submission has ended" in words(client.get(reverse("visit")))
    assert Client().get(platform.signed()).status_code == 403


def test_told_twice_is_told_once(work: World):
    come()
    report_state("RETURNED")
    come(submission=SECOND)
    work_as(work, SECOND, answers=1)
    held = work.held(-1)
    assert report_state("RETURNED").json() == {"changed": False}
    assert Assignment.objects.get(pk=held.id).state == Assignment.LEASED


def test_what_is_held_for_another_submission_stays(work: World):
    come()
    come(submission=SECOND)
    work_as(work, SECOND, answers=1)
    held = work.held(-1)
    assert report_state("TIMED-OUT").json() == {"changed": True}
    assert Assignment.objects.get(pk=held.id).state == Assignment.LEASED


def test_old_news_that_comes_late_changes_nothing(work: World):
    come()
    now = time.time()
    report_state("APPROVED", happened=now - 10)
    assert report_state("AWAITING REVIEW", happened=now - 60).json() == {"changed": False}
    assert visit().reported == "APPROVED"


@pytest.mark.parametrize("about", [{"submission": SECOND}, {"who": BOB}, {"event": "study.status.change"}])
def test_news_of_what_we_do_not_know_is_taken_and_changes_nothing(work: World, about: dict[str, str]):
    come()
    answer = report_state("RETURNED", **about)  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()) == (200, {"changed": False})
    assert visit().reported == ""


@pytest.mark.parametrize(
    "forged",
    [
        {"secret": "guessed"},
        {"sent_at": time.time() - 86_400},
        {"sent_at": time.time() + 86_400},
        {"sent_at": 0},
    ],
)
def test_what_prolific_did_not_sign_just_now_is_refused(work: World, forged: dict[str, Any]):
    come()
    assert report_state("RETURNED", **forged).status_code == 401
    assert visit().reported == ""


def test_a_body_changed_on_the_way_is_refused(work: World):
    come()
    answer = Client().post(
        reverse("prolific_webhook"),
        b'{"event_type": "submission.status.change"}',
        content_type="application/json",
        headers={
            "X-Prolific-Request-Signature": "bm90IHRoZWlycw==",
            "X-Prolific-Request-Timestamp": str(int(time.time())),
        },
    )
    assert answer.status_code == 401


def test_without_a_secret_nothing_is_taken(work: World, settings: Any):
    come()
    settings.PROLIFIC_WEBHOOK_SECRET = ""
    assert report_state("RETURNED", secret="").status_code == 401


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff", b'{"event_type": "submission.status.change"}'])
def test_a_signed_body_that_is_no_event_is_said_to_be_none(work: World, body: bytes):
    assert report_state("", body=body).status_code == 400


def test_the_signature_is_as_prolific_computes_it():
    """By hand: openssl dgst -sha256 -hmac secret -binary | base64, of 1700000000{"a":1}."""
    assert signature("secret", "1700000000", b'{"a":1}') == "86FWgFUUlefScwLE0Z5MvtxlDxn6W0A3PADL6lKmRAY="


# Researchers


def test_a_researcher_sets_up_a_study_and_copies_its_address(work: World):
    ada = people.signed_in("ada", "researcher")
    page = press(
        ada, reverse("entry", args=["quay"]), "Save the study", study=BOB, answers="30", completion_code="XY"
    )
    assert Study.objects.get(external_id=BOB).answers_required == 30
    assert "/prolific/quay/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}" in words(page)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"provider": "prolific", "answers_required": 5}, "needs its id"),
        ({"provider": "mturk", "answers_required": 5, "external_id": "x"}, "has no id"),
        ({"provider": "prolific", "answers_required": 0, "external_id": "x"}, "cannot ask for"),
        ({"provider": "nothing", "answers_required": 5}, "no platform"),
    ],
)
def test_what_cannot_be_a_study_is_refused(work: World, about: dict[str, Any], message: str):
    with pytest.raises(VisitError, match=message):
        platform_visits.save_study(campaign=work.campaign, **about)


def test_a_study_belongs_to_one_campaign(work: World):
    world = World(name="other")
    with pytest.raises(VisitError, match="already belongs to another campaign"):
        platform.prolific_study(world)


def command(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def test_the_command_sets_up_studies_and_lists_their_visits(work: World):
    come()
    work_as(work, answers=2)
    platform_visits.finish_visit(visit())
    (row,) = command("list_visits", "quay")["results"]
    assert (row["submission"], row["answered"], row["outcome"]) == (FIRST, 2, "complete")
    command("save_study", "quay", "mturk", "--answers", "3", "--completion-code", "thanks")
    result = command("list_studies", "quay")["results"]
    assert [item["platform"] for item in result] == ["prolific", "mturk"]
    with pytest.raises(CommandError, match="needs its id"):
        command("save_study", "quay", "prolific")


def test_the_command_prints_tables(work: World):
    out = StringIO()
    call_command("list_studies", "quay", stdout=out)
    assert "C0MPLETE" in out.getvalue()
    call_command("list_visits", "quay", stdout=out)
    assert out.getvalue().endswith("none\n")
