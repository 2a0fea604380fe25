"""A browser whose owner works through the API and keeps everything that comes over the wire."""

from __future__ import annotations

import io
import json
import sys
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from rest_framework.authtoken.models import Token

from annotation.models import Account
from annotation.selectors.workers import own_data
from annotation.simulation.workers import SimulatedWorker as Simulated
from config import single_thread_worker
from config.wsgi import application
from tests.apart.campaigns import WatchedCampaign, answer_fields


class Clock:
    """A clock that stands still while others have the processor, and goes on at once where one sleeps.

    What a call takes differs by less than what a busy machine makes of it; this is what a patient
    program with many tries would make out.
    """

    def __init__(self) -> None:
        self._slept = 0.0

    def __call__(self) -> float:
        return time.process_time() + self._slept

    def sleep(self, seconds: float) -> None:
        self._slept += seconds


clock = Clock()
vars(single_thread_worker)["time"] = SimpleNamespace(monotonic=clock, sleep=clock.sleep)


#: What a line of the file repeats of the answer, which the worker knows.
_OF_ANSWER = ("answer", "box")


@dataclass
class Seen:
    """One item: the task as it came, what the list of tasks said before, while it was in hand and after
    the answer, what the answer brought, headers, and seconds that the two calls took; at last, what the file
    of one's own answers says of it, without what was answered."""

    kind: str
    at: float
    task: dict[str, Any]
    before: dict[str, Any]
    held: dict[str, Any]
    after: dict[str, Any]
    receipt: dict[str, Any]
    headers: dict[str, Any]
    seconds: tuple[float, float]
    test: bool
    filed: dict[str, Any] = field(default_factory=dict)


class Watcher:
    """One worker at a browser."""

    def __init__(self, site: WatchedCampaign, person: Simulated) -> None:
        self.campaign, self.person = site, person
        self.program = Program(Account.objects.get(username=person.name))
        self.seen: list[Seen] = []
        self._listed = self._list()

    def work(self, kind: str) -> bool:
        """Take and answer one item; False where there is none."""
        before = self._listed
        at = time.time()
        task, took, headers = self._post("/api/tasks/next", {"campaign": self.campaign.name, "kind": kind})
        if task.get("nothing") in ("no_test", "test_failed"):
            self._post("/api/tasks/test", {"campaign": self.campaign.name, "kind": kind})
            task, took, headers = self._post(
                "/api/tasks/next", {"campaign": self.campaign.name, "kind": kind}
            )
        if "nothing" in task:
            return False
        # What is known of a test is that it is one.
        held = before if task["test"] else self._list()
        answer = answer_fields(self.campaign.answer(self.person, task["id"]))
        payload = {**answer, "token": f"t{task['id']}", "next": False, "seconds": 0.001}
        receipt, reported, _ = self._post(f"/api/assignments/{task['id']}/answer", payload)
        if not task["test"]:
            self._listed = self._list()
        self.seen.append(
            Seen(
                kind,
                at,
                task,
                before.get(kind, {}),
                held.get(kind, {}),
                self._listed.get(kind, {}),
                receipt,
                headers,
                (took, reported),
                bool(task["test"]),
            )
        )
        return True

    def read_file(self) -> None:
        """Download the file of one's own answers: a line for each item."""
        account = Account.objects.get(username=self.person.name)
        worker = own_data.worker_behind(account)
        assert worker is not None
        lines = json.loads("".join(own_data.own_data_json(account, worker)))["answers"]
        for row, line in zip(self.seen, lines, strict=True):
            row.filed = {name: value for name, value in line.items() if name not in _OF_ANSWER}
            for pair in row.filed.get("pairs", ()):
                del pair["yes"]

    def _list(self) -> dict[str, dict[str, Any]]:
        message, _, _ = self.program.call("GET", "/api/tasks")
        return {task["kind"]: task for task in message["tasks"]}

    def _post(self, path: str, data: dict[str, Any]) -> tuple[dict[str, Any], float, dict[str, Any]]:
        return self.program.call("POST", path, data)


class Program:
    """What calls the server's WSGI application with an account's token.

    It times calls to the millisecond: a sleep is late by a part of one, a line of the network by more.
    """

    def __init__(self, account: Account) -> None:
        token, _ = Token.objects.get_or_create(user=account)
        self._headers = {"HTTP_AUTHORIZATION": f"Token {token.key}", "HTTP_HOST": "localhost"}

    def call(
        self, method: str, path: str, data: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], float, dict[str, Any]]:
        """What was said, seconds that it took, and the headers."""
        body = json.dumps(data).encode() if data is not None else b""
        environ = {
            **self._headers,
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_TYPE": "application/json",
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
        assert status.startswith("200"), (status, text)
        return json.loads(text), took, dict(headers)
