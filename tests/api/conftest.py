"""A campaign to work in, and clients with a token or a session."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from annotation import instructions
from annotation.models import Account, Identity, Worker
from annotation.workers.accounts import worker_tokens
from tests import worlds
from tests.queue.world import World
from tests.web import world as web


class Program:
    """A client that sends JSON with an account's token and returns the response unchanged."""

    def __init__(self, account: Account) -> None:
        self.secret = worker_tokens.make_worker_token(account)
        self.client = Client(headers={"Authorization": f"Token {self.secret}"}, enforce_csrf_checks=True)

    def get(self, path: str) -> tuple[int, Any]:
        answer = self.client.get(path)
        return answer.status_code, json.loads(answer.content)

    def post(self, path: str, data: Any = None) -> tuple[int, Any]:
        body = data if isinstance(data, str) else json.dumps({} if data is None else data)
        answer = self.client.post(path, body, content_type="application/json")
        return answer.status_code, json.loads(answer.content)

    def take(self, kind: str = "coref_link", **more: Any) -> Any:
        status, text = self.post("/api/tasks/next", {"campaign": "quay", "kind": kind, **more})
        assert status == 200, text
        return text

    def answer(self, task: Any, **more: Any) -> tuple[int, Any]:
        return self.post(f"/api/assignments/{task['id']}/answer", {"token": "t", **more})


def codes(status_and_body: tuple[int, Any]) -> tuple[int, str]:
    """Return the status and the code of the reported problem."""
    return status_and_body[0], status_and_body[1]["code"]


def annotator(name: str) -> tuple[Account, Worker]:
    """Return an account with the role, and its worker."""
    account = web.account(name, "annotator")
    worker = Worker.objects.create(pseudonym=f"w-{name}")
    Identity.objects.create(worker=worker, account=account)
    return account, worker


@pytest.fixture
def work(db: None, tmp_path_factory: pytest.TempPathFactory) -> World:
    """The campaign `work` over three drawn scenes; one answer is enough for each question."""

    def build() -> World:
        folder = tmp_path_factory.mktemp("drawn")
        web.corpus(folder, name="drawn")
        world = World([web.scene(number, folder) for number in range(3)])
        instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
        return world

    return worlds.again("three drawn scenes beside a campaign over them", build)


@pytest.fixture
def ann(work: World) -> Program:
    account, worker = annotator("ann")
    work.workers[0] = worker.pk
    return Program(account)
