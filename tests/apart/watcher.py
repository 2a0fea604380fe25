"""A browser whose owner works through the API and stores everything that is transferred."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

from django.conf import settings
from django.middleware.csrf import CSRF_SECRET_LENGTH
from django.test import Client
from django.utils.crypto import get_random_string
from django.utils.http import urlencode

from annotation.common import database
from annotation.models import Account
from annotation.selectors.workers import own_data
from annotation.simulation.workers import SimulatedWorker as Simulated
from annotation.workers.accounts import worker_tokens
from config import single_thread_worker
from config.wsgi import application
from tests.apart.campaigns import WatchedCampaign, answer_fields
from tests.apart.polls import (
    AT_ONCE,
    HELD,
    LATE,
    LATER,
    NOW_AND_THEN,
    OF_ANSWERS,
    POLL_PLANS,
    SELDOM,
    Ask,
    Item,
    PollPlan,
    Polls,
    Response,
    other_answer,
)


class Clock:
    """A clock that excludes the time of other processes, and jumps ahead when a process sleeps.

    Differences between calls are smaller than the noise of a busy machine; this is the precision of a patient
    program with many attempts.
    """

    def __init__(self) -> None:
        self._slept = 0.0

    def __call__(self) -> float:
        return time.process_time() + self._slept

    def sleep(self, seconds: float) -> None:
        self._slept += seconds


clock = Clock()
vars(single_thread_worker)["time"] = SimpleNamespace(monotonic=clock, sleep=clock.sleep)


#: How long an answer may be changed, according to the docs.
CHANGEABLE_FOR = timedelta(minutes=10)
#: Fields of the file that repeat the answer, which the worker knows.
_OF_ANSWER = ("answer", "box")


@dataclass
class Seen:
    """One item: the task as received, the list of tasks before, during and after the lease, the response to
    the answer, headers, and seconds of the two calls; the responses of all addresses that its worker may
    open, then and later; and its line in the file of the worker's own answers, without the answer."""

    item: Item
    plan: PollPlan
    at: float
    task: dict[str, Any]
    before: dict[str, Any]
    held: dict[str, Any]
    after: dict[str, Any]
    receipt: dict[str, Any]
    headers: Mapping[str, str]
    seconds: tuple[float, float]
    polls: Polls = field(default_factory=Polls)
    filed: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of question."""
        return self.item.kind


class Watcher:
    """One worker with a browser, and with a program that uses their token."""

    def __init__(self, site: WatchedCampaign, person: Simulated) -> None:
        self.campaign, self.person = site, person
        account = Account.objects.get(username=person.name)
        self.program, self._browser = Program(account), Program(account, browser=True)
        self.picture = ""
        self.seen: list[Seen] = []
        self._next: dict[str, Response] = {}
        for kind in site.campaign.kinds:
            self.send(f"/tasks/{site.name}/{kind}/instructions/", {})

    def work(self, kind: str, *, ahead: bool = False) -> bool:
        """Take and answer one item; return False if there is none. `ahead`: the next one of its kind comes
        with the response to the answer, as on the task page."""
        plan = POLL_PLANS[len(self.seen) % len(POLL_PLANS)]
        before = self._list() if plan.listed else {}
        at = time.time()
        taken = self._next.pop(kind, None)
        if taken is None:
            taken = self._post("/api/tasks/next", {"campaign": self.campaign.name, "kind": kind})
        task = json.loads(taken.body)
        if "nothing" in task:
            return False
        answer = answer_fields(self.campaign.answer(self.person, task["id"]))
        item, polls = Item(task["id"], kind, answer), Polls()
        held = self._list() if plan.listed else {}
        self.picture = task["image"]["picture"]
        self._poll(polls, plan.held, item, HELD)
        payload = {**answer, "token": f"t{task['id']}", "next": ahead, "seconds": 0.001}
        answered = self._post(f"/api/assignments/{task['id']}/answer", payload)
        receipt = json.loads(answered.body)
        if (following := receipt.pop("next", None)) is not None:
            self._next[kind] = answered._replace(body=json.dumps(following).encode())
        after = self._list() if plan.listed else {}
        self.seen.append(
            Seen(
                item,
                plan,
                at,
                task,
                before.get(kind, {}),
                held.get(kind, {}),
                after.get(kind, {}),
                receipt,
                taken.headers,
                (taken.seconds or 0.0, answered.seconds or 0.0),
                polls,
            )
        )
        self._poll(polls, {**plan.after, **(OF_ANSWERS if plan.later else {})}, item, AT_ONCE)
        if len(self.seen) % SELDOM == 0:
            self._poll(polls, NOW_AND_THEN, item, AT_ONCE)
        if plan.altered:
            self._alter(polls, item)
        self._poll_earlier(kind)
        return True

    def poll_late(self) -> None:
        """Poll every answer once more, when the time for changing it is over."""
        late = database.now() + CHANGEABLE_FOR + timedelta(minutes=1)
        with mock.patch.object(database, "now", lambda: late):
            for row in self.seen:
                if row.plan.later:
                    self._poll(row.polls, OF_ANSWERS, row.item, LATE)

    def _poll(self, polls: Polls, addresses: Mapping[str, Ask], item: Item, moment: str) -> None:
        for address, ask in addresses.items():
            polls.add(address, moment, self._seen_by(ask(self, item), address, moment, item))

    def _seen_by(self, response: Response, address: str, moment: str, item: Item) -> Response:
        """Return the response as transferred: tests plant a channel here."""
        return response

    def _poll_earlier(self, kind: str) -> None:
        """Poll answers of the kind that are a number of answers old, the last of them no longer
        changeable."""
        rows = [row for row in self.seen if row.kind == kind]
        for number in LATER:
            if len(rows) > number and (row := rows[-1 - number]).plan.later:
                self._poll(row.polls, OF_ANSWERS, row.item, f"{number} later")

    def _alter(self, polls: Polls, item: Item) -> None:
        """Change the answer, and change it back."""
        another = other_answer(item)
        for moment, answer in ((AT_ONCE, another), (LATE, item.answer)):
            if another is not None:
                response = self.call("POST", f"/api/assignments/{item.id}/change", answer)
                polls.add("a change", moment, self._seen_by(response, "a change", moment, item))

    def read_file(self) -> None:
        """Download the file of the worker's own answers: a line for each item."""
        account = Account.objects.get(username=self.person.name)
        worker = own_data.worker_behind(account)
        assert worker is not None
        lines = json.loads("".join(own_data.own_data_json(account, worker)))["answers"]
        for row, line in zip(self.seen, lines, strict=True):
            row.filed = {name: value for name, value in line.items() if name not in _OF_ANSWER}
            for pair in row.filed.get("pairs", ()):
                del pair["yes"]

    def open(self, address: str) -> Response:
        """Return a page."""
        return self._browser.call("GET", address)

    def send(self, address: str, form: dict[str, str]) -> Response:
        """Send a page's form."""
        return self._browser.send(address, form)

    def call(self, method: str, path: str, data: Mapping[str, Any] | None = None) -> Response:
        """Make a call with the worker's token."""
        return self.program.call(method, path, data)

    def _list(self) -> dict[str, dict[str, Any]]:
        response = self.call("GET", "/api/tasks")
        return {task["kind"]: task for task in json.loads(response.body)["tasks"]}

    def _post(self, path: str, data: dict[str, Any]) -> Response:
        response = self.call("POST", path, data)
        assert response.status == 200, response
        return response


