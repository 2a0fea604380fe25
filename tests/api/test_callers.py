"""Who may call the API of tasks: annotators, with a token or a session."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from annotation.models import Account
from tests.api.conftest import Program, annotator, codes
from tests.queue.world import World
from tests.web import world as web


def test_a_session_needs_its_csrf_token_to_write_and_not_to_read(work: World):
    client = Client(enforce_csrf_checks=True)
    client.force_login(annotator("ann")[0])
    assert client.get("/api/tasks").status_code == 200
    form_data = {"campaign": "quay", "kind": "coref_link"}
    response = client.post("/api/tasks/next", form_data, content_type="application/json")
    assert (response.status_code, json.loads(response.content)["code"]) == (403, "csrf")
    client.get("/sign-in/")
    web_page = Client(enforce_csrf_checks=True)
    web_page.get("/sign-in/")
    client.cookies["csrf"] = web_page.cookies["csrf"].value
    taken = client.post(
        "/api/tasks/next",
        form_data,
        content_type="application/json",
        headers={"X-CSRFToken": client.cookies["csrf"].value},
    )
    assert taken.status_code == 200


def test_a_session_of_an_older_password_is_over(work: World):
    account, _ = annotator("ann")
    client = Client()
    client.force_login(account)
    assert client.get("/api/tasks").status_code == 200
    account.set_password("another one altogether")
    account.save()
    assert client.get("/api/tasks").status_code == 401


@pytest.mark.parametrize(
    "header", ["", "Token ", "Token nothing", "Token \x7f", "Basic YTpi", "Token " + "a" * 5000]
)
def test_who_shows_nothing_is_told_how_to(work: World, header: str):
    answer = Client(headers={"Authorization": header}).get("/api/tasks")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Token")


def test_a_token_of_a_closed_account_opens_nothing(ann: Program):
    Account.objects.update(is_active=False)
    assert ann.get("/api/tasks")[0] == 401


def test_an_account_without_the_role_is_told_to_ask_for_it(work: World):
    assert codes(Program(web.account("ada", "researcher")).get("/api/tasks")) == (403, "no_role")
    assert Program(web.account("root", "admin")).get("/api/tasks")[0] == 200


def test_who_comes_for_the_first_time_becomes_a_worker_once(work: World):
    program = Program(web.account("new", "annotator"))
    assert "id" in program.take()
    program.take()
    assert Account.objects.get(username="new").identity.worker.assignments.count() == 1
