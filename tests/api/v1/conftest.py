"""A world in which every operation can succeed, and clients with tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils.http import urlencode

from annotation.api.rest.endpoints import Endpoint, endpoints
from annotation.common.roles import ADMIN
from annotation.models import Account
from annotation.workers import api_tokens
from tests.api.v1.valid import ValidCall
from tests.hostile import world

#: Loading the addresses registers the operations.
assert get_resolver().url_patterns


class Caller:
    """A client with a token."""

    def __init__(self, account: Account, *, writes: bool = True, **limit: Any) -> None:
        token = api_tokens.make_api_token(account=account, name="test", days=1, writes=writes, **limit)
        self.token, self.secret = token
        self.client = Client(headers={"Authorization": f"Bearer {self.secret}"}, enforce_csrf_checks=True)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/v1/{path}", query)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        data = json.dumps({} if body is None else body)
        return self.client.generic(method, f"/api/v1/{path}", data, "application/json", headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.send("POST", path, body, **headers)

    def perform(self, endpoint: Endpoint, call: ValidCall, **headers: str) -> Any:
        """Make a valid call of an operation."""
        address = reverse(f"v1_{endpoint.route}", kwargs=call.path_values)
        if call.query and not endpoint.reads:
            address = f"{address}?{urlencode(call.query)}"
        if endpoint.reads:
            return self.client.get(address, call.query, headers=headers)
        if call.files:
            files = {name: SimpleUploadedFile(called, held) for name, (called, held) in call.files.items()}
            return self.client.post(address, {**(call.body or {}), **files}, headers=headers)
        body = "" if call.body is None else json.dumps(call.body)
        return self.client.generic(endpoint.rest.method, address, body, "application/json", headers=headers)


@pytest.fixture
def data(db: None, tmp_path: Path, settings: Any) -> Path:
    """DATA_DIR of a separate world for each test."""
    settings.DATA_DIR = tmp_path / "data"
    settings.API_READS_A_MINUTE = settings.API_WRITES_A_MINUTE = 10**6
    return tmp_path


@pytest.fixture
def everything(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The world of `tests.hostile.world`; figures are not drawn."""
    from evaluation.services.reports import building

    monkeypatch.setattr(building, "as_svg", lambda plot: '<svg class="figure" role="img"></svg>')
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"%PDF-")
    world.again(data / "made")


@pytest.fixture
def admin(everything: None) -> Caller:
    return Caller(Account.objects.get(username="admin"))


def names_for_admins() -> set[str]:
    """Return the operations that only admins of the whole server may call."""
    return {
        endpoint.name
        for endpoint in endpoints()
        if endpoint.operation.permission.server and endpoint.operation.permission.roles == (ADMIN,)
    }


@pytest.fixture
def researcher(everything: None) -> Caller:
    return Caller(Account.objects.get(username="researcher"))


def operation(name: str) -> Endpoint:
    return next(endpoint for endpoint in endpoints() if endpoint.name == name)
