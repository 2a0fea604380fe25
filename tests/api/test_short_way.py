"""Calls of workers skip the middleware that pages need; the responses are the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings
from django.contrib.messages.middleware import MessageMiddleware
from django.db import InterfaceError, OperationalError, connection, transaction
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import path

from tests.api.conftest import annotator
from tests.queue.world import World

LONG = [layer for layer in settings.MIDDLEWARE if layer != "config.middleware.WorkerCalls"]
CSRF = "c" * 32
TAKE: dict[str, Any] = {"path": "/api/tasks/next", "data": {"campaign": "quay", "kind": "coref_link"}}
GOOD: dict[str, Any] = {**TAKE, "cookies": {"csrf": CSRF}, "headers": {"X-CSRFToken": CSRF}}

#: The addresses of a project without a check of the caller.
urlpatterns = [path("api/tasks/open", lambda request: HttpResponse("seen"))]


def answered(session: str, way: list[str], request: dict[str, Any]) -> Any:
    """Return status, headers and body of a response, and the cookies that it sets."""
    with override_settings(MIDDLEWARE=way):
        client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        cookies: dict[str, str] = dict(request.get("cookies", {}))
        if session:
            cookies["session"] = session
        client.cookies.load(cookies)
        send = getattr(client, request.get("method", "post"))
        more = {name: request[name] for name in ("headers", "secure") if name in request}
        result = send(request["path"], request.get("data", {}), content_type="application/json", **more)
    headers = {name: value for name, value in result.items() if name != "X-Request-ID"}
    # A new CSRF cookie, and the token in a page, are random.
    stored = {name: {**of, "expires": bool(of["expires"])} for name, of in result.cookies.items()}
    text = result.content if "json" in headers["Content-Type"] else b""
    return result.status_code, headers, text, stored


@pytest.fixture
def session(work: World) -> str:
    """The key of an annotator's session."""
    client = Client()
    client.force_login(annotator("ann")[0])
    return str(client.session.session_key)


@pytest.mark.parametrize(
    "request_sent",
    [
        GOOD,
        {**GOOD, "secure": True},
        {**GOOD, "path": "/api/tasks", "method": "get"},
        {**GOOD, "path": "/api/tasks"},
        {**GOOD, "path": "/api/tasks/"},
        {**GOOD, "path": "/api/tasks/nowhere"},
        {**GOOD, "path": "/api/assignments/77/answer", "data": {"answer": "yes", "token": "t"}},
        {**GOOD, "path": "/api/assignments/77/answer", "data": {}},
        {**GOOD, "headers": {**GOOD["headers"], "Host": "elsewhere.example"}},
        {**GOOD, "headers": {"X-CSRFToken": "d" * 32}},
        {**GOOD, "cookies": {"csrf": "no token"}},
        {**GOOD, "headers": {"Authorization": "Token wrong"}},
        {**GOOD, "cookies": {"csrf": CSRF, "session": "nobody"}},
    ],
)
@pytest.mark.parametrize("by_tls", [False, True])
def test_an_answer_is_the_same_as_by_the_long_way(session: str, request_sent: Any, by_tls: bool):
    with override_settings(SECURE_SSL_REDIRECT=by_tls, SECURE_HSTS_SECONDS=60 * by_tls):
        assert answered(session, settings.MIDDLEWARE, request_sent) == answered(session, LONG, request_sent)
        assert answered("", settings.MIDDLEWARE, request_sent) == answered("", LONG, request_sent)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError("broken"), 500, "fault"),
        (OperationalError("server closed the connection unexpectedly"), 503, "database_away"),
        (InterfaceError("connection already closed"), 503, "database_away"),
    ],
)
def test_a_fault_is_told_with_the_same_headers(
    session: str, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str
):
    def fails(**_: Any) -> None:
        raise error

    monkeypatch.setattr("annotation.queue.leases.take_lease", fails)
    short, long = (answered(session, way, GOOD) for way in (settings.MIDDLEWARE, LONG))
    assert short == long
    assert (short[0], short[1]["Content-Type"]) == (status, "application/problem+json")
    document = json.loads(short[2])
    assert (document["status"], document["code"]) == (status, code) and "broken" not in document["detail"]


def test_a_statement_that_is_wrong_is_no_outage(session: str, monkeypatch: pytest.MonkeyPatch):
    def fails(**_: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM nowhere")

    monkeypatch.setattr("annotation.queue.leases.take_lease", fails)
    assert answered(session, settings.MIDDLEWARE, GOOD)[0] == 500


def test_the_layers_of_pages_are_passed_by(session: str, monkeypatch: pytest.MonkeyPatch):
    passed: list[str] = []
    monkeypatch.setattr(
        MessageMiddleware, "process_request", lambda self, request: passed.append(request.path_info)
    )
    assert answered(session, settings.MIDDLEWARE, GOOD)[0] == 200
    assert passed == []
    assert answered(session, LONG, GOOD)[0] == 200
    assert passed == [GOOD["path"]]


@override_settings(ROOT_URLCONF=__name__, LOGIN_URL="/in")
def test_a_view_that_does_not_ask_who_calls_is_not_left_alone(db: None):
    response = Client().get("/api/tasks/open")
    assert (response.status_code, response["Location"]) == (302, "/in?next=/api/tasks/open")