class Program:
    """Calls the server's WSGI application, with an account's token or its session.

    It times calls to the millisecond: a sleep is late by a part of one, a network by more.
    """

    def __init__(self, account: Account, *, browser: bool = False) -> None:
        self._headers = {"HTTP_HOST": "localhost", "SERVER_NAME": "localhost", "SERVER_PORT": "80"}
        if browser:
            client = Client()
            client.force_login(account)
            secret = get_random_string(CSRF_SECRET_LENGTH)
            session = client.cookies[settings.SESSION_COOKIE_NAME].value
            cookies = {settings.SESSION_COOKIE_NAME: session, settings.CSRF_COOKIE_NAME: secret}
            self._headers["HTTP_COOKIE"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
            self._headers["HTTP_X_CSRFTOKEN"] = secret
        else:
            self._headers["HTTP_AUTHORIZATION"] = f"Token {worker_tokens.make_worker_token(account)}"

    def call(self, method: str, path: str, data: Mapping[str, Any] | None = None) -> Response:
        """Send JSON; return the response, and its seconds."""
        return self._asked(method, path, "application/json", json.dumps(data) if data is not None else "")

    def send(self, path: str, form: Mapping[str, str]) -> Response:
        """Send a form; return the response."""
        return self._asked("POST", path, "application/x-www-form-urlencoded", urlencode(form))

    def _asked(self, method: str, path: str, content_type: str, content: str) -> Response:
        body = content.encode()
        environ = {
            **self._headers,
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_TYPE": content_type,
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
        }
        begun: list[tuple[str, list[tuple[str, str]]]] = []
        started = clock()
        answer = application(environ, lambda status, headers, *rest: begun.append((status, headers)))
        text = b"".join(answer)
        took = round(clock() - started, 3)
        status, headers = begun[-1]
        return Response(int(status.split()[0]), dict(headers), text, took)
